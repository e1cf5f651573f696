"""Constants that code of several roles passes to its blocks are moved to registers in the code of each role.

ptxas 13.0 and 13.5 otherwise keep what the loops of all roles carry in the register of the constant that they start
from, or in local memory.
"""

from __future__ import annotations

from collections import defaultdict

from tilec.lowering.ptx.program import Instruction, Program

_MOVE = "mov."


def repeat_constants(program: Program) -> None:
    """Gives branches moves of their own of constants that other code, which they never reach, passes too."""
    constants = {
        instruction.results[0]: instruction
        for block in program.blocks
        for instruction in block.instructions
        if instruction.template.startswith(_MOVE) and not instruction.operands and len(instruction.results) == 1
    }
    passing = defaultdict[int, list[int]](list)
    for number, block in enumerate(program.blocks):
        for value in {value for values in block.end.arguments for value in values if value in constants}:
            passing[value].append(number)
    reached: dict[int, set[int]] = {}
    repeated = {value for value, numbers in passing.items() if _are_apart(program, numbers, reached)}
    for value in sorted(repeated):
        for number in passing[value]:
            _repeat(program, number, constants[value])
    _drop_unused(program, repeated)


def _are_apart(program: Program, numbers: list[int], reached: dict[int, set[int]]) -> bool:
    """Whether the first block reaches one of the others in no way, nor that block the first."""
    first, *others = numbers
    return any(
        other not in _reached(program, first, reached) and first not in _reached(program, other, reached)
        for other in others
    )


def _reached(program: Program, start: int, reached: dict[int, set[int]]) -> set[int]:
    """The blocks that follow a block."""
    if start not in reached:
        found, waiting = set[int](), [start]
        while waiting:
            new = set(program.blocks[waiting.pop()].end.targets) - found
            found |= new
            waiting += new
        reached[start] = found
    return reached[start]


def _repeat(program: Program, number: int, constant: Instruction) -> None:
    block, (value,) = program.blocks[number], constant.results
    made = len(program.classes)
    program.classes.append(program.classes[value])
    block.instructions.append(Instruction(constant.template, [made], [], (), block.end.location))
    block.end.arguments = [[made if each == value else each for each in values] for values in block.end.arguments]


def _drop_unused(program: Program, constants: set[int]) -> None:
    used = {value for block in program.blocks for values in block.end.arguments for value in values}
    used |= {value for block in program.blocks for each in block.instructions for value in each.operands}
    unused = constants - used
    for block in program.blocks if unused else ():
        block.instructions = [each for each in block.instructions if unused.isdisjoint(each.results)]
