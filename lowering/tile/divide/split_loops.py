"""Splits for i { .. a*i + b < n .. } into a loop in which the comparison always holds and a loop that keeps it.

    for %i in (%lb to %ub, step %s)      for %i in (%lb to %stop, step %s)     where every a*i + b < n
                                         for %i in (%rest to %ub, step %s)     the other iterations

The bounds of the two loops are computed before them in 64 bits, where nothing wraps. If a*i + b may be less than
the smallest number of its type, the second loop runs all iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, operations_below, operations_named
from tilec.lowering.tile.analysis.bounds import bounds, type_interval
from tilec.lowering.tile.analysis.condition import integer
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.tile_operations import producer
from tilec.lowering.tile.analysis.value_analysis import analyze

# The body is duplicated, so a long one would cost more instructions than its masks.
MAXIMUM_BODY = 256
# An upper bound for sums of products of numbers of at most 32 bits, which leaves room in 64 bits.
_SAFE = 1 << 61
_WIDEST = 32
# Marks the two parts of a split loop, so that they are not split again.
MARK = "tilec.split"

# Comparisons that give one side an upper bound: that side, and whether equality is included.
_UPPER = {
    "less_than": ("lhs", False),
    "less_than_or_equal": ("lhs", True),
    "greater_than": ("rhs", False),
    "greater_than_or_equal": ("rhs", True),
}


@dataclass(frozen=True)
class _Mask:
    """value < bound (or <=), which holds up to some iteration of a loop."""

    op: ir.OpView
    value: _Affine
    bound: ir.Value
    or_equal: bool


def split_loops(module: ir.Module) -> None:
    """Splits counted loops, inner ones first, after the last iteration in which all bounding comparisons hold."""
    for loop in operations_named(module, _is_unsplit, innermost_first=True):
        body = list(operations_below(loop))
        if loop.lowerBound.type.element.width > _WIDEST or len(body) > MAXIMUM_BODY:
            continue
        masks = [mask for mask in (_mask(op, loop) for op in body) if mask is not None]
        if masks:
            _split(loop, masks)


def _is_unsplit(operation: ir.Operation) -> bool:
    return operation.name == "cuda_tile.for" and MARK not in operation.attributes


def _mask(op: ir.OpView, loop: ir.OpView) -> _Mask | None:
    """The mask of a comparison that holds in the first iterations of a loop or in none; None for other operations."""
    if op.operation.name != "cuda_tile.cmpi" or op.comparison_predicate not in _UPPER or not list(op.result.uses):
        return None
    side, or_equal = _UPPER[op.comparison_predicate]
    varying, fixed = (op.lhs, op.rhs) if side == "lhs" else (op.rhs, op.lhs)
    if varying.type.element != loop.lowerBound.type.element:
        return None
    bound = _scalar(fixed)
    value = analyze(varying, lambda each, of: _affine(each, loop, of))
    if bound is None or value is None or value.scale <= 0 or _varies(bound, loop):
        return None
    return _Mask(op, value, bound, or_equal) if value.reach(1 << _WIDEST) < _SAFE else None


def _scalar(value: ir.Value) -> ir.Value | None:
    """The scalar that a tile broadcasts, or a splat constant; None for other tiles."""
    while value.type.shape and splat(value) is None:
        moved = producer(value, "broadcast", "reshape")
        if moved is None:
            return None
        value = moved.source
    return value


def _varies(value: ir.Value, loop: ir.OpView) -> bool:
    return splat(value) is None and is_within(value, loop)


def _split(loop: ir.OpView, masks: list[_Mask]) -> None:
    operation = loop.operation
    with ir.InsertionPoint(operation), loop.location:
        stop, rest = _bounds(loop, masks)
        remainder = operation.clone()
    remainder.move_after(operation)
    for old, new in zip(operation.results, remainder.results, strict=True):
        old.replace_all_uses_with(new)
    remainder.operands[0] = rest
    for index, result in enumerate(operation.results):
        remainder.operands[3 + index] = result
    operation.operands[1] = stop
    for mask in masks:
        with ir.InsertionPoint(mask.op.operation), mask.op.location:
            mask.op.result.replace_all_uses_with(integer_splat(mask.op.result.type, 1))
        mask.op.operation.erase()
    for each, part in ((operation, "main"), (remainder, "remainder")):
        each.attributes[MARK] = ir.StringAttr.get(part)


def _bounds(loop: ir.OpView, masks: list[_Mask]) -> tuple[ir.Value, ir.Value]:
    """The upper bound of the first loop and the lower bound of the second, in the type of the loop's bounds."""
    signedness = "unsigned" if loop.unsignedCmp else "signed"
    lower, upper, step = (_wide(value, signedness) for value in (loop.lowerBound, loop.upperBound, loop.step))
    limits = [_limit(mask, lower) for mask in masks]
    stop = _extreme("maxi", lower, reduce(lambda a, b: _extreme("mini", a, b), [upper, *limits]))
    trips = integer("divi", integer("subi", stop, lower), step, signedness="signed", rounding="positive_inf")
    # After the last iteration, the next number may not fit the type.
    rest = _extreme("mini", upper, integer("addi", lower, integer("muli", trips, step)))
    stop, rest = (build("trunci", [value], [loop.lowerBound.type]).result for value in (stop, rest))
    return stop, rest


