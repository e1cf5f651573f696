"""Products of f32 that are rounded to 16 bits, where both factors have 16 bits: the products of these factors.

    ftof (mulf (subf (itof %q), (itof %z)), (ftof %s)) : f32 -> f16
    ->  mulf (subf (itof %q), (itof %z)), %s : f16

The product of two f16, and that of a bf16 and an integer, are exact in f32, so that both forms round once. The product
of any two bf16 may be a subnormal f32, which is rounded before.
"""

from __future__ import annotations

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.element_types import element_type
from tilec.lowering.tile.analysis.bounds import Interval, read_as
from tilec.lowering.tile.analysis.constants import float_splat, splat_attribute
from tilec.lowering.tile.analysis.tile_operations import producer

_MOVES = ("broadcast", "reshape", "permute")
_TERMS = ("addf", "subf")
# Precision in bits: integers up to two to this power are exact.
_PRECISIONS = {"f16": 11, "bf16": 8}
_NEAREST = {"rounding_mode": "nearest_even"}


def narrowed_product(op: ir.OpView) -> ir.Value | None:
    """The product, or the integers, that a conversion `ftof` to 16 bits rounds; None if it is another value."""
    element = spell(op.to.type.element)
    if spell(op.from_.type.element) != "f32" or element not in _PRECISIONS or op.rounding_mode != "nearest_even":
        return None
    if _integers(op.from_, element) is not None:
        return _narrowed(op.from_, op.to.type.element)
    product = producer(op.from_, "mulf")
    if product is None or len(list(op.from_.uses)) > 1 or not _rounds_to_nearest(product):
        return None
    factors = product.lhs, product.rhs
    are_integers = [_integers(factor, element) is not None for factor in factors]
    if not all(known or _is_narrow(factor, element) for known, factor in zip(are_integers, factors, strict=True)):
        return None
    if element == "bf16" and not any(are_integers):
        return None
    narrow = [_narrowed(factor, op.to.type.element) for factor in factors]
    return build("mulf", narrow, [op.to.type], {**_NEAREST, "flush_to_zero": False}).result


def _rounds_to_nearest(op: ir.OpView) -> bool:
    return op.rounding_mode == "nearest_even" and not op.flush_to_zero


def _integers(value: ir.Value, element: str) -> Interval | None:
    """The integers that a tile of f32 has, if the type has all of them and of their terms; else None."""
    found = None
    if (op := producer(value, "itof", "constant", *_MOVES, *_TERMS)) is None:
        return None
    name = op.operation.name.removeprefix("cuda_tile.")
    if name == "itof":
        found = read_as(op.from_, op.signedness)
    elif name == "constant":
        number = splat_attribute(value)
        if number is not None and float(number.value).is_integer():
            found = Interval(int(number.value), int(number.value))
    elif name in _MOVES:
        found = _integers(op.source, element)
    elif _rounds_to_nearest(op) and (a := _integers(op.lhs, element)) is not None:
        b = _integers(op.rhs, element)
        if b is not None:
            found = (
                Interval(a.low + b.low, a.high + b.high) if name == "addf" else Interval(a.low - b.high, a.high - b.low)
            )
    largest = 1 << _PRECISIONS[element]
    return found if found is not None and -largest <= found.low and found.high <= largest else None


def _is_narrow(value: ir.Value, element: str) -> bool:
    """Whether a tile of f32 was converted from a float whose values the type has."""
    op = producer(value, "ftof", *_MOVES)
    if op is None:
        return False
    if op.operation.name != "cuda_tile.ftof":
        return _is_narrow(op.source, element)
    form, source = (element_type(name).float_format for name in (element, spell(op.from_.type.element)))
    return form is not None and source is not None and form.contains(source)


def _narrowed(value: ir.Value, element: ir.Type) -> ir.Value:
    """A tile of integers, or of converted floats, with the type."""
    op = value.owner
    type = TileType.get(list(value.type.shape), element)
    name = op.operation.name.removeprefix("cuda_tile.")
    if name == "constant":
        return float_splat(type, float(op.value.get_splat_value().value))
    if name == "ftof":
        return op.from_ if op.from_.type == type else build("ftof", [op.from_], [type], _NEAREST).result
    if name == "itof":
        return build("itof", [op.from_], [type], {**_NEAREST, "signedness": op.signedness}).result
    operands = [_narrowed(operand, element) for operand in op.operation.operands]
    return build(name, operands, [type], attributes_without_segments(op)).result
