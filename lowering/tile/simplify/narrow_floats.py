"""Operations on f32 whose operands were converted from 16 bits: the same operations on 16 bits.

    ftof (mulf (subf (itof %q), (itof %z)), (ftof %s)) : f32 -> f16
    ->  mulf (subf (itof %q), (itof %z)), %s : f16
    ftof (select (cmpf gt (ftof %h), 0.0), (ftof %x), 0.0) : f32 -> f16   ->   select (cmpf gt %h, 0.0), %x, 0.0 : f16

The product of two f16, and that of a bf16 and an integer, are exact in f32, so that both forms round once. The product
of any two bf16 may be a subnormal f32, which is rounded before. Choices and comparisons are exact in any format.
"""

from __future__ import annotations

import math

import numpy as np

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
# Operations that choose one of their values.
_CHOICES = ("select", "maxf", "minf")
# Precision in bits: integers up to two to this power are exact.
_PRECISIONS = {"f16": 11, "bf16": 8}
_NEAREST = {"rounding_mode": "nearest_even"}


def narrowed_conversion(op: ir.OpView) -> ir.Value | None:
    """The product, the choice or the integers that a conversion `ftof` to 16 bits rounds; None for other values."""
    element = spell(op.to.type.element)
    if spell(op.from_.type.element) != "f32" or element not in _PRECISIONS or op.rounding_mode != "nearest_even":
        return None
    is_choice = producer(op.from_, *_CHOICES) is not None and _is_narrow(op.from_, element)
    if is_choice or _integers(op.from_, element) is not None:
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


def narrowed_comparison(op: ir.OpView) -> ir.Value | None:
    """A comparison of 16-bit floats that are converted to f32 for comparisons alone; None for another one."""
    converted = [value for value in (op.lhs, op.rhs) if producer(value, "constant") is None]
    if spell(op.lhs.type.element) != "f32" or not converted or not all(map(_is_only_compared, converted)):
        return None
    for element in (each for each in _PRECISIONS if all(_is_narrow(value, each) for value in (op.lhs, op.rhs))):
        narrow = ir.Type.parse(element)
        operands = [_narrowed(value, narrow) for value in (op.lhs, op.rhs)]
        return build("cmpf", operands, [op.result.type], attributes_without_segments(op)).result
    return None


def _is_only_compared(value: ir.Value) -> bool:
    """Whether comparisons alone read a tile, and choices that nothing reads since they have 16 bits."""
    users = [use.owner.operation for use in value.uses]
    others = [user for user in users if user.name != "cuda_tile.cmpf"]
    return all(user.name.removeprefix("cuda_tile.") in _CHOICES and not list(user.results[0].uses) for user in others)


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
    """Whether a tile of f32 was converted from floats whose values the type has, or is a constant that it has."""
    op = producer(value, "ftof", "constant", *_CHOICES, *_MOVES)
    if op is None:
        return False
    name = op.operation.name.removeprefix("cuda_tile.")
    if name == "constant":
        return _is_number(splat_attribute(value), element)
    if name in _CHOICES:
        is_exact = len(list(value.uses)) == 1 and not getattr(op, "flush_to_zero", False)
        return is_exact and all(_is_narrow(each, element) for each in op.operands if each.type == value.type)
    if name != "ftof":
        return _is_narrow(op.source, element)
    form, source = (element_type(name).float_format for name in (element, spell(op.from_.type.element)))
    return form is not None and source is not None and form.contains(source)


def _is_number(number: ir.Attribute | None, element: str) -> bool:
    """Whether a type has a number, or a NaN."""
    if not isinstance(number, ir.FloatAttr):
        return False
    dtype, *_ = element_type(element).dtypes
    with np.errstate(over="ignore"):
        return math.isnan(number.value) or float(np.float64(number.value).astype(dtype)) == number.value


def _narrowed(value: ir.Value, element: ir.Type) -> ir.Value:
    """A tile of integers, of converted floats or of constants, with the type."""
    op = value.owner
    type = TileType.get(list(value.type.shape), element)
    name = op.operation.name.removeprefix("cuda_tile.")
    if name == "constant":
        return float_splat(type, float(op.value.get_splat_value().value))
    if name == "ftof":
        return op.from_ if op.from_.type == type else build("ftof", [op.from_], [type], _NEAREST).result
    if name == "itof":
        return build("itof", [op.from_], [type], {**_NEAREST, "signedness": op.signedness}).result
    operands = [
        _narrowed(each, element) if each.type.element == value.type.element else each for each in op.operation.operands
    ]
    return build(name, operands, [type], attributes_without_segments(op)).result
