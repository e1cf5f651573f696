"""Facts about a tile along each dimension: runs of elements and divisors; how operations transfer them.

An element rule maps the operands' axes of one dimension to the result's; a shape rule maps all dimensions at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tilec.dialect.cuda_tile.attributes import DivByAttr, SameElementsAttr
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import bounds, type_interval
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.divisibility import UNBOUNDED, power_of_two_in


class Axis(NamedTuple):
    """Three powers of two that hold for every index of the other dimensions, with groups counted from index 0:

    in each group of `contiguity` elements, each is its predecessor plus 1 (modulo 2^width), or the next address;
    in each group of `constancy` elements, all are equal;
    the first of each `contiguity` elements is divisible by `divisibility` (in bytes for an address).
    `unit` is the difference of consecutive elements: 1, or the bytes of a pointee.
    """

    contiguity: int = 1
    constancy: int = 1
    divisibility: int = 1
    unit: int = 1

    def divisor(self, step: int) -> int:
        """A divisor of the elements at multiples of `step`, a power of two."""
        if step >= self.contiguity:
            return self.divisibility
        return math.gcd(self.divisibility, step * self.unit)

    def narrowed(self, extent: int) -> Axis:
        """The facts that hold for groups of `extent` elements."""
        contiguity = min(self.contiguity, extent)
        return Axis(contiguity, min(self.constancy, extent), self.divisor(contiguity), self.unit)

    @property
    def aligned(self) -> int:
        """The longest run that begins at a multiple of its own length, and so never wraps."""
        return min(self.contiguity, self.divisibility)

    def meet(self, other: Axis) -> Axis:
        """The facts that hold for both."""
        contiguity = min(self.contiguity, other.contiguity)
        divisor = math.gcd(self.divisor(contiguity), other.divisor(contiguity))
        return Axis(contiguity, min(self.constancy, other.constancy), divisor, self.unit)


# One for each dimension, then one for a dimension of one element: the facts about each single element.
Axes = tuple[Axis, ...]
ElementRule = Callable[..., Axis]
ShapeRule = Callable[..., Axes]

# Larger constants are not analysed, except splats.
MAXIMUM_ELEMENTS = 4096


def _sum(_op: ir.OpView, a: Axis, b: Axis) -> Axis:
    contiguity = max(min(a.contiguity, b.constancy), min(a.constancy, b.contiguity))
    return _joined(a, b, contiguity, min(a.constancy, b.constancy))


def _joined(a: Axis, b: Axis, contiguity: int, constancy: int) -> Axis:
    return Axis(contiguity, constancy, math.gcd(a.divisor(contiguity), b.divisor(contiguity)))


def _common(_op: ir.OpView, *axes: Axis) -> Axis:
    """No runs; a common divisor of the operands divides the result."""
    return Axis(1, min(axis.constancy for axis in axes), math.gcd(*(axis.divisor(1) for axis in axes)))


def _shifted_left(op: ir.OpView, a: Axis, b: Axis) -> Axis:
    amount = splat(op.rhs) or 0
    return Axis(1, min(a.constancy, b.constancy), min(UNBOUNDED, a.divisor(1) << max(0, min(amount, 62))))


def _shifted_right(op: ir.OpView, a: Axis, b: Axis) -> Axis:
    amount = splat(op.rhs)
    return _floor(a, b, 1 << amount) if amount is not None and 0 <= amount < 62 else equal_elements(op, a, b)


def _quotient(op: ir.OpView, a: Axis, b: Axis) -> Axis:
    divisor = _power_of_two(op.rhs)
    floors = op.rounding == "negative_inf" or op.rounding == "zero" and _is_never_negative(op)
    return _floor(a, b, divisor) if divisor and floors else equal_elements(op, a, b)


def _floor(a: Axis, b: Axis, divisor: int) -> Axis:
    """The elements of a run between two multiples of the divisor have one quotient."""
    constancy = max(min(a.aligned, divisor), min(a.constancy, b.constancy))
    return Axis(1, constancy, max(1, a.divisor(1) // divisor))


def _remainder(op: ir.OpView, a: Axis, b: Axis) -> Axis:
    divisor = _power_of_two(op.rhs)
    return _low_bits(a, b, divisor) if divisor and _is_never_negative(op) else _common(op, a, b)


def _low_bits(a: Axis, b: Axis, divisor: int) -> Axis:
    contiguity = min(a.aligned, divisor)
    return Axis(contiguity, min(a.constancy, b.constancy), math.gcd(a.divisor(contiguity), divisor))


def _conjunction(op: ir.OpView, a: Axis, b: Axis) -> Axis:
    mask = splat(op.rhs)
    if mask is not None and mask > 0 and mask & (mask + 1) == 0:
        return _low_bits(a, b, mask + 1)
    constancy = min(a.constancy, b.constancy)
    if mask:
        # The mask keeps only the bits from its lowest set bit upwards.
        constancy = max(constancy, min(a.aligned, mask & -mask))
    return Axis(1, constancy, max(a.divisor(1), b.divisor(1)))


def _is_never_negative(op: ir.OpView) -> bool:
    """Whether the left operand is never negative, so that rounding to zero is rounding down."""
    return op.signedness == "unsigned" or bounds(op.lhs).low >= 0


def _power_of_two(value: ir.Value) -> int | None:
    number = splat(value)
    return number if number is not None and number > 0 and number & (number - 1) == 0 else None


def _comparison(op: ir.OpView, a: Axis, b: Axis) -> Axis:
    """An aligned run lies on one side of every multiple of its length."""
    constancy = min(a.constancy, b.constancy)
    if op.comparison_predicate in ("less_than", "greater_than_or_equal"):
        constancy = max(constancy, min(a.aligned, b.constancy, b.divisor(1)))
    if op.comparison_predicate in ("greater_than", "less_than_or_equal"):
        constancy = max(constancy, min(b.aligned, a.constancy, a.divisor(1)))
    return Axis(1, constancy, 1)


def _widened(value: ir.Value, signedness: str, a: Axis) -> Axis:
    """A run remains one in a wider type unless it wraps."""
    known, whole = bounds(value), type_interval(value.type)
    if signedness == "signed":
        wraps = known.low == whole.low and known.high == whole.high
    else:
        wraps = known.low < 0 <= known.high
    return a.narrowed(a.aligned)._replace(constancy=a.constancy) if wraps else a


def equal_elements(_op: ir.OpView, *axes: Axis) -> Axis:
    """Equal operands give equal results: the rule of all other pure elementwise operations."""
    return Axis(1, min((axis.constancy for axis in axes), default=1), 1)


def _offset(op: ir.OpView, pointer: Axis, index: Axis) -> Axis:
    index = _widened(op.offset, "signed", index)
    unit = pointer.unit
    contiguity = max(min(pointer.contiguity, index.constancy), min(pointer.constancy, index.contiguity))
    if not unit:
        return Axis(1, min(pointer.constancy, index.constancy), 1, unit)
    bytes_ = min(UNBOUNDED, index.divisor(contiguity) * unit)
    divisor = math.gcd(pointer.divisor(contiguity), bytes_)
    return Axis(contiguity, min(pointer.constancy, index.constancy), divisor, unit)


def _address(_op: ir.OpView, a: Axis, unit: int) -> Axis:
    """Runs are preserved only if the distance of consecutive elements is the same."""
    return (a if a.unit == unit else Axis(1, a.constancy, a.divisor(1)))._replace(unit=unit)


ELEMENT_RULES: dict[str, ElementRule] = {
    "addi": _sum,
    "subi": lambda _op, a, b: _joined(a, b, min(a.contiguity, b.constancy), min(a.constancy, b.constancy)),
    "muli": lambda _op, a, b: Axis(1, min(a.constancy, b.constancy), min(UNBOUNDED, a.divisor(1) * b.divisor(1))),
    **dict.fromkeys(("maxi", "mini", "ori", "xori", "negi", "absi"), _common),
    "andi": _conjunction,
    "shli": _shifted_left,
    "shri": _shifted_right,
    "divi": _quotient,
    "remi": _remainder,
    "cmpi": _comparison,
    "select": lambda _op, condition, a, b: a.meet(b).narrowed(condition.constancy),
    "exti": lambda op, a: _widened(op.from_, op.signedness, a),
    "trunci": lambda op, a: a,
    "offset": _offset,
}
ADDRESS_RULES: dict[str, ElementRule] = dict.fromkeys(("ptr_to_int", "int_to_ptr", "ptr_to_ptr"), _address)


def _constant(op: ir.OpView) -> Axes:
    elements, shape = op.value, op.result.type.shape
    if not isinstance(ir.RankedTensorType(elements.type).element_type, ir.IntegerType):
        return (*(Axis(1, extent if elements.is_splat else 1) for extent in shape), Axis())
    if elements.is_splat:
        factor = power_of_two_in(int(elements.get_splat_value().value))
        return (*(Axis(1, extent, factor) for extent in shape), Axis(1, 1, factor))
    if math.prod(shape) > MAXIMUM_ELEMENTS:
        return (Axis(),) * (len(shape) + 1)
    numbers = np.array([int(number) for number in elements], np.int64).reshape(shape)
    each = math.gcd(*(power_of_two_in(int(number)) for number in numbers.flat))
    return (*(_axis_of_numbers(np.moveaxis(numbers, axis, -1)) for axis in range(len(shape))), Axis(1, 1, each))


def _axis_of_numbers(numbers: np.ndarray) -> Axis:
    """The facts about constant numbers along their last dimension."""
    contiguity = _longest(numbers, 1)
    firsts = numbers[..., ::contiguity]
    return Axis(contiguity, _longest(numbers, 0), math.gcd(*(power_of_two_in(int(number)) for number in firsts.flat)))


def _longest(numbers: np.ndarray, step: int) -> int:
    """The size of the longest groups in which each element is its predecessor plus `step`."""
    size = numbers.shape[-1]
    while size > 1:
        groups = numbers.reshape(*numbers.shape[:-1], -1, size)
        if (np.diff(groups, axis=-1) == step).all():
            return size
        size //= 2
    return 1


def _broadcast(op: ir.OpView, source: Axes) -> Axes:
    *along, each = source
    extents = zip(op.source.type.shape, op.result.type.shape, along, strict=True)
    return (*(axis if old == new else each._replace(constancy=new) for old, new, axis in extents), each)


def _reshape(op: ir.OpView, source: Axes) -> Axes:
    *along, each = source
    old, new = op.source.type.shape, op.result.type.shape
    return (*(_regrouped(along, each, old, new, dimension) for dimension in range(len(new))), each)


def _regrouped(along: Sequence[Axis], each: Axis, old: Sequence[int], new: Sequence[int], dimension: int) -> Axis:
    """The axis of a result dimension, whose index steps over `inner` elements in row-major order."""
    inner = math.prod(new[dimension + 1 :])
    if new[dimension] == 1:
        return each
    for at in reversed(range(len(old))):
        below = math.prod(old[at + 1 :])
        if old[at] > 1 and below <= inner < below * old[at]:
            step = inner // below
            # If a whole dimension is equal, groups of equal elements extend into the next outer one.
            equal, higher = along[at].constancy, at
            while equal == math.prod(old[higher : at + 1]) and higher > 0:
                higher -= 1
                equal *= along[higher].constancy
            constancy = max(1, min(equal // step, new[dimension]))
            if step > 1:
                return each._replace(constancy=constancy)
            return along[at].narrowed(new[dimension])._replace(constancy=constancy)
    return each


def _meeting(_op: ir.OpView, lhs: Axes, rhs: Axes, *_indices: Axes) -> Axes:
    return tuple(a.meet(b) for a, b in zip(lhs, rhs, strict=True))


def _extract(op: ir.OpView, source: Axes, *_indices: Axes) -> Axes:
    *along, each = source
    return (*(axis.narrowed(extent) for axis, extent in zip(along, op.result.type.shape, strict=True)), each)


def _assume(op: ir.OpView, value: Axes) -> Axes:
    predicate = op.predicate
    *along, each = value
    if isinstance(predicate, SameElementsAttr):
        groups = zip(along, (max(1, size & -size) for size in predicate.values), strict=True)
        return (*(a._replace(constancy=max(a.constancy, size)) for a, size in groups), each)
    if not isinstance(predicate, DivByAttr):
        return value
    if predicate.every is None:
        return tuple(axis._replace(divisibility=max(axis.divisibility, predicate.divisor)) for axis in value)
    along[predicate.along] = _assumed_runs(along[predicate.along], predicate)
    return (*along, each)


def _assumed_runs(axis: Axis, predicate: DivByAttr) -> Axis:
    """Tile IR, assume: each group of `every` elements is a run whose first element is divisible."""
    every = predicate.every or 0
    if not every or every & (every - 1) or not axis.unit:
        return axis
    longer = max(every, axis.contiguity)
    return Axis(longer, axis.constancy, max(predicate.divisor, axis.divisor(longer)), axis.unit)


SHAPE_RULES: dict[str, ShapeRule] = {
    "constant": _constant,
    "iota": lambda op: (Axis(op.result.type.shape[0], 1, UNBOUNDED), Axis()),
    "broadcast": _broadcast,
    "permute": lambda op, source: (*(source[dimension] for dimension in op.permutation), source[-1]),
    "reshape": _reshape,
    "cat": _meeting,
    "extract": _extract,
    "insert": _meeting,
    "assume": _assume,
}
