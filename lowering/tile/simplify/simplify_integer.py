"""Simplifies integer operations to an operand, a constant, or a shorter operation: x + 0, x - x, exti(exti(x))."""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import Interval, bounds, exact_multiple, read_as
from tilec.lowering.tile.analysis.condition import decided, limits, width
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.replacing import Rule
from tilec.lowering.tile.analysis.sum_terms import constant_difference, only_term
from tilec.lowering.tile.analysis.tile_operations import operand_behind, producer

_SIGNED, _UNSIGNED = "signed", "unsigned"
_WIDE = 64
# Of integers shorter than 32 bits that constants may have: those of 4 bits have none.
_SHORT_WIDTHS = (1, 8, 16)
# By extension the numbers of 64 bits that numbers of 32 bits become.
_NARROW = {_SIGNED: (-(1 << 31), (1 << 31) - 1), _UNSIGNED: (0, (1 << 32) - 1)}

# Operands that violate an assumption (overflow<..>, a divisor of zero) make the result undefined: any value is right.


def _number(value: ir.Value) -> int | None:
    """The element of a splat constant as an unsigned number."""
    number = splat(value)
    return None if number is None else number & _ones(value)


def _ones(value: ir.Value) -> int:
    return (1 << width(value)) - 1


def _sum(op: ir.OpView) -> ir.Value | None:
    if _number(op.rhs) == 0:
        return op.lhs
    if _number(op.lhs) == 0:
        return op.rhs
    is_sum_of_sums = any(producer(operand, "addi", "subi") for operand in (op.lhs, op.rhs))
    return only_term(op.result) if is_sum_of_sums else None


def _difference(op: ir.OpView) -> ir.Value | None:
    if op.lhs == op.rhs:
        return integer_splat(op.result.type, 0)
    if _number(op.rhs) == 0:
        return op.lhs
    number = constant_difference(op.lhs, op.rhs)
    return only_term(op.result) if number is None else integer_splat(op.result.type, number)


def _product(op: ir.OpView) -> ir.Value | None:
    for factor, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if _number(factor) == 1:
            return other
        if _number(factor) == 0:
            return factor
    return None


def _quotient(op: ir.OpView) -> ir.Value | None:
    """The dividend if the divisor is 1, or a product with a smaller number."""
    if _is_one(op, op.rhs):
        return op.lhs
    product = _multiple(op)
    if product is None:
        return None
    factor, number = product
    return build("muli", [factor, integer_splat(op.result.type, number)], [op.result.type]).result


def _remainder(op: ir.OpView) -> ir.Value | None:
    is_multiple = _is_one(op, op.rhs) or _multiple(op) is not None
    return integer_splat(op.result.type, 0) if is_multiple else None


