"""cmpi base + position, bound -> cmpi position, bound - base, where base + position does not wrap.

A position is the number of an element along a dimension, as the keys of a block of attention; base is a scalar, and
bound is the same along the dimension. The threads then subtract once per bound, not once per element, and compare the
numbers of their elements, which are constants or differ by constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.instruction_choice import only_chooses
from tilec.lowering.tile.analysis.bounds import Interval, bounds
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, WIDE, Number, along_axis, broadcast
from tilec.lowering.tile.analysis.replacing import replace_results
from tilec.lowering.tile.analysis.tile_operations import producer
from tilec.lowering.tile.analysis.value_analysis import analyze

_ORDERS = ("less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
# Operations through which a comparison becomes a part of a mask.
_PARTS_OF_MASKS = tuple(f"cuda_tile.{name}" for name in ("andi", "ori", "xori", "broadcast", "reshape"))
# More scalars than a base has; it limits the sums of sums.
_MOST_SCALARS = 4
_BITS = 32


@dataclass(frozen=True)
class _Sum:
    """Each element is the sum of scalars and of `constant`, and of its number along a dimension if there is `numbers`.

    Attributes:
        numbers: the iota, whose extent is more than 1; None if all elements are equal.
        dimension: the dimension of the iota in the tile; 0 without one.
    """

    scalars: tuple[ir.Value, ...] = ()
    constant: int = 0
    numbers: ir.Value | None = None
    dimension: int = 0

    @property
    def extent(self) -> int:
        assert self.numbers is not None
        return self.numbers.type.shape[0]

    def base(self) -> Interval:
        """The interval of the sum without the number, if it does not wrap."""
        known = [bounds(scalar) for scalar in self.scalars]
        return Interval(
            self.constant + sum(each.low for each in known), self.constant + sum(each.high for each in known)
        )


def compare_positions(module: ir.Module) -> None:
    """Changes signed comparisons of i32 in place whose results only choose between elements.

    Masks of loads and stores stay: their vectors follow from comparisons of the index that the access has.
    """
    replace_results(module, {"cmpi": _compared})


def _compared(op: ir.OpView) -> ir.Value | None:
    if op.comparison_predicate not in _ORDERS or op.signedness != "signed" or op.lhs.type.element.width != _BITS:
        return None
    sides = _sum(op.lhs), _sum(op.rhs)
    # A thread has the elements of the last dimension in registers, wherever a layout allows.
    numbered = [each for each in sides if each is not None and each.numbers is not None]
    position = max(numbered, key=lambda each: each.dimension, default=None)
    if position is None or not only_chooses(op.result, "cuda_tile.select", _PARTS_OF_MASKS):
        return None
    is_left = position is sides[0]
    bound = _repeated(op.rhs if is_left else op.lhs, position.dimension)
    room = None if bound is None else _room(position, bound)
    if room is None:
        return None
    shape = op.lhs.type.shape
    operands = [along_axis(position.numbers, position.dimension, shape), broadcast(NARROW.made(room), shape)]
    attributes = {"comparison_predicate": op.comparison_predicate, "signedness": "signed"}
    return build("cmpi", operands if is_left else operands[::-1], [op.result.type], attributes).result


def _sum(value: ir.Value) -> _Sum | None:
    """A tile as a sum; None if it is none."""
    return analyze(value, _sum_rule)


def _sum_rule(value: ir.Value, of: Callable[[ir.Value], _Sum | None]) -> _Sum | None:
    number = splat(value)
    if number is not None:
        return _Sum(constant=number)
    if not value.type.shape:
        return _Sum(scalars=(value,))
    if producer(value, "iota") is not None:
        return _Sum(numbers=value) if value.type.shape[0] > 1 else None
    if (op := producer(value, "addi")) is not None:
        return _added(of(op.lhs), of(op.rhs))
    if (op := producer(value, "assume", "broadcast")) is not None:
        return of(op.operation.operands[0])
    op = producer(value, "reshape")
    return None if op is None else _reshaped(of(op.source), value.type)


def _added(lhs: _Sum | None, rhs: _Sum | None) -> _Sum | None:
    if lhs is None or rhs is None or (lhs.numbers is not None and rhs.numbers is not None):
        return None
    numbered, scalars = lhs if lhs.numbers is not None else rhs, lhs.scalars + rhs.scalars
    if len(scalars) > _MOST_SCALARS:
        return None
    return _Sum(scalars, lhs.constant + rhs.constant, numbered.numbers, numbered.dimension)


def _reshaped(source: _Sum | None, type: TileType) -> _Sum | None:
    """The sum after a reshape; None if it may divide the numbers between dimensions."""
    if source is None or source.numbers is None:
        return source
    if math.prod(type.shape) != source.extent:
        return None
    return replace(source, dimension=tuple(type.shape).index(source.extent)) if source.extent in type.shape else None


def _repeated(value: ir.Value, dimension: int) -> Number | None:
    """A tile whose extent is 1 along a dimension, or a number, whose elements a tile repeats; None if it does not."""
    number = splat(value)
    if number is not None:
        return number
    repeated = producer(value, "broadcast")
    return repeated.source if repeated is not None and repeated.source.type.shape[dimension] == 1 else None


def _room(position: _Sum, bound: Number) -> Number | None:
    """bound - base, or a number that compares like it with each position; None if base + position may wrap.

    A bound below all of base + position, or above, compares like the nearest such number.
    """
    base, whole = position.base(), Interval(-(1 << _BITS - 1), (1 << _BITS - 1) - 1)
    last = base.high + position.extent - 1
    if not (position.scalars or position.constant) or base.low < whole.low or last > whole.high:
        return None
    start = NARROW.sum([*position.scalars, position.constant])
    near = whole.meet(Interval(base.low - 1, last + 1))
    if base.low >= 0 and whole.low <= near.low - base.high:
        # No difference with a start that is not negative exceeds the greatest integer.
        return NARROW.difference(NARROW.at_least(near.low, bound), start)
    if whole.low <= near.low - base.high and near.high - base.low <= whole.high:
        return NARROW.difference(NARROW.within(bound, *near), start)
    room = WIDE.difference(WIDE.extended(bound), WIDE.extended(start))
    return NARROW.cast(WIDE.within(room, -1, position.extent))
