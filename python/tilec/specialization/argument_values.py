"""Rules that signatures of calls and of text share: default alignment, divisors of strides, values of constants."""

from __future__ import annotations

from enum import Enum
from math import gcd

from tilec.language.datatypes import DType
from tilec.runtime.arguments.arguments import ConstantValue, ElementConstant, MemberConstant

# The Python values that may be constants of a kernel.
Constant = bool | int | float | str | Enum | None | DType

# In bytes: the alignment that TMA and 16-byte vector accesses require (PTX ISA, tensor map and ld.global.v4).
DEFAULT_ALIGNMENT = 16


def elements_per(alignment: int, element: DType) -> int:
    """The smallest number of elements whose total size is a multiple of `alignment` bytes."""
    return alignment * 8 // gcd(alignment * 8, element.bitwidth)


def constant_value(value: Constant) -> ConstantValue:
    """The representation of a Python value in a signature."""
    if isinstance(value, Enum):
        return MemberConstant.of(value)
    return ElementConstant(value.element) if isinstance(value, DType) else value