def _multiple(op: ir.OpView) -> tuple[ir.Value, int] | None:
    """A value and a number whose product is the quotient of a division without remainder; None for other divisions."""
    product = exact_multiple(op.lhs)
    divisor = None if product is None else splat(op.rhs)
    if product is None or divisor is None or divisor < 1 or product[1] < 0 or product[1] % divisor:
        return None
    factor, number = product
    return None if op.signedness == "unsigned" and bounds(factor).low < 0 else (factor, number // divisor)


def _is_one(op: ir.OpView, value: ir.Value) -> bool:
    # The one bit of a signed i1 means -1.
    return _number(value) == 1 and not (op.signedness == "signed" and width(value) == 1)


def _bitwise(op: ir.OpView) -> ir.Value | None:
    if op.lhs == op.rhs:
        return op.lhs
    neutral, absorbing = (_ones(op.lhs), 0) if op.operation.name == "cuda_tile.andi" else (0, _ones(op.lhs))
    for constant, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if _number(constant) == neutral:
            return other
        if _number(constant) == absorbing:
            return constant
    return None


def _exclusive(op: ir.OpView) -> ir.Value | None:
    if op.lhs == op.rhs:
        return integer_splat(op.result.type, 0)
    if _number(op.rhs) == 0:
        return op.lhs
    return op.rhs if _number(op.lhs) == 0 else None


def _extreme(op: ir.OpView) -> ir.Value | None:
    """The operand that never exceeds the other, by intervals."""
    if op.lhs == op.rhs:
        return op.lhs
    a, b = read_as(op.lhs, op.signedness), read_as(op.rhs, op.signedness)
    low, high = (op.lhs, op.rhs) if op.operation.name == "cuda_tile.mini" else (op.rhs, op.lhs)
    if a.high <= b.low:
        return low
    return high if b.high <= a.low else None


_EQUAL_HOLDS = ("equal", "less_than_or_equal", "greater_than_or_equal")


def _comparison(op: ir.OpView) -> ir.Value | None:
    """A constant if the operands are the same value or their intervals are disjoint, else a comparison of 32 bits."""
    predicate = op.comparison_predicate
    if op.lhs == op.rhs:
        return integer_splat(op.result.type, predicate in _EQUAL_HOLDS)
    known = decided(predicate, read_as(op.lhs, op.signedness), read_as(op.rhs, op.signedness))
    if known is not None:
        return integer_splat(op.result.type, known)
    return _narrow_comparison(op) or _comparison_with_number(op)


def _comparison_with_number(op: ir.OpView) -> ir.Value | None:
    """Compares short integers with a number, if only this needs their extension; i1 are the result, or its negation."""
    extension, number = producer(op.lhs, "exti"), splat(op.rhs)
    if extension is None or number is None or width(source := extension.from_) not in _SHORT_WIDTHS:
        return None
    low, high = limits(width(source), sign := extension.signedness)
    if not low <= number <= high or sign == _SIGNED != op.signedness:
        return None
    if width(source) > 1:
        if len(list(extension.result.uses)) > 1:
            return None
        attributes = {"comparison_predicate": op.comparison_predicate, "signedness": sign}
        return build("cmpi", [source, integer_splat(source.type, number)], [op.result.type], attributes).result
    numbers = (Interval(each, each) for each in (0, low or high))
    results = [decided(op.comparison_predicate, each, Interval(number, number)) for each in numbers]
    if results == [False, True]:
        return source
    return build("xori", [source, integer_splat(source.type, 1)], [source.type]).result if results[0] else None


def _narrow_comparison(op: ir.OpView) -> ir.Value | None:
    """Compares numbers of 64 bits before their extension from 32 bits, which keeps both orders.

    Indices have 32 bits, and cuTile extends them to compare them with the extents of an array.
    """
    common = _extensions(op.lhs) & _extensions(op.rhs)
    if not common:
        return None
    sign = op.signedness if _SIGNED in common else _UNSIGNED
    attributes = {"comparison_predicate": op.comparison_predicate, "signedness": sign}
    return build("cmpi", [_narrowed(op.lhs), _narrowed(op.rhs)], [op.result.type], attributes).result


def _extensions(value: ir.Value) -> set[str]:
    """The extensions from 32 to 64 bits that result in a value; none if it has other bits."""
    if width(value) != _WIDE:
        return set()
    number = splat(value)
    if number is not None:
        return {sign for sign, (low, high) in _NARROW.items() if low <= number <= high}
    source = operand_behind(value, "broadcast", "reshape")
    extension = producer(source, "exti")
    # Threads would exchange the elements of a tile that is repeated once more, in 32 bits beside 64.
    is_moved_twice = source != value and source.type.rank > 0
    if extension is None or is_moved_twice or width(extension.from_) != _WIDE // 2:
        return set()
    return set(_NARROW) if bounds(extension.from_).low >= 0 else {extension.signedness}


def _narrowed(value: ir.Value) -> ir.Value:
    """A value of 64 bits, which is extended, in 32 bits."""
    if (extension := producer(value, "exti")) is not None:
        return extension.from_
    type = TileType.get(value.type.shape, ir.IntegerType.get_signless(_WIDE // 2))
    if (number := splat(value)) is not None:
        return integer_splat(type, number)
    moved = producer(value, "broadcast", "reshape")
    assert moved is not None
    return build(moved.operation.name, [_narrowed(moved.source)], [type]).result


def _negation(op: ir.OpView) -> ir.Value | None:
    inner = producer(op.source, "negi")
    return None if inner is None else inner.source


def _extension(op: ir.OpView) -> ir.Value | None:
    """Merges two extensions; a sign extension after a zero extension is a zero extension."""
    inner = producer(op.from_, "exti")
    if inner is None or (inner.signedness, op.signedness) == ("signed", "unsigned"):
        return None
    return build("exti", [inner.from_], [op.to.type], {"signedness": inner.signedness}).result


def _truncation(op: ir.OpView) -> ir.Value | None:
    shorter = producer(op.from_, "trunci")
    if shorter is not None:
        return build("trunci", [shorter.from_], [op.to.type]).result
    wider = producer(op.from_, "exti")
    if wider is None:
        return None
    if wider.from_.type == op.to.type:
        return wider.from_
    if width(wider.from_) > width(op.to):
        return build("trunci", [wider.from_], [op.to.type]).result
    return build("exti", [wider.from_], [op.to.type], {"signedness": wider.signedness}).result


RULES: dict[str, Rule] = {
    "addi": _sum,
    "subi": _difference,
    "muli": _product,
    "divi": _quotient,
    "remi": _remainder,
    **dict.fromkeys(("shli", "shri"), lambda op: op.lhs if 0 in (_number(op.lhs), _number(op.rhs)) else None),
    "andi": _bitwise,
    "ori": _bitwise,
    "xori": _exclusive,
    "maxi": _extreme,
    "mini": _extreme,
    "cmpi": _comparison,
    "negi": _negation,
    "absi": lambda op: op.source if bounds(op.source).low >= 0 or producer(op.source, "absi") is not None else None,
    "exti": _extension,
    "trunci": _truncation,
}
