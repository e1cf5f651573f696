"""Integer arithmetic of Tile IR on Python numbers; None where the operation is undefined or breaks its own promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less_than": lambda a, b: a < b,
    "less_than_or_equal": lambda a, b: a <= b,
    "greater_than": lambda a, b: a > b,
    "greater_than_or_equal": lambda a, b: a >= b,
}


def signed(number: int, bits: int) -> int:
    """The bits of a number read as a signed one."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def unsigned(number: int, bits: int) -> int:
    """The bits of a number read as an unsigned one."""
    return number & ((1 << bits) - 1)


def _read(op: Any, number: int, bits: int) -> int:
    return signed(number, bits) if op.signedness == "signed" else unsigned(number, bits)


def _kept(op: Any, a: int, b: int, exact: Callable[[int, int], int], bits: int) -> int | None:
    """The exact result where it wraps in no way that the operation promises against."""
    overflow = op.overflow
    result = exact(signed(a, bits), signed(b, bits))
    if overflow in ("no_signed_wrap", "no_wrap") and result != signed(result, bits):
        return None
    result = exact(unsigned(a, bits), unsigned(b, bits))
    if overflow in ("no_unsigned_wrap", "no_wrap") and result != unsigned(result, bits):
        return None
    return result


def _divided(op: Any, a: int, b: int, bits: int) -> int | None:
    a, b = _read(op, a, bits), _read(op, b, bits)
    if b == 0 or (op.signedness == "signed" and b == -1 and a == -(1 << (bits - 1))):
        return None
    if op.rounding == "negative_inf":
        return a // b
    if op.rounding == "positive_inf":
        return -(-a // b)
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def _remainder(op: Any, a: int, b: int, bits: int) -> int | None:
    a, b = _read(op, a, bits), _read(op, b, bits)
    if b == 0 or (op.signedness == "signed" and b == -1 and a == -(1 << (bits - 1))):
        return None
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def _shifted_left(op: Any, a: int, b: int, bits: int) -> int | None:
    amount = unsigned(b, bits)
    return None if amount >= bits else _kept(op, a, a, lambda x, _: x << amount, bits)


def _shifted_right(op: Any, a: int, b: int, bits: int) -> int | None:
    amount = unsigned(b, bits)
    return None if amount >= bits else _read(op, a, bits) >> amount


# From the operation, the bits of its operands and their width to the bits of the result, of any sign and size.
BINARY: dict[str, Callable[[Any, int, int, int], int | None]] = {
    "addi": lambda op, a, b, bits: _kept(op, a, b, lambda x, y: x + y, bits),
    "subi": lambda op, a, b, bits: _kept(op, a, b, lambda x, y: x - y, bits),
    "muli": lambda op, a, b, bits: _kept(op, a, b, lambda x, y: x * y, bits),
    "mulhii": lambda op, a, b, bits: unsigned(a, bits) * unsigned(b, bits) >> bits,
    "divi": _divided,
    "remi": _remainder,
    "maxi": lambda op, a, b, bits: max(_read(op, a, bits), _read(op, b, bits)),
    "mini": lambda op, a, b, bits: min(_read(op, a, bits), _read(op, b, bits)),
    "andi": lambda op, a, b, bits: a & b,
    "ori": lambda op, a, b, bits: a | b,
    "xori": lambda op, a, b, bits: a ^ b,
    "shli": _shifted_left,
    "shri": _shifted_right,
    "cmpi": lambda op, a, b, bits: int(_COMPARISONS[op.comparison_predicate](_read(op, a, bits), _read(op, b, bits))),
}


def _negated(op: Any, a: int, bits: int) -> int | None:
    least = signed(a, bits) == -(1 << (bits - 1))
    return None if least and op.overflow != "none" else -a


def _truncated(op: Any, a: int, bits: int) -> int | None:
    # A promise is checked against the width of the result, which only the caller knows: without one, bits go.
    return a if op.overflow == "none" else None


UNARY: dict[str, Callable[[Any, int, int], int | None]] = {
    "absi": lambda op, a, bits: abs(signed(a, bits)),
    "negi": _negated,
    "exti": lambda op, a, bits: _read(op, a, bits),
    "trunci": _truncated,
}
