"""Checks of the predicates of `assume`: bounds, divisors, and equal elements."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr
from tilec.dialect.cuda_tile.types import PointerType, TensorViewType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.element_types import ELEMENT_TYPES
from tilec.lowering.tile.analysis.condition import Condition, both, compare, integer, widened, width
from tilec.lowering.tile.analysis.producer import producer, without_assumptions
from tilec.lowering.tile.analysis.stride_assumptions import Predicate
from tilec.lowering.tile.analysis.tile_parts import Part, reshaped


def holds(predicate: Predicate, value: ir.Value) -> Condition | None:
    """Whether an assumption about a value holds; None if no comparison of tiles decides it."""
    if isinstance(value.type, TensorViewType):
        maker = producer(without_assumptions(value), "make_tensor_view")
        return None if maker is None else holds(predicate, maker.base)
    numbers, step = value, 1
    if isinstance(value.type.element, PointerType):
        step = ELEMENT_TYPES[spell(value.type.element.element)].storage_bytes
        type = TileType.get(value.type.shape, ir.IntegerType.get_signless(64))
        numbers = build("ptr_to_int", [value], [type]).result
    if isinstance(predicate, BoundedAttr):
        return _bounded(predicate, numbers)
    if isinstance(predicate, DivByAttr):
        return _divisible(predicate, numbers, step)
    return _same(predicate.values, numbers)


def _bounded(predicate: BoundedAttr, numbers: ir.Value) -> Condition:
    low, high = predicate.lower, predicate.upper
    above = True if low is None else compare("greater_than_or_equal", numbers, low)
    return both(above, True if high is None else compare("less_than_or_equal", numbers, high))


def _divisible(predicate: DivByAttr, numbers: ir.Value, step: int) -> Condition | None:
    same: Condition | None = True
    if predicate.every is not None and predicate.every > 1:
        within = _positions_within(numbers, predicate.every, predicate.along, step)
        numbers = integer("subi", numbers, within)
        same = _same([predicate.every if k == predicate.along else 1 for k in range(numbers.type.rank)], numbers)
    if same is None:
        return None
    wide = numbers if predicate.divisor.bit_length() < width(numbers) else widened(numbers, 64, "signed")
    return both(compare("equal", integer("andi", wide, predicate.divisor - 1), 0), same)


def _positions_within(like: ir.Value, every: int, along: int, step: int) -> ir.Value:
    """The distance of each element from the first of its group along a dimension, `step` per element."""
    shape, element = like.type.shape, like.type.element
    line = build("iota", [], [TileType.get((shape[along],), element)]).result
    if every < shape[along]:
        line = integer("remi", line, every, signedness="unsigned")
    line = reshaped(line if step == 1 else integer("muli", line, step), _unit_shape(shape, along))
    return build("broadcast", [line], [like.type]).result


def _unit_shape(shape: Sequence[int], along: int) -> list[int]:
    return [extent if k == along else 1 for k, extent in enumerate(shape)]


def _same(sizes: Sequence[int], numbers: ir.Value) -> Condition | None:
    """Whether elements are equal within blocks of these sizes; None for sizes that do not divide the tile."""
    steps, shape = [max(size, 1) for size in sizes], list(numbers.type.shape)
    if all(step == 1 for step in steps):
        return True
    if any(extent % step for step, extent in zip(steps, shape, strict=True)):
        return None
    grid = [number for step, extent in zip(steps, shape, strict=True) for number in (extent // step, step)]
    split = reshaped(numbers, grid)
    firsts = [extent if k % 2 == 0 else 1 for k, extent in enumerate(grid)]
    first = Part(split, (0,) * len(grid), tuple(firsts)).extracted()
    repeated = build("broadcast", [first], [split.type]).result
    equal = compare("equal", split, repeated)
    return equal if isinstance(equal, bool) else reshaped(equal, shape)
