"""From one element type to another."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def astype(x, dtype, /, *, rounding_mode=None):
    """x in another element type, floats rounded to nearest even."""


@kernel_function
def bitcast(x, /, dtype):
    """The bits of x read as another element type of the same width."""


@kernel_function
def pack_to_bytes(x, /):
    """The bytes of x, flattened, as uint8; the lower byte first."""


@kernel_function
def unpack_from_bytes(x, /, dtype):
    """A vector of bytes read as elements of another type; the inverse of `pack_to_bytes`."""
