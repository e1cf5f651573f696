"""Arithmetic, comparison and bits, element by element, broadcasting as numpy does."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def add(x, y, /, *, rounding_mode=None, flush_to_zero=False):
    """x + y."""


@kernel_function
def sub(x, y, /, *, rounding_mode=None, flush_to_zero=False):
    """x - y."""


@kernel_function
def mul(x, y, /, *, rounding_mode=None, flush_to_zero=False):
    """x * y."""


@kernel_function
def truediv(x, y, /, *, rounding_mode=None, flush_to_zero=False):
    """x / y, float32 where both are integers."""


@kernel_function
def floordiv(x, y, /):
    """x // y, rounded towards negative infinity."""


@kernel_function
def mod(x, y, /):
    """x % y, with the sign of y as in Python."""


@kernel_function
def divmod(x, y, /):
    """(x // y, x % y)."""


@kernel_function
def pow(x, y, /):
    """x ** y."""


@kernel_function
def minimum(x, y, /, *, flush_to_zero=False, propagate_nan=False):
    """The smaller of the two; a NaN loses, unless `propagate_nan`."""


@kernel_function
def maximum(x, y, /, *, flush_to_zero=False, propagate_nan=False):
    """The larger of the two; a NaN loses, unless `propagate_nan`."""


def cdiv(x, y, /):
    """x / y rounded up, of integers; on the host too."""
    return -(-x // y)


@kernel_function
def negative(x, /):
    """-x."""


@kernel_function
def abs(x, /):
    """The absolute value."""


@kernel_function
def greater(x, y, /):
    """x > y."""


@kernel_function
def greater_equal(x, y, /):
    """x >= y."""


@kernel_function
def less(x, y, /):
    """x < y."""


@kernel_function
def less_equal(x, y, /):
    """x <= y."""


@kernel_function
def equal(x, y, /):
    """x == y."""


@kernel_function
def not_equal(x, y, /):
    """x != y."""


@kernel_function
def isnan(x, /):
    """Whether x is not a number."""


@kernel_function
def bitwise_and(x, y, /):
    """x & y."""


@kernel_function
def bitwise_or(x, y, /):
    """x | y."""


@kernel_function
def bitwise_xor(x, y, /):
    """x ^ y."""


@kernel_function
def bitwise_lshift(x, y, /):
    """x << y."""


@kernel_function
def bitwise_rshift(x, y, /):
    """x >> y; the sign is kept where x is signed."""


@kernel_function
def bitwise_not(x, /):
    """All bits flipped."""


@kernel_function
def where(cond, x, y, /):
    """x where `cond` holds, else y."""
