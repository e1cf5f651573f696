"""Functions of floating-point numbers, element by element; integers are taken as float32."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def exp(x, /, *, rounding_mode=None):
    """e to the x; RoundingMode.APPROX takes the fast form (float32)."""


@kernel_function
def exp2(x, /, *, flush_to_zero=False):
    """2 to the x."""


@kernel_function
def log(x, /):
    """The natural logarithm."""


@kernel_function
def log2(x, /):
    """The logarithm to base 2."""


@kernel_function
def sqrt(x, /, *, rounding_mode=None, flush_to_zero=False):
    """The square root."""


@kernel_function
def rsqrt(x, /, *, flush_to_zero=False):
    """One over the square root."""


@kernel_function
def sin(x, /):
    """The sine."""


@kernel_function
def cos(x, /):
    """The cosine."""


@kernel_function
def tan(x, /):
    """The tangent."""


@kernel_function
def sinh(x, /):
    """The hyperbolic sine."""


@kernel_function
def cosh(x, /):
    """The hyperbolic cosine."""


@kernel_function
def tanh(x, /, *, rounding_mode=None):
    """The hyperbolic tangent; RoundingMode.APPROX takes the fast form (float32)."""


@kernel_function
def atan2(x1, x2, /):
    """The angle of x1 / x2 in its quadrant."""


@kernel_function
def floor(x, /):
    """The greatest integral number not above x."""


@kernel_function
def ceil(x, /):
    """The least integral number not below x."""
