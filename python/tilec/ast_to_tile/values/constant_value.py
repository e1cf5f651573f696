"""Conversion of Python numbers to element types: integers wrap, floats are rounded once."""

from __future__ import annotations

import math

import numpy as np

from tilec.errors import TileValueError
from tilec.language.datatypes import DType
from tilec.runtime.interpret.numbers.float_format import FORMATS
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, round_to


def stored(number: bool | int | float, dtype: DType) -> bool | int | float:
    """`number` converted to `dtype` with the semantics of the run-time conversion.

    Raises CompileError for NaN or infinity as an integer, and for a negative number or NaN that a float type lacks.
    """
    if dtype.is_boolean:
        return bool(number)
    return _rounded(number, dtype) if dtype.is_float else wrapped(_truncated(number, dtype), dtype)


def replacement(number: bool | int | float, dtype: DType) -> bool | int | float | None:
    """The value that `dtype` stores instead of a number out of its range; None if it stores the number, or rounds it.

    Out of range are integers that wrap, fractions of integers, and floats that become infinite, finite or zero. Zero is
    never out of range: it is the default of paddings, also in types without zero.
    """
    if dtype.is_boolean or math.isnan(number) or not number:
        return None
    value = stored(number, dtype)
    if not dtype.is_float:
        return None if value == number else value
    form = FORMATS[dtype.element]
    half_unit = math.ldexp(0.5, form.max_exponent - form.precision + 1)
    if math.isinf(number):
        is_kept = math.isinf(value)
    else:
        is_kept = bool(value) == bool(number) and not math.isinf(value) and abs(number) - form.largest < half_unit
    return None if is_kept else value


def wrapped(integer: int, dtype: DType) -> int:
    """`integer` reduced to the range of an integer type: only its low bits are kept."""
    low = integer & ((1 << dtype.bitwidth) - 1)
    return low - (1 << dtype.bitwidth) if low > dtype.range[1] else low


def _truncated(number: bool | int | float, dtype: DType) -> int:
    try:
        return int(number)
    except (ValueError, OverflowError) as problem:
        raise TileValueError(f"cannot convert {number} to {dtype}: it has no integer value") from problem


def _rounded(number: bool | int | float, dtype: DType) -> float:
    form = FORMATS[dtype.element]
    if not form.has_sign and np.signbit(_to_odd(number)):
        raise TileValueError(f"cannot convert {number} to {dtype}: the type has no negative values")
    # OCP Microscaling Formats, section 5.3.3: floats of 4 and 6 bits have neither NaN nor infinity.
    if not form.has_nan and np.isnan(_to_odd(number)):
        raise TileValueError(f"cannot convert {number} to {dtype}: the type has no NaN")
    value = float(number) if form.name == "f64" else _to_odd(number)
    return float(form.decode(form.encode(round_to(np.asarray(value), form, NEAREST_EVEN))))


def _to_odd(number: bool | int | float) -> float:
    """The number rounded to odd at the precision of Python floats, which then rounds correctly to any float type."""
    if isinstance(number, float):
        return number
    excess = max(0, abs(number).bit_length() - FORMATS["f64"].precision)
    shortened = abs(number) >> excess
    if shortened << excess != abs(number):
        shortened |= 1
    return float(-(shortened << excess) if number < 0 else shortened << excess)
