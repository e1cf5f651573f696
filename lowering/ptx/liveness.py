"""The definition, last use in each block, and liveness at block ends of each value."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilec.lowering.ptx.flow import Flow
from tilec.lowering.ptx.program import Program

# Block arguments are all defined before the first instruction.
AT_START = -1


@dataclass
class Liveness:
    """Positions count the instructions of a block from zero; the branch and its arguments have the next position."""

    block: list[int]
    position: list[int]
    last_use: list[dict[int, int]]
    live_out: list[set[int]]
    tied_to: dict[int, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)


def liveness(program: Program, flow: Flow) -> Liveness:
    """Liveness of a program in SSA form; values passed by a branch are used at the end of its block."""
    count, blocks = len(program.classes), program.blocks
    found = Liveness([-1] * count, [AT_START] * count, [{} for _ in blocks], [set() for _ in blocks])
    for number in flow.order:
        _read_block(program, number, found)
    _propagate(flow, found)
    return found


def _read_block(program: Program, number: int, found: Liveness) -> None:
    block, last = program.blocks[number], found.last_use[number]
    for argument in block.arguments:
        found.block[argument] = number
    for position, instruction in enumerate(block.instructions):
        for operand in instruction.operands:
            last[operand] = position
        for result in instruction.results:
            found.block[result], found.position[result] = number, position
        for result, operand in zip(instruction.results, instruction.tied, strict=False):
            if operand >= 0:
                found.tied_to[result] = instruction.operands[operand]
    end = len(block.instructions)
    for passed in block.end.arguments:
        last.update(dict.fromkeys(passed, end))
    if block.end.condition is not None:
        last[block.end.condition] = end
    found.used.update(last)


def _propagate(flow: Flow, found: Liveness) -> None:
    """Walks from each use back to the definition; the time is linear in the size of the result."""
    for number in flow.order:
        for value in found.last_use[number]:
            if found.block[value] == number:
                continue
            stack = [number]
            while stack:
                for predecessor in flow.predecessors[stack.pop()]:
                    if value in found.live_out[predecessor]:
                        continue
                    found.live_out[predecessor].add(value)
                    if found.block[value] != predecessor:
                        stack.append(predecessor)
