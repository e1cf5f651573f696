"""Intervals of integer values, from assumptions, constants, types and arithmetic that does not wrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tilec.dialect.cuda_tile.attributes import BoundedAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import Number
from tilec.lowering.tile.analysis.index_space import image_extents, index_space, output_extents, packed_index_space
from tilec.lowering.tile.analysis.sum_terms import constant_difference
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_under, tile_steps
from tilec.lowering.tile.analysis.tile_operations import counting_loop, producer, without_assumptions
from tilec.lowering.tile.analysis.value_analysis import analyze

# Tile IR: each axis of the grid has at most 2^24 - 1 tile blocks.
MAXIMUM_BLOCKS = (1 << 24) - 1
# The range of a signed i32.
MAXIMUM_NARROW = 2**31 - 1


class Interval(NamedTuple):
    """The signed numbers in [low, high]."""

    low: int
    high: int

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def meet(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))


Of = Callable[[ir.Value], Interval]
Rule = Callable[[ir.OpView, ir.Value, Of], Interval]


def bounds(value: ir.Value, assumed: Mapping[ir.Value, Interval] | None = None) -> Interval:
    """An interval that contains every element of an integer tile, read as signed; at worst the range of the type.

    With intervals that are `assumed` of some values, it is that of the cases in which they hold.
    """
    return analyze(value, _bounds, assumed)


def read_as(value: ir.Value, signedness: str) -> Interval:
    """An interval that contains every element of an integer tile, read as signed or as unsigned."""
    known = bounds(value)
    if signedness == "signed" or known.low >= 0:
        return known
    whole = (1 << ELEMENT_BITS[spell(value.type.element)]) - 1
    return Interval(known.low & whole, known.high & whole) if known.high < 0 else Interval(0, whole)


def greatest(value: Number) -> int:
    """The largest number that an integer can be, read as unsigned; a known number itself."""
    if isinstance(value, int):
        return value
    known = bounds(value)
    return known.high if known.low >= 0 else (1 << value.type.element.width) - 1


def exact_multiple(value: ir.Value) -> tuple[ir.Value, int] | None:
    """The factors of a product with a number, which does not wrap; None for other values."""
    product = producer(without_assumptions(value), "muli")
    if product is None:
        return None
    for factor, known in ((product.lhs, splat(product.rhs)), (product.rhs, splat(product.lhs))):
        if known is not None:
            ends, whole = [end * known for end in bounds(factor)], type_interval(value.type)
            return (factor, known) if whole.low <= min(ends) and max(ends) <= whole.high else None
    return None


def _bounds(value: ir.Value, of: Of) -> Interval:
    whole = type_interval(value.type)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return _argument(value, whole, of)
    rule = _RULES.get(owner.operation.name)
    found = whole if rule is None else rule(owner, value, of)
    # A result outside the range of the type wraps, so nothing is known about it.
    return found if whole.low <= found.low and found.high <= whole.high else whole


def type_interval(type: ir.Type) -> Interval:
    """The range of an integer element type."""
    half = 1 << (ELEMENT_BITS[spell(type.element)] - 1)
    return Interval(-half, half - 1)


def _argument(value: ir.Value, whole: Interval, of: Of) -> Interval:
    """An induction variable that counts up lies from the lower bound to below the upper one."""
    loop = counting_loop(value)
    if loop is None or loop.unsignedCmp:
        return whole
    # Tile IR: the step is positive.
    low, high = of(loop.lowerBound).low, of(loop.upperBound).high - 1
    if low == of(loop.lowerBound).high and (step := splat(loop.step)) is not None and step > 1:
        high -= (high - low) % step
    return Interval(low, max(low, high))


def _assume(op: ir.OpView, _: ir.Value, of: Of) -> Interval:
    known, predicate = of(op.value), op.predicate
    if not isinstance(predicate, BoundedAttr):
        return known
    low = known.low if predicate.lower is None else predicate.lower
    return known.meet(Interval(low, known.high if predicate.upper is None else predicate.upper))


def _constant(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
    elements, whole = op.value, type_interval(value.type)
    numbers = [elements.get_splat_value().value] if elements.is_splat else list(elements)
    signed = [int(n) if int(n) <= whole.high else int(n) - 2 * (whole.high + 1) for n in numbers]
    return Interval(min(signed), max(signed))


def _sum(op: ir.OpView, _: ir.Value, of: Of) -> Interval:
    a, b = of(op.lhs), of(op.rhs)
    return Interval(a.low + b.low, a.high + b.high)


def _difference(op: ir.OpView, _: ir.Value, of: Of) -> Interval:
    a, b = of(op.lhs), of(op.rhs)
    return Interval(max(a.low - b.high, _least_left(op, of)), a.high - b.low)


def _least_left(op: ir.OpView, of: Of) -> int:
    """The least difference of a bound and the counter below it."""
    loop, least = counting_loop(op.rhs), type_interval(op.result.type).low
    if loop is None or loop.unsignedCmp:
        return 2 * least
    distance = constant_difference(op.lhs, loop.upperBound)
    if distance is None:
        return 2 * least
    distance -= (distance >= -least) * -2 * least
    # The upper bound is greater than the counter; with the distance it must not wrap.
    lower, upper = of(loop.lowerBound).low, of(loop.upperBound).high
    return distance + 1 if least <= lower + 1 + distance and upper + distance < -least else 2 * least


def _product(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
    """A product that wraps is still a multiple of the power of two in a known factor."""
    a, b = of(op.lhs), of(op.rhs)
    corners, whole = [x * y for x in a for y in b], type_interval(value.type)
    found = Interval(min(corners), max(corners))
    if whole.low <= found.low and found.high <= whole.high:
        return found
    power = max((x.low & -x.low for x in (a, b) if x.low == x.high), default=1)
    return Interval(whole.low, whole.high + 1 - max(power, 1))


def _extreme(pick: Callable[[int, int], int]) -> Rule:
    def rule(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
        a, b = of(op.lhs), of(op.rhs)
        if op.signedness == "unsigned" and min(a.low, b.low) < 0:
            return a.join(b)
        return Interval(pick(a.low, b.low), pick(a.high, b.high))

    return rule


def _quotient(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
    """A quotient grows with the dividend, and approaches 0 as the divisor grows."""
    a, b = of(op.lhs), of(op.rhs)
    if b.low <= 0 or (a.low < 0 and op.signedness == "unsigned"):
        return type_interval(value.type)
    low = _divided(a.low, b.low if a.low < 0 else b.high, op.rounding)
    return Interval(low, _divided(a.high, b.high if a.high < 0 else b.low, op.rounding))


def _divided(number: int, divisor: int, rounding: str) -> int:
    """The quotient by a positive divisor; rounding is that of Tile IR."""
    up = rounding == "positive_inf" or (rounding == "zero" and number < 0)
    return -(-number // divisor) if up else number // divisor


def _remainder(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
    """A remainder has the sign of the dividend and is smaller than the divisor."""
    a, b = of(op.lhs), of(op.rhs)
    if a.low < 0:
        return type_interval(value.type)
    if b.low == b.high > 0 and a.low // b.low == a.high // b.low:
        return Interval(a.low % b.low, a.high % b.low)
    return Interval(0, a.high if b.low <= 0 else min(a.high, b.high - 1))


def _unsigned(value: ir.Value, of: Of) -> Interval:
    known = of(value)
    return known if known.low >= 0 else Interval(0, (1 << ELEMENT_BITS[spell(value.type.element)]) - 1)


def _tensor_shape(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
    maker = producer(op.src, "make_tensor_view")
    return type_interval(value.type) if maker is None else _extent(maker, ir.OpResult(value).result_number, of)


def _index_space_shape(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
    """The number of tiles along a dimension."""
    tensor, type, k = tensor_under(op.src), op.src.type, ir.OpResult(value).result_number
    if tensor is None:
        return type_interval(value.type)
    extent, step = _extent(tensor, type.dim_map[k], of), tile_steps(type)[k]
    return Interval(-(-extent.low // step), -(-extent.high // step))


def _extent(tensor: ir.OpView, dimension: int, of: Of) -> Interval:
    """The interval of an extent, which is unsigned."""
    extent = tensor_extents(tensor)[dimension]
    return Interval(extent, extent) if isinstance(extent, int) else _unsigned(extent, of)


def _of_extents(shape: Callable[[ir.Type, list[int]], list[Number]]) -> Rule:
    """Results that do not decrease with the extents of the tensor, which `shape` computes from them."""

    def rule(op: ir.OpView, value: ir.Value, of: Of) -> Interval:
        tensor = tensor_under(op.src)
        if tensor is None:
            return type_interval(value.type)
        extents = zip(*(_extent(tensor, k, of) for k in range(tensor.result.type.rank)), strict=True)
        low, high = (shape(op.src.type, list(ends))[ir.OpResult(value).result_number] for ends in extents)
        return Interval(int(low), int(high))

    return rule


def _im2col_index_space(type: Im2colViewType, extents: list[int]) -> list[Number]:
    images = image_extents(type, extents)
    return index_space(type, images, output_extents(type, images))


_RULES: dict[str, Rule] = {
    "cuda_tile.assume": _assume,
    "cuda_tile.constant": _constant,
    "cuda_tile.iota": lambda op, value, of: Interval(0, value.type.shape[0] - 1),
    "cuda_tile.addi": _sum,
    "cuda_tile.subi": _difference,
    "cuda_tile.muli": _product,
    "cuda_tile.maxi": _extreme(max),
    "cuda_tile.mini": _extreme(min),
    "cuda_tile.divi": _quotient,
    "cuda_tile.remi": _remainder,
    "cuda_tile.select": lambda op, value, of: of(op.val_if_true).join(of(op.val_if_false)),
    "cuda_tile.exti": lambda op, value, of: of(op.from_) if op.signedness == "signed" else _unsigned(op.from_, of),
    **{
        f"cuda_tile.{name}": lambda op, value, of: of(op.operation.operands[0])
        for name in ("trunci", "broadcast", "reshape", "permute", "extract")
    },
    "cuda_tile.get_tensor_shape": _tensor_shape,
    "cuda_tile.get_index_space_shape": _index_space_shape,
    "tilex.get_im2col_output_shape": _of_extents(
        lambda type, extents: output_extents(type, image_extents(type, extents))
    ),
    "tilex.get_im2col_index_space_shape": _of_extents(_im2col_index_space),
    "tilex.get_packed_index_space_shape": _of_extents(packed_index_space),
    "cuda_tile.get_tile_block_id": lambda op, value, of: Interval(0, MAXIMUM_BLOCKS - 1),
    "cuda_tile.get_num_tile_blocks": lambda op, value, of: Interval(1, MAXIMUM_BLOCKS),
}
