"""Splits for i { .. a*i + b < n .. } into a loop in which the comparison always holds and a loop that keeps it.

    for %i in (%lb to %ub, step %s)      for %i in (%lb to %stop, step %s)     where every a*i + b < n
                                         for %i in (%rest to %ub, step %s)     the other iterations

The bounds of the two loops are computed before them in 64 bits, where nothing wraps. If a*i + b may be less than
the smallest number of its type, the second loop runs all iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, operations_below, operations_named
from tilec.lowering.tile.analysis.affine import Affine, affine
from tilec.lowering.tile.analysis.constants import integer_splat, splat

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
    value: Affine
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
    value = affine(varying, loop.induction_variable, lambda each: not _varies(each, loop))
    if bound is None or value is None or value.scale <= 0 or _varies(bound, loop):
        return None
    return _Mask(op, value, bound, or_equal) if value.reach(1 << _WIDEST) < _SAFE else None


def _scalar(value: ir.Value) -> ir.Value | None:
    """The scalar that a tile broadcasts, or a splat constant; None for other tiles."""
    while value.type.shape and splat(value) is None:
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.operation.name not in ("cuda_tile.broadcast", "cuda_tile.reshape"):
            return None
        value = owner.operation.operands[0]
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
    trips = _binary("divi", _binary("subi", stop, lower), step, signedness="signed", rounding="positive_inf")
    # After the last iteration, the next number may not fit the type.
    rest = _extreme("mini", upper, _binary("addi", lower, _binary("muli", trips, step)))
    return tuple(_narrow(value, loop.lowerBound.type) for value in (stop, rest))


def _limit(mask: _Mask, lower: ir.Value) -> ir.Value:
    """The first i for which scale*i + scalars + high < bound does not hold."""
    signedness, value = mask.op.signedness, mask.value
    bound, scale = _wide(mask.bound, signedness), _number(value.scale)
    scalars = _number(0)
    for factor, scalar in value.scalars:
        scalars = _binary("addi", scalars, _binary("muli", _number(factor), _wide(scalar, signedness)))
    room = _binary("subi", _binary("addi", bound, _number(int(mask.or_equal) - value.high)), scalars)
    limit = _binary("divi", room, scale, signedness="signed", rounding="positive_inf")
    width = mask.op.lhs.type.element.width
    least = _number(-(1 << (width - 1)) if signedness == "signed" else 0)
    smallest = _binary("addi", _binary("muli", lower, scale), _binary("addi", scalars, _number(value.low)))
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


def _narrow(value: ir.Value, type: TileType) -> ir.Value:
    return build("trunci", [value], [type]).result


def _binary(name: str, lhs: ir.Value, rhs: ir.Value, **attributes: str) -> ir.Value:
    return build(name, [lhs, rhs], [lhs.type], attributes).result


def _extreme(name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return _binary(name, lhs, rhs, signedness="signed")
