"""Integers that a loop carries and that grow by the same amount in each iteration, as functions of a counter."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within
from tilec.lowering.tile.analysis.condition import integer, width
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import WIDE, IndexArithmetic, Number
from tilec.lowering.tile.analysis.tile_operations import CONTINUE, given, producer

_WIDTHS = (32, 64)


def step_of(loop: ir.OpView, index: int) -> Number | None:
    """The number or the value from outside of the loop that each iteration adds to a carried integer, or None."""
    argument = loop.carried[index]
    if not is_integer(argument):
        return None
    steps = {_added(value, argument, loop) for value in given(loop, CONTINUE, index)}
    return steps.pop() if len(steps) == 1 else None


def is_integer(value: ir.Value) -> bool:
    """Whether a value is an integer scalar of 32 or 64 bits."""
    type = value.type
    is_scalar = isinstance(type, TileType) and type.rank == 0 and isinstance(type.element, ir.IntegerType)
    return is_scalar and width(value) in _WIDTHS


def _added(value: ir.Value, argument: ir.Value, loop: ir.OpView) -> Number | None:
    total = 0
    while value != argument:
        op = producer(value, "addi", "subi")
        if op is None:
            return None
        is_sum = op.operation.name == "cuda_tile.addi"
        sides = [(op.lhs, op.rhs)] + [(op.rhs, op.lhs)] * is_sum
        known = next(((rest, number) for rest, added in sides if (number := splat(added)) is not None), None)
        if known is None:
            others = [added for rest, added in sides if rest == argument and not is_within(added, loop)]
            return others[0] if total == 0 and is_sum and others else None
        value, number = known
        total += number if is_sum else -number
    return total or None


def substitute(loop: ir.OpView) -> dict[int, Number]:
    """Replaces integers that a `for` carries by functions of its counter, in its body.

    Returns the growth of each while the counter grows by one, by its number.
    """
    counter, found = loop.induction_variable, dict[int, Number]()
    if loop.unsignedCmp or not is_integer(counter) or (splat(loop.step) != 1 and width(counter) == WIDE.width):
        return found
    for index, argument in enumerate(loop.carried):
        step = step_of(loop, index)
        factor = None if step is None else _per_count(step, loop)
        if factor is not None:
            with ir.InsertionPoint.at_block_begin(loop.body.blocks[0]), loop.location:
                argument.replace_all_uses_with(_at(counter, loop, index, factor))
            found[index] = factor
    return found


def value_after(loop: ir.OpView, index: int, factor: Number) -> ir.Value:
    """A carried integer that was replaced, after the loop, at the insertion point."""
    if splat(loop.step) == 1:
        counter = integer("maxi", loop.lowerBound, loop.upperBound, signedness="signed")
        return _at(counter, loop, index, factor)
    return _at(counter_from(loop, loop.upperBound), loop, index, factor)


def counter_from(loop: ir.OpView, bound: ir.Value) -> ir.Value:
    """The first counter of a `for` that is at least a bound, of 64 bits, at the insertion point."""
    lower, step = WIDE.extended(loop.lowerBound), WIDE.extended(loop.step)
    count = WIDE.quotient_up(WIDE.at_least(0, WIDE.difference(WIDE.extended(bound), lower)), step)
    return WIDE.made(WIDE.sum([lower, WIDE.product([count, step])]))


def _per_count(step: Number, loop: ir.OpView) -> Number | None:
    """The growth of a carried integer while the counter grows by one; None if it is not an integer."""
    of_counter = splat(loop.step)
    if of_counter == 1:
        return step
    return step // of_counter if of_counter and isinstance(step, int) and step % of_counter == 0 else None


def _at(counter: ir.Value, loop: ir.OpView, index: int, factor: Number) -> ir.Value:
    """The carried integer for a counter: that of the first iteration, and its growth since, as its type wraps."""
    type = loop.carried[index].type
    arithmetic = IndexArithmetic(type.element.width)
    initial, lower, number = _number(loop.initValues[index]), _cast(loop.lowerBound, type), _cast(counter, type)
    if factor == -1:
        return arithmetic.made(arithmetic.difference(arithmetic.sum([initial, lower]), number))
    grown = arithmetic.product([number, factor])
    if factor == 1 and initial == lower:
        return arithmetic.made(grown)
    start = arithmetic.difference(initial, arithmetic.product([lower, factor]))
    return arithmetic.made(arithmetic.sum([grown, start]))


def _number(value: ir.Value) -> Number:
    known = splat(value)
    return value if known is None else known


def _cast(value: ir.Value, type: TileType) -> Number:
    """A signed integer in the width of a type, modulo its range."""
    arithmetic = IndexArithmetic(type.element.width)
    number = _number(value)
    if isinstance(number, int) or value.type == type:
        return number
    return arithmetic.cast(value) if width(value) > arithmetic.width else arithmetic.extended(value)
