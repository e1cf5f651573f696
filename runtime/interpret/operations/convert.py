"""Conversions between element types."""

from __future__ import annotations

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.integer import limits, reading, wrap
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, ZERO, round_to
from tilec.runtime.interpret.operations.overflow import check_overflow
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step, TileType

Tile = np.ndarray

# PTX ISA 9.7.9.22: the NaN that cvt to f16 gives for any NaN of these types.
_EIGHT_BIT_FLOATS = ("f8E4M3FN", "f8E5M2")
_F16_NAN = np.array(0x7FFF, np.uint16).view(np.float16)


@interprets("bitcast", elementwise=True)
def _bitcast(op: Step, _machine: Machine, source: Tile) -> Tile:
    return op.element.from_bits(op.types[0].element.to_bits(source))


@interprets("tilex.bitcast", elementwise=True)
def _bitcast_code(op: Step, _machine: Machine, source: Tile) -> Tile:
    mask = (1 << min(element.width for element in (op.types[0].element, op.element))) - 1
    return op.element.from_bits(op.types[0].element.to_bits(source) & np.uint8(mask))


@interprets("exti", elementwise=True)
def _exti(op: Step, _machine: Machine, source: Tile) -> Tile:
    return wrap(reading(source, op.types[0].element, op["signedness"]), op.element)


@interprets("trunci", elementwise=True)
def _trunci(op: Step, machine: Machine, source: Tile) -> Tile:
    check_overflow(op, machine, source)
    return wrap(np.asarray(source), op.element)


@interprets("ftof", "tilex.ftof", elementwise=True)
def _ftof(op: Step, machine: Machine, source: Tile) -> Tile:
    origin, target, mode = op.types[0].element, op.element, op["rounding_mode"]
    # Tensor cores ignore the low 13 bits of an unconverted f32, which rounds it toward zero.
    if machine.truncate_tf32 and origin.name == "f32" and target.name == "tf32":
        mode = ZERO
    result = target.format.encode(round_to(origin.format.decode(source), target.format, mode))
    if target.name == "f16" and origin.name in _EIGHT_BIT_FLOATS:
        return np.where(np.isnan(result), _F16_NAN, result)
    return result


@interprets("ftoi", elementwise=True)
def _ftoi(op: Step, machine: Machine, source: Tile) -> Tile:
    """Clamps to the range of the integer type and converts NaN to 0: defined with `saturating`, else as a GPU does.

    A conversion to i1 compares with zero; NaN is true.
    """
    decoded = op.types[0].element.format.decode(source)
    if op.element.name == "i1":
        return decoded != 0
    values = np.trunc(decoded)
    low, high = limits(op.element, op["signedness"])
    # 2**63 - 1 is not an f64, but the first value above the range is one for every width.
    below, above, is_nan = values < float(low), values >= float(high + 1), np.isnan(values)
    outside = below | above | is_nan
    if not op["saturating"] and np.any(outside):
        found = np.asarray(values)[outside].flat[0]
        machine.undefined(undefined_behaviour.conversion(op["signedness"], str(op.element), found))
    kind = np.int64 if op["signedness"] == "signed" else np.uint64
    inside = np.where(outside, 0.0, values).astype(kind)
    clamped = np.where(below, kind(low), np.where(above, kind(high), inside))
    return wrap(clamped, op.element)


@interprets("itof", elementwise=True)
def _itof(op: Step, _machine: Machine, source: Tile) -> Tile:
    integers = np.asarray(reading(source, op.types[0].element, op["signedness"]))
    form = op.element.format
    if form.name == "f64":
        return integers.astype(np.float64)
    return form.encode(round_to(_to_odd(integers), form, NEAREST_EVEN))


def _to_odd(integers: Tile) -> Tile:
    """f64 values that round like the integers: bits beyond the 53 of the significand set its last bit."""
    negative = integers < 0
    raw = integers.astype(np.uint64)
    magnitude = np.where(negative, np.negative(raw), raw)
    low = np.uint64(2**11 - 1)
    sticky = np.where(magnitude & low != 0, np.uint64(2**11), np.uint64(0))
    shortened = np.where(magnitude < np.uint64(2**53), magnitude, (magnitude & ~low) | sticky)
    return np.where(negative, -1.0, 1.0) * shortened.astype(np.float64)


def _steps_per_byte(tile: TileType) -> np.uint64:
    return np.uint64(tile.element.target.steps_per_byte)


@interprets("int_to_ptr", elementwise=True)
def _int_to_ptr(op: Step, _machine: Machine, source: Tile) -> Tile:
    return np.asarray(source).view(np.uint64) * _steps_per_byte(op.result_types[0])


@interprets("ptr_to_int", elementwise=True)
def _ptr_to_int(op: Step, _machine: Machine, source: Tile) -> Tile:
    return np.asarray(source // _steps_per_byte(op.types[0])).view(np.int64)


@interprets("ptr_to_ptr", elementwise=True)
def _ptr_to_ptr(op: Step, _machine: Machine, source: Tile) -> Tile:
    return source // _steps_per_byte(op.types[0]) * _steps_per_byte(op.result_types[0])
