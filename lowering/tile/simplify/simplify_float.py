"""Simplifies float operations that equal an operand or a cheaper operation: x * 1.0, x + -0.0, -(-x), x / 2.0,
x ** 2.0.

A replacement has the same value and sign for all operands, zeros, infinities and subnormals included, in the rounding
mode of the operation. Operations with flush_to_zero change subnormals and are left alone. Tile IR does not specify the
sign and payload of a NaN, so a replacement may forward those of the operand.
"""

from __future__ import annotations

import math

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.element_types import FloatFormat, element_type
from tilec.lowering.tile.analysis.bounds import read_as
from tilec.lowering.tile.analysis.constants import float_splat, splat, splat_attribute
from tilec.lowering.tile.analysis.replacing import Rule
from tilec.lowering.tile.analysis.tile_operations import producer
from tilec.lowering.tile.simplify.narrow_floats import narrowed_comparison, narrowed_conversion

_NEGATIVE_INF = "negative_inf"
_INTEGRAL = ("ceil", "floor")
_DIRECTED_OR_NEAREST = ("nearest_even", "zero", _NEGATIVE_INF, "positive_inf")


def _number(value: ir.Value) -> float | None:
    attribute = splat_attribute(value)
    return attribute.value if isinstance(attribute, ir.FloatAttr) else None


def _is_zero(value: ir.Value, negative: bool) -> bool:
    number = _number(value)
    return number == 0 and (math.copysign(1.0, number) < 0) == negative


def _attributes(op: ir.OpView) -> dict[str, str | bool]:
    return {"rounding_mode": op.rounding_mode, "flush_to_zero": op.flush_to_zero}


def _sum(op: ir.OpView) -> ir.Value | None:
    """IEEE 754, 6.3: x + -0.0 is x for every x, except when rounding down; there x + +0.0 is x for every x."""
    if op.flush_to_zero:
        return None
    negative = op.rounding_mode != _NEGATIVE_INF
    if _is_zero(op.rhs, negative):
        return op.lhs
    return op.rhs if _is_zero(op.lhs, negative) else None


def _difference(op: ir.OpView) -> ir.Value | None:
    """x - z is x + -z."""
    if op.flush_to_zero or not _is_zero(op.rhs, negative=op.rounding_mode == _NEGATIVE_INF):
        return None
    return op.lhs


def _product(op: ir.OpView) -> ir.Value | None:
    if op.flush_to_zero:
        return None
    for factor, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if _number(factor) == 1.0:
            return other
        if _number(factor) == -1.0:
            return build("negf", [other], [op.result.type]).result
    return None


def _quotient(op: ir.OpView) -> ir.Value | None:
    """x / 2^n is x * 2^-n: the exact results are equal, and so are the rounded ones."""
    if op.flush_to_zero or op.rounding_mode not in _DIRECTED_OR_NEAREST:
        return None
    divisor = _number(op.rhs)
    if divisor == 1.0:
        return op.lhs
    if divisor is None or not math.isfinite(divisor) or abs(math.frexp(divisor)[0]) != 0.5:
        return None
    form = _format(op.result.type)
    # frexp: the divisor is 2**(exponent - 1), its reciprocal 2**(1 - exponent); both must be normal numbers.
    exponent = math.frexp(divisor)[1] - 1
    if form is None or not all(form.min_exponent <= power <= form.max_exponent for power in (exponent, -exponent)):
        return None
    reciprocal = float_splat(op.rhs.type, 1.0 / divisor)
    return build("mulf", [op.lhs, reciprocal], [op.result.type], _attributes(op)).result


def _fused(op: ir.OpView) -> ir.Value | None:
    """fma with a factor of 1.0 is a sum; fma with a neutral addend is a product."""
    if op.flush_to_zero:
        return None
    for factor, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if _number(factor) == 1.0:
            return build("addf", [other, op.acc], [op.result.type], _attributes(op)).result
    if _is_zero(op.acc, negative=op.rounding_mode != _NEGATIVE_INF):
        return build("mulf", [op.lhs, op.rhs], [op.result.type], _attributes(op)).result
    return None


