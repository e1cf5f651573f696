"""Constant folding: Python arithmetic for Python numbers, run-time arithmetic for typed constants."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tilec.ast_to_tile.values.constant_value import stored
from tilec.ast_to_tile.values.values import Number, TypedConstant
from tilec.errors import TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType

# Python would compute longer integers for any time, and allocate any memory.
MAXIMUM_BITS = 4096
# Any: the operand types of Python's operators depend on the operator.
Binary = Callable[[Any, Any], Any]

COMPARISONS: dict[str, Binary] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_PYTHON: dict[str, Binary] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "cdiv": lambda x, y: -(-x // y),
    "mod": operator.mod,
    "pow": operator.pow,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    **COMPARISONS,
}


def fold_numbers(name: str, x: Number, y: Number) -> Number:
    """x <name> y of two Python numbers, computed by Python; raises CompileError if Python raises."""
    if name == "mod" and isinstance(x, bool) and isinstance(y, bool):
        raise TileTypeError("booleans have no remainder: convert one to an integer with int()")
    if isinstance(x, int) and isinstance(y, int) and _bits_of(name, x, y) > MAXIMUM_BITS:
        raise TileValueError(f"the result of '{name}' of constants has more than {MAXIMUM_BITS} bits")
    return _evaluated(_PYTHON[name], x, y, (x, y))


def _bits_of(name: str, x: int, y: int) -> int:
    """An upper bound of the size of an integer result in bits, for the operations that make long integers."""
    if name == "mul":
        return x.bit_length() + y.bit_length()
    if name not in ("lshift", "pow") or y < 0 or x in (-1, 0, 1):
        return 0
    return x.bit_length() + y if name == "lshift" else x.bit_length() * y


def fold_typed(name: str, x: Number | TypedConstant, y: Number | TypedConstant, dtype: DType) -> TypedConstant:
    """x <name> y in `dtype`, the type to which the operands are promoted; at least one operand is typed.

    Raises CompileError for division by zero, a negative shift amount, a negative power of zero, or a power that is not
    real.
    """
    if name == "floordiv" and dtype.is_float:
        # The quotient is rounded before floor, as in the two run-time operations.
        return TypedConstant(float(np.floor(fold_typed("truediv", x, y, dtype).value)), dtype)
    lhs, rhs = (stored(_number(value), dtype) for value in (x, y))
    function = _FLOAT.get(name, _PYTHON[name]) if dtype.is_float else _INTEGER.get(name, _PYTHON[name])
    result = _evaluated(function, lhs, rhs, (_number(x), _number(y)))
    return TypedConstant(result, datatypes.bool_ if name in COMPARISONS else dtype)


def _number(value: Number | TypedConstant) -> Number:
    return value.value if isinstance(value, TypedConstant) else value


def _evaluated(function: Binary, x: Number, y: Number, written: tuple[Number, Number]) -> Number:
    try:
        result: Number = function(x, y)
        return result
    except (ArithmeticError, ValueError, TypeError) as problem:
        kind = TileTypeError if isinstance(problem, TypeError) else TileValueError
        raise kind(f"the constants {written[0]!r} and {written[1]!r}: {problem}") from problem


def _integer_power(base: int, exponent: int) -> int:
    if exponent < 0:
        return int(base**exponent)
    # Integers wrap at 64 bits at the latest, and the power itself could have billions of digits.
    return pow(base, exponent, 1 << datatypes.int64.bitwidth)


def _left_shift(value: int, amount: int) -> int:
    # No type has more than 64 bits: a larger shift yields zero, but Python would allocate every bit.
    return operator.lshift(value, min(amount, datatypes.int64.bitwidth))


def _remainder(x: float, y: float) -> float:
    """The exact remainder with the sign of `y`, computed by the same steps as on tiles."""
    remainder = math.fmod(x, y)
    return remainder + y if remainder and (remainder < 0) != (y < 0) else remainder


def _real_power(base: float, exponent: float) -> float:
    power = base**exponent
    if isinstance(power, complex):
        raise ValueError("the power is not a real number")
    return float(power)


def _smaller(x: float, y: float) -> float:
    """The smaller number; NaN is ignored, and -0.0 is less than 0.0."""
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    return min(x, y, key=lambda value: (value, math.copysign(1, value)))


def _larger(x: float, y: float) -> float:
    return -_smaller(-x, -y)


# Operations whose run-time semantics differ from Python arithmetic.
_INTEGER: dict[str, Binary] = {"pow": _integer_power, "lshift": _left_shift}
_FLOAT: dict[str, Binary] = {
    "mod": _remainder,
    "pow": _real_power,
    "min": _smaller,
    "max": _larger,
}
