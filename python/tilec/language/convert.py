"""From one element type to another."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def astype(x, dtype, /, *, rounding_mode=None):
    """x in another element type, floats rounded to nearest even."""


@kernel_function
def bitcast(x, /, dtype):
    """The bits of x read as another element type of the same width."""