def _limit(mask: _Mask, lower: ir.Value) -> ir.Value:
    """The first i for which scale*i + scalars + high < bound does not hold."""
    signedness, value = mask.op.signedness, mask.value
    bound, scale = _wide(mask.bound, signedness), _number(value.scale)
    scalars = _number(0)
    for factor, scalar in value.scalars:
        scalars = integer("addi", scalars, integer("muli", _number(factor), _wide(scalar, signedness)))
    room = integer("subi", integer("addi", bound, _number(int(mask.or_equal) - value.high)), scalars)
    limit = integer("divi", room, scale, signedness="signed", rounding="positive_inf")
    width = mask.op.lhs.type.element.width
    least = _number(-(1 << (width - 1)) if signedness == "signed" else 0)
    smallest = integer("addi", integer("muli", lower, scale), integer("addi", scalars, _number(value.low)))
    fits = build(
        "cmpi", [smallest, least], [TileType.get((), ir.IntegerType.get_signless(1))],
        {"comparison_predicate": "greater_than_or_equal", "signedness": "signed"},
    ).result  # fmt: skip
    return build("select", [fits, limit, lower], [limit.type]).result


def _wide_type() -> TileType:
    return TileType.get((), ir.IntegerType.get_signless(64))


def _number(number: int) -> ir.Value:
    return integer_splat(_wide_type(), number)


def _wide(value: ir.Value, signedness: str) -> ir.Value:
    number = splat(value)
    if number is not None:
        width = value.type.element.width
        return _number(number & ((1 << width) - 1) if signedness == "unsigned" else number)
    return build("exti", [value], [_wide_type()], {"signedness": signedness}).result


def _extreme(name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return integer(name, lhs, rhs, signedness="signed")


# ---- values as scale * induction variable + scalars + an interval, modulo 2^width


@dataclass(frozen=True)
class _Affine:
    """Each element is scale * i + sum(factor * scalar) + a number in [low, high]."""

    scale: int
    scalars: tuple[tuple[int, ir.Value], ...]
    low: int
    high: int

    def plus(self, other: _Affine) -> _Affine:
        return _Affine(
            self.scale + other.scale, self.scalars + other.scalars, self.low + other.low, self.high + other.high
        )

    def times(self, factor: int) -> _Affine:
        ends = sorted((self.low * factor, self.high * factor))
        scalars = tuple((factor * each, value) for each, value in self.scalars)
        return _Affine(self.scale * factor, scalars, *ends)

    def reach(self, magnitude: int) -> int:
        """The largest absolute value of the expression and its parts if |i| and the scalars are at most `magnitude`."""
        factors = abs(self.scale) + sum(abs(factor) for factor, _ in self.scalars)
        return factors * magnitude + max(abs(self.low), abs(self.high))


# The affine form of a value in terms of an induction variable, or None if it has none.
Of = Callable[[ir.Value], _Affine | None]


def _affine(value: ir.Value, loop: ir.OpView, of: Of) -> _Affine | None:
    """The affine form of a tile or scalar in the induction variable; scalars that do not vary are its symbols."""
    if value == loop.induction_variable:
        return _Affine(1, (), 0, 0)
    owner = value.owner
    if not isinstance(owner, ir.Block):
        rule = _RULES.get(owner.operation.name)
        found = None if rule is None else rule(owner, of)
        if found is not None:
            return found
    if not value.type.shape and not _varies(value, loop) and splat(value) is None:
        return _Affine(0, ((1, value),), 0, 0)
    known = bounds(value)
    return None if known == type_interval(value.type) else _Affine(0, (), known.low, known.high)


def _sum(op: ir.OpView, of: Of) -> _Affine | None:
    a, b = of(op.lhs), of(op.rhs)
    return None if a is None or b is None else a.plus(b)


def _difference(op: ir.OpView, of: Of) -> _Affine | None:
    a, b = of(op.lhs), of(op.rhs)
    return None if a is None or b is None else a.plus(b.times(-1))


def _product(op: ir.OpView, of: Of) -> _Affine | None:
    for value, factor in ((op.lhs, splat(op.rhs)), (op.rhs, splat(op.lhs))):
        if factor is not None:
            found = of(value)
            return None if found is None else found.times(factor)
    return None


def _shifted(op: ir.OpView, of: Of) -> _Affine | None:
    amount, found = splat(op.rhs), of(op.lhs)
    if amount is None or found is None or not 0 <= amount < op.lhs.type.element.width:
        return None
    return found.times(1 << amount)


_RULES: dict[str, Callable[[ir.OpView, Of], _Affine | None]] = {
    "cuda_tile.addi": _sum,
    "cuda_tile.subi": _difference,
    "cuda_tile.muli": _product,
    "cuda_tile.shli": _shifted,
    **{
        f"cuda_tile.{name}": lambda op, of: of(op.operation.operands[0])
        for name in ("assume", "broadcast", "reshape", "permute", "extract")
    },
}
