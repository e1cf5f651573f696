"""What signatures from calls and from text share: the default alignment, divisors of strides, values of constants."""

from __future__ import annotations

from math import gcd

from tilec.language.datatypes import DType
from tilec.runtime.arguments import ConstantValue, ElementConstant

# TMA and 16-byte vector accesses need this much (PTX ISA, tensor map and ld.global.v4).
DEFAULT_ALIGNMENT = 16


def elements_per(alignment: int, element: DType) -> int:
    """The number of elements of which a stride must be a multiple to be a multiple of `alignment` bytes."""
    return alignment * 8 // gcd(alignment * 8, element.bitwidth)


def constant_value(value: bool | int | float | str | None | DType) -> ConstantValue:
    """The form in which a signature holds a Python value."""
    return ElementConstant(value.element) if isinstance(value, DType) else value
