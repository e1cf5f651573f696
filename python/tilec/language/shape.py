"""Making tiles and changing their shapes. Shapes are constants, each extent a power of two."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def full(shape, fill_value, dtype):
    """A tile with one value everywhere."""


@kernel_function
def zeros(shape, dtype):
    """A tile of zeros."""


@kernel_function
def ones(shape, dtype):
    """A tile of ones."""


@kernel_function
def arange(size, /, *, dtype, start=0, step=1):
    """start, start + step, ... of the constant length `size`."""


@kernel_function
def broadcast_to(x, /, shape):
    """x repeated along axes of extent 1 and along new leading axes."""


@kernel_function
def reshape(x, /, shape):
    """The elements of x, in row-major order, in another shape; one extent may be -1."""


@kernel_function
def permute(x, /, axes):
    """Axis i of the result is axis axes[i] of x."""


@kernel_function
def transpose(x, /, axis0=None, axis1=None):
    """Two axes exchanged; of a matrix, both."""


@kernel_function
def expand_dims(x, /, axis):
    """x with a new axis of extent 1; also x[:, None]."""


@kernel_function
def cat(tiles, /, axis):
    """Two tiles one behind the other along `axis`."""


@kernel_function
def extract(x, /, index, shape):
    """The part of x at `index` of the grid of parts of `shape`."""


@kernel_function
def insert(x, /, index, value):
    """x with the part at `index` of the grid of parts of `value`'s shape replaced by `value`."""


@kernel_function
def astile(value, /, *, dtype):
    """The numbers of nested tuples as a tile."""
