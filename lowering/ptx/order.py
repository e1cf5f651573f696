"""Instructions of a block that needs more registers than a thread has move to before their first users, in groups.

before:   e1 = ex2 x1;  e2 = ex2 x2;  h1 = cvt e1;  h2 = cvt e2;  st h1;  st h2
after:    e1 = ex2 x1;  h1 = cvt e1;  st h1;  e2 = ex2 x2;  h2 = cvt e2;  st h2

A tile operation is lowered for all elements before the next one, so that results for a whole tile are live beside its
operands. ptxas 13.0 keeps much of this order and spills. One element after the other would wait for each result, so
that groups of instructions, as many as registers allow, keep their order among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from tilec.dialect.cache import cached
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.tile_gpu.registers import MAXIMUM_REGISTERS
from tilec.lowering.ptx.flow import Flow, Liveness
from tilec.lowering.ptx.program import Block, Instruction, Program

# Weak loads, which move over arithmetic alone, and accesses that keep their order.
_LOAD = re.compile(r"(?:ld\.(?:shared(?:::cta)?|global|const|local)(?:\.nc)?\.(?:v[248]\.)?[bfsu]\d|ldmatrix\.)")
_STORE = re.compile(r"(?:@!?\{\d+\} )?(?:st\.(?:shared|global|local)|stmatrix\.|tcgen05\.(?:st|ld)\.)")
_BUDGET = re.compile(r"setmaxnreg\.\w+\.sync\.aligned\.u32 (\d+)")
# Moves to a pair of registers, and to its parts or to halves of a register.
_PAIR = re.compile(r"mov\.b(?:64 \{\d+\}, \{\{\{\d+\}, |(?:32|64) \{\{\{\d+\}, \{\d+\}\}\})")
_REGISTER_BITS = 32
# The part of the registers of a thread by which ptxas 13.0 exceeds none: where 195 of 192 are needed, it spills nothing
# (causal attention of 256x128 keys on sm_100a), where 275 of 255 are, 120 bytes (a product of 128x128 with a SiLU).
_SLACK = 16
# The instructions of a group, the most first.
_GROUPS = (128, 64, 32)
# An order that exceeds the registers too pays if it exceeds them by at most this part, and needs this share less.
_EXCESS = _GAIN = 4
# The registers of a value, as numbers.
Held = tuple[int, ...]
# The registers of the widest value.
_MOST_PARTS = 4


def order_instructions(program: Program, flow: Flow, live: Liveness) -> bool:
    """Orders the blocks that need too many registers; returns whether any changed, and liveness with it."""
    budgets = _budgets(program, flow)
    changed = False
    for number in flow.order:
        block, registers = program.blocks[number], program.registers
        for start, budget in budgets:
            if flow.dominates(start, number):
                registers = min(budget, MAXIMUM_REGISTERS)
        # Few instructions have several results.
        if len(block.instructions) + len(live.live_out[number]) <= registers:
            continue
        live_out = _used_after(block, live.live_out[number])
        held = _held(block, live_out, program.classes)
        needed = _peak(block.instructions, live_out, held)
        if needed <= registers + registers // _SLACK:
            continue
        orders = _Orders(block, live_out, held)
        ordered = orders.within(registers, needed)
        if ordered is not None:
            block.instructions, changed = ordered, True
    return changed


class _Orders:
    """The orders of the instructions of a block: depth first but for groups of instructions."""

    def __init__(self, block: Block, live_out: AbstractSet[int], held: Mapping[int, Held]) -> None:
        self.runs = [(run, _by_demand(run)) for run in _runs(block)]
        self.live_out, self.held = live_out, held

    def within(self, registers: int, needed: int) -> list[Instruction] | None:
        """The order with the largest groups that has the registers, and some to spare if one has; None without one."""
        depth_first, least = self._ordered(1)
        if least <= registers:
            spare = registers - registers // _SLACK
            most = spare if least <= spare else registers
        elif least <= registers + registers // _EXCESS and least <= needed - needed // _GAIN:
            most = least
        else:
            return None
        found = (instructions for instructions, peak in map(self._ordered, _GROUPS) if peak <= most)
        return next(found, depth_first)

    def _ordered(self, size: int) -> tuple[list[Instruction], int]:
        """The instructions with groups of a size, and the registers that they need."""
        instructions = [run[number] for run, order in self.runs for number in _in_groups(order, size)]
        return instructions, _peak(instructions, self.live_out, self.held)


def _budgets(program: Program, flow: Flow) -> list[tuple[int, int]]:
    """The blocks that change the registers of a thread, and the registers of the code that they dominate."""
    return [
        (number, int(found[1]))
        for number in flow.order
        for instruction in program.blocks[number].instructions
        if instruction.template.startswith("setmaxnreg") and (found := _BUDGET.match(instruction.template))
    ]


def _used_after(block: Block, live_out: AbstractSet[int]) -> set[int]:
    """The values that are live at the end of a block, or passed or tested there."""
    return set(live_out).union(*block.end.arguments, [] if block.end.condition is None else [block.end.condition])


def _held(block: Block, live_out: AbstractSet[int], classes: Sequence[str]) -> dict[int, Held]:
    """The registers of the values of a block. Moves between a pair of registers and its parts need no others."""
    held = {value: _new_registers(value, classes[value]) for value in live_out}
    for instruction in block.instructions:
        parts, whole = instruction.results, instruction.operands
        for value in whole:
            if value not in held:
                held[value] = _new_registers(value, classes[value])
        if not _is_pair(instruction):
            for value in parts:
                held[value] = _new_registers(value, classes[value])
        elif len(parts) == 1:
            held[parts[0]] = held[whole[0]] + held[whole[1]]
        else:
            pair = held[whole[0]]
            held[parts[0]], held[parts[1]] = pair[:1], pair[-1:]
    return held


def _is_pair(instruction: Instruction) -> bool:
    return len(instruction.results) + len(instruction.operands) == 3 and _moves_pair(instruction.template)


@cached
def _moves_pair(template: str) -> bool:
    return _PAIR.match(template) is not None


def _new_registers(value: int, name: str) -> Held:
    """Registers of 32 bits, and none for a predicate."""
    first = _MOST_PARTS * value
    return tuple(range(first, first + _count(name)))


@cached
def _count(name: str) -> int:
    """The registers of a value of a class."""
    bits = REGISTER_CLASSES[name].width
    return -(-bits // _REGISTER_BITS) if bits > 1 else 0


def _peak(instructions: Sequence[Instruction], live_out: AbstractSet[int], held: Mapping[int, Held]) -> int:
    """The most registers that are live at once."""
    live = {register for value in live_out for register in held[value]}
    most = len(live)
    for instruction in reversed(instructions):
        if not _is_pair(instruction):
            for value in instruction.results:
                live.difference_update(held[value])
        for value in instruction.operands:
            live.update(held[value])
        if len(live) > most:
            most = len(live)
    return most


def _runs(block: Block) -> Iterator[list[Instruction]]:
    """The instructions of a block in runs that end with side effects other than stores.

    Waits, barriers and multiplies stand where arithmetic runs beside them.
    """
    run: list[Instruction] = []
    for instruction in block.instructions:
        run.append(instruction)
        if not (instruction.is_pure or _LOAD.match(instruction.template) or _STORE.match(instruction.template)):
            yield run
            run = []
    yield run


def _in_groups(order: Sequence[int], size: int) -> Iterator[int]:
    """The numbers of the instructions of a run in an order, sorted in each group of it."""
    for start in range(0, len(order), size):
        yield from sorted(order[start : start + size])


def _by_demand(run: Sequence[Instruction]) -> list[int]:
    """The stores and the values for later runs in their order, each after what it alone needs, by number."""
    producers: dict[int, int] = {}
    heights: list[int] = []
    needs: list[list[int]] = []
    roots = dict.fromkeys(range(len(run)))
    loads: list[int] = []
    for number, instruction in enumerate(run):
        found = list(dict.fromkeys(producers[value] for value in instruction.operands if value in producers))
        # The longest chain first, so that the elements of a sum are computed one after the other.
        found.sort(key=heights.__getitem__, reverse=True)
        heights.append(1 + max((heights[other] for other in found), default=0))
        if not instruction.is_pure:
            if _LOAD.match(instruction.template):
                loads.append(number)
            else:
                found, loads = [*found, *(other for other in loads if other not in found)], []
        needs.append(found)
        producers.update(dict.fromkeys(instruction.results, number))
        for other in found:
            if run[other].is_pure or _LOAD.match(run[other].template):
                roots.pop(other, None)
    ordered: list[int] = []
    done = [False] * len(run)
    for root in roots:
        stack = [root]
        while stack:
            number = stack[-1]
            waiting = next((other for other in needs[number] if not done[other]), None)
            if waiting is not None:
                stack.append(waiting)
                continue
            stack.pop()
            if not done[number]:
                done[number] = True
                ordered.append(number)
    return ordered