def _power(op: ir.OpView) -> ir.Value | None:
    """x to the power of 2 is x * x, which rounds once; a NaN, a zero and an infinity have the same result."""
    if _number(op.exponent) != 2.0:
        return None
    attributes = {"rounding_mode": "nearest_even", "flush_to_zero": False}
    return build("mulf", [op.source, op.source], [op.result.type], attributes).result


def _negation(op: ir.OpView) -> ir.Value | None:
    inner = producer(op.source, "negf")
    return None if inner is None else inner.source


def _magnitude(op: ir.OpView) -> ir.Value | None:
    if producer(op.source, "absf") is not None:
        return op.source
    inner = producer(op.source, "negf")
    return None if inner is None else build("absf", [inner.source], [op.result.type]).result


def _conversion(op: ir.OpView) -> ir.Value | None:
    """A conversion to a wider format and back is the identity.

    Excluded are formats of 8 bits and less, which saturate, and tf32, whose conversion clears the bits of memory below
    its last bit.
    """
    inner = producer(op.from_, "ftof")
    if inner is None or inner.from_.type != op.to.type or spell(op.to.type.element) == "tf32":
        return None
    narrow, wide = _format(op.to.type), _format(op.from_.type)
    if narrow is None or wide is None or not wide.contains(narrow):
        return None
    return inner.from_


def _from_integer(op: ir.OpView) -> ir.Value | None:
    """The float of a sum or difference of integers is that of their floats, if all three are exact and none wraps.

    Bytes then become floats of 16 bits in pairs (gpu_to_ptx/arithmetic/bit_fields.py).
    """
    term, form = producer(op.from_, "addi", "subi"), _format(op.to.type)
    if term is None or form is None or len(list(op.from_.uses)) > 1:
        return None
    if splat(term.lhs) is not None or splat(term.rhs) is not None:
        return None
    a, b = (read_as(each, op.signedness) for each in (term.lhs, term.rhs))
    is_sum = term.operation.name == "cuda_tile.addi"
    low, high = (a.low + b.low, a.high + b.high) if is_sum else (a.low - b.high, a.high - b.low)
    largest, bits = 1 << form.precision, ELEMENT_BITS[spell(op.from_.type.element)]
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if op.signedness == "signed" else (0, (1 << bits) - 1)
    if min(a.low, b.low, low) < -largest or max(a.high, b.high, high) > largest or low < least or high > most:
        return None
    floats = [_converted(each, op) for each in (term.lhs, term.rhs)]
    rounding = {"rounding_mode": "nearest_even", "flush_to_zero": False}
    return build("addf" if is_sum else "subf", floats, [op.to.type], rounding).result


def _converted(value: ir.Value, op: ir.OpView) -> ir.Value:
    """A term of an integer as the float that a conversion `op` has; repeated elements are converted once."""
    attributes = {"rounding_mode": op.rounding_mode, "signedness": op.signedness}
    repeated = producer(value, "broadcast")
    source = value if repeated is None else repeated.source
    type = TileType.get(list(source.type.shape), op.to.type.element)
    made = build("itof", [source], [type], attributes).result
    return made if repeated is None else build("broadcast", [made], [op.to.type]).result


def _format(tile: TileType) -> FloatFormat | None:
    """The format of a tile of floats of more than 8 bits."""
    form = element_type(spell(tile.element)).float_format
    return None if form is None or form.saturates else form


RULES: dict[str, Rule] = {
    "addf": _sum,
    "subf": _difference,
    "mulf": _product,
    "divf": _quotient,
    "fma": _fused,
    "fpowf": _power,
    **dict.fromkeys(("maxf", "minf"), lambda op: op.lhs if op.lhs == op.rhs and not op.flush_to_zero else None),
    "negf": _negation,
    "absf": _magnitude,
    **dict.fromkeys(_INTEGRAL, lambda op: op.source if producer(op.source, *_INTEGRAL) is not None else None),
    "ftof": lambda op: _conversion(op) or narrowed_conversion(op),
    "itof": _from_integer,
    "cmpf": narrowed_comparison,
}
