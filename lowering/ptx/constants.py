"""Constants that several roles or accumulators change in place are moved to a register for each of them.

Branches pass such constants to blocks, and loads with a predicate leave them where it is false.
ptxas 13.0 and 13.5 otherwise keep the carried values of all roles in the register of the constant that they start
from, or in local memory. Where an accumulator of wgmma starts from the register of a constant, it has all of its
registers from the move of that constant on. With another accumulator there, ptxas spills one of both, and makes each
wgmma wait for the one before (C7512).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import reduce
from itertools import chain
from operator import or_

from tilec.lowering.ptx.program import Block, Branch, Instruction, Program

_MOVE = "mov."


def repeat_constants(program: Program) -> None:
    """Gives branches and tied operands moves of their own of constants.

    They are those that code which does not reach this one changes too, and those from which several registers start, as
    elements of a tile do, unless a branch of the block of the move alone changes them. A constant in the register of
    another value keeps that register from the first of them to the last.
    """
    constants = {
        instruction.results[0]: instruction
        for block in program.blocks
        for instruction in block.instructions
        if instruction.template.startswith(_MOVE) and not instruction.operands and len(instruction.results) == 1
    }
    changing = defaultdict[int, list[int]](list)
    for number, block in enumerate(program.blocks):
        for value in _changed(block):
            if value in constants:
                changing[value].append(number)
    reached: dict[int, set[int]] = {}
    repeated = {value for value, numbers in changing.items() if _are_apart(program, numbers, reached)}
    repeated |= _elements(program).intersection(constants)
    moves = {value: constants[value] for value in repeated}
    for number in sorted({number for value in repeated for number in changing[value]}):
        _repeat(program, program.blocks[number], moves)
    _drop_unused(program, repeated)


def _changed(block: Block) -> set[int]:
    """The values that a block passes to others or ties to results."""
    passed = {value for values in block.end.arguments for value in values}
    return passed.union(*(_tied(instruction) for instruction in block.instructions if instruction.tied))


def _elements(program: Program) -> set[int]:
    """The values that are changed in several registers, and at another place too or outside the block of their move."""
    tied = [Counter(_tied(each)) for block in program.blocks for each in block.instructions if each.tied]
    # One of the two edges is taken.
    edges = [list(filter(None, block.end.arguments)) for block in program.blocks]
    passed = [reduce(or_, map(Counter, values)) for values in edges if values]
    elements = {value for place in (*tied, *passed) for value, count in place.items() if count > 1}
    if not elements:
        return elements
    several = {value for value, places in Counter(chain(*tied, *passed)).items() if places > 1}
    changed = [(block, _changed(block) & elements) for block in program.blocks]
    return elements & several.union(*(values - _results(block) for block, values in changed if values))


def _results(block: Block) -> set[int]:
    return {value for instruction in block.instructions for value in instruction.results}


def _tied(instruction: Instruction) -> list[int]:
    return [instruction.operands[tie] for tie in instruction.tied if tie >= 0]


def _are_apart(program: Program, numbers: list[int], reached: dict[int, set[int]]) -> bool:
    """Whether the first block and one of the others do not reach each other."""
    first, *others = numbers
    return any(
        other not in _reached(program, first, reached) and first not in _reached(program, other, reached)
        for other in others
    )


def _reached(program: Program, start: int, reached: dict[int, set[int]]) -> set[int]:
    if start not in reached:
        found, waiting = set[int](), [start]
        while waiting:
            new = set(program.blocks[waiting.pop()].end.targets) - found
            found |= new
            waiting += new
        reached[start] = found
    return reached[start]


def _repeat(program: Program, block: Block, constants: Mapping[int, Instruction]) -> None:
    """Gives the instructions of a block and its branch moves of their own of the constants that they change."""
    instructions: list[Instruction] = []
    for instruction in block.instructions:
        for tie in instruction.tied:
            value = instruction.operands[tie]
            if tie >= 0 and value in constants:
                instruction.operands[tie] = _moved(program, constants[value], instruction, instructions)
        instructions.append(instruction)
    passed = {value for values in block.end.arguments for value in values if value in constants}
    moved = {value: _moved(program, constants[value], block.end, instructions) for value in sorted(passed)}
    block.end.arguments = [[moved.get(value, value) for value in values] for values in block.end.arguments]
    block.instructions = instructions


def _moved(program: Program, constant: Instruction, user: Instruction | Branch, instructions: list[Instruction]) -> int:
    """Adds a move of a constant to a new register, which is returned."""
    made = len(program.classes)
    program.classes.append(program.classes[constant.results[0]])
    instructions.append(Instruction(constant.template, [made], [], (), user.location))
    return made


def _drop_unused(program: Program, constants: set[int]) -> None:
    used = {value for block in program.blocks for values in block.end.arguments for value in values}
    used |= {value for block in program.blocks for each in block.instructions for value in each.operands}
    unused = constants - used
    for block in program.blocks if unused else ():
        block.instructions = [each for each in block.instructions if unused.isdisjoint(each.results)]
