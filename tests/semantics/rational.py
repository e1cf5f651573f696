"""Number formats and rounding in Python integers and fractions: the reference of the vectors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

INFINITE, NAN = "infinite", "nan"
# A sign (0 or 1) and a magnitude.
Number = tuple[int, Fraction | str]


@dataclass(frozen=True)
class Format:
    """Field widths and bias; `special` is the encoding of infinity and NaN: ieee, one (all ones is NaN) or none."""

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    special: str = "ieee"
    signed: bool = True
    storage_bits: int = 0
    saturates: bool = False

    @property
    def bits(self) -> int:
        return self.signed + self.exponent_bits + self.fraction_bits

    @property
    def stored(self) -> int:
        return self.storage_bits or self.bits

    @property
    def shift(self) -> int:
        """The number of unused low bits in storage (tf32 is stored as f32)."""
        return self.stored - self.bits if self.storage_bits else 0


FORMATS = {
    f.name: f
    for f in (
        Format("f16", 5, 10, 15),
        Format("bf16", 8, 7, 127),
        Format("f32", 8, 23, 127),
        Format("f64", 11, 52, 1023),
        Format("tf32", 8, 10, 127, storage_bits=32),
        Format("f8E4M3FN", 4, 3, 7, "one", saturates=True),
        Format("f8E5M2", 5, 2, 15, saturates=True),
        Format("f8E8M0FNU", 8, 0, 127, "one", signed=False, saturates=True),
        Format("f4E2M1FN", 2, 1, 1, "none", saturates=True),
        Format("fnv8E5M3FNU", 5, 3, 15, "one", signed=False, saturates=True),
    )
}


def decode(form: Format, stored: int) -> Number:
    """The number of a code."""
    code = stored >> form.shift
    sign = code >> (form.exponent_bits + form.fraction_bits) if form.signed else 0
    exponent = code >> form.fraction_bits & (1 << form.exponent_bits) - 1
    fraction = code & (1 << form.fraction_bits) - 1
    top, ones = (1 << form.exponent_bits) - 1, (1 << form.fraction_bits) - 1
    if exponent == top and form.special == "ieee":
        return sign, NAN if fraction else INFINITE
    if exponent == top and fraction == ones and form.special == "one":
        return sign, NAN
    if form.name == "f8E8M0FNU":
        return 0, Fraction(2) ** (exponent - form.bias)
    significand = fraction + (exponent > 0) * (1 << form.fraction_bits)
    return sign, significand * Fraction(2) ** (max(exponent, 1) - form.bias - form.fraction_bits)


def largest_code(form: Format) -> int:
    """The code of the largest finite magnitude."""
    everything = (1 << form.exponent_bits + form.fraction_bits) - 1
    if form.special == "ieee":
        return everything - (1 << form.fraction_bits)
    return everything - (form.special == "one")


def special_code(form: Format, sign: int, special: str) -> int:
    """The code of an infinity or a NaN, or of its replacement if the format has none."""
    if special == NAN and form.special == "none":
        return largest_code(form)
    if special == INFINITE and (form.special != "ieee" or form.saturates):
        return _signed(form, sign, largest_code(form))
    everything = (1 << form.exponent_bits + form.fraction_bits) - 1
    infinite = everything - ((1 << form.fraction_bits) - 1)
    code = infinite if special == INFINITE else everything
    return _signed(form, sign if special == INFINITE else 0, code) << form.shift


def _signed(form: Format, sign: int, code: int) -> int:
    return code | (sign << form.exponent_bits + form.fraction_bits if form.signed else 0)


def encode(form: Format, number: Number, mode: str = "nearest_even") -> int:
    """The code that a number rounds to (IEEE 754 section 4.3), saturating for the formats that do."""
    sign, magnitude = number
    if isinstance(magnitude, str):
        return special_code(form, sign, magnitude)
    if sign and not form.signed:
        return 0
    if form.name == "f8E8M0FNU":
        return _encode_power(magnitude, mode)
    quantum = Fraction(2) ** (max(_exponent(magnitude), 1 - form.bias) - form.fraction_bits)
    steps = _steps(magnitude / quantum, mode, sign)
    if steps * quantum > decode(form, largest_code(form) << form.shift)[1]:
        toward_zero = mode == "zero" or (mode == "negative_inf" and not sign) or (mode == "positive_inf" and sign)
        if toward_zero or form.saturates:
            return _signed(form, sign, largest_code(form)) << form.shift
        return special_code(form, sign, INFINITE)
    # Codes are in the order of the magnitudes: the code is the number of steps plus the codes of lower exponents.
    exponent = max(_exponent(magnitude), 1 - form.bias) + form.bias - 1
    return _signed(form, sign, steps + (exponent << form.fraction_bits)) << form.shift


def _encode_power(magnitude: Fraction, mode: str) -> int:
    if magnitude < Fraction(2) ** -127:
        return 0
    exponent = _exponent(magnitude)
    up = mode == "positive_inf" and magnitude != Fraction(2) ** exponent
    return min(exponent + up + 127, 254)


def _exponent(magnitude: Fraction) -> int:
    """floor(log2(magnitude)); for zero a number below the exponents of every format."""
    if not magnitude:
        return -(10**6)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exponent - (Fraction(2) ** exponent > magnitude)


def _steps(steps: Fraction, mode: str, sign: int) -> int:
    below = floor(steps)
    if mode == "nearest_even":
        return round(steps)
    if mode == "nearest_away":
        return below + (steps - below >= Fraction(1, 2))
    away = mode == "positive_inf" and not sign or mode == "negative_inf" and sign
    return below + (bool(away) and steps != below)
