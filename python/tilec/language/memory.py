"""Between arrays in global memory and tiles; where a block stands in the grid."""

from __future__ import annotations

from pathlib import Path

from tilec.errors import CompileError
from tilec.language.modes import MemoryOrder, MemoryScope, PaddingMode
from tilec.language.stub import kernel_function


@kernel_function
def bid(axis):
    """The index of this block along `axis` (0, 1 or 2) of the grid, int32."""


@kernel_function
def num_blocks(axis):
    """The number of blocks along `axis` (0, 1 or 2) of the grid, int32."""


@kernel_function
def num_tiles(array, /, axis, shape, order="C"):
    """How many tiles of `shape` cover the array along `axis`, the last one perhaps in part, int32."""


def _load_on_host(*arguments, **keywords):
    # One name for two things that cannot be confused: on the host the only argument is a path.
    if len(arguments) != 1 or keywords or not isinstance(arguments[0], str | Path):
        raise CompileError("'load' of an array can be called inside a kernel only; on the host tilec.load takes a path")
    from tilec.runtime.artifact import load

    return load(arguments[0])


@kernel_function(on_host=_load_on_host)
def load(
    array,
    /,
    index,
    shape,
    *,
    order="C",
    padding_mode=PaddingMode.UNDETERMINED,
    check_bounds=True,
    latency=None,
    allow_tma=None,
    memory_order=MemoryOrder.WEAK,
    memory_scope=MemoryScope.NONE,
):
    """tile[x, y] = array[index[0] * shape[0] + x, index[1] * shape[1] + y]; outside the array what `padding_mode` says.

    `order` ("C", "F" or a permutation) says which axis of the array each axis of the tile runs along.
    On the host, `tilec.load(path)` is `tilec.load_artifact(path)`: a compiled kernel, read from its files.
    """


@kernel_function
def store(
    array,
    /,
    index,
    tile,
    *,
    order="C",
    check_bounds=True,
    latency=None,
    allow_tma=None,
    memory_order=MemoryOrder.WEAK,
    memory_scope=MemoryScope.NONE,
):
    """array[index[0] * tile.shape[0] + x, ...] = tile[x, ...]; elements outside the array are dropped.

    The tile is converted to the element type of the array where that loses nothing.
    """


@kernel_function
def gather(array, indices, /, *, mask=None, padding_value=0, check_bounds=True, latency=None):
    """result[i] = array[indices[0][i], indices[1][i], ...]; `padding_value` outside the array and the `mask`."""


@kernel_function
def scatter(array, indices, value, /, *, mask=None, check_bounds=True, latency=None):
    """array[indices[0][i], indices[1][i], ...] = value[i], where inside the array and in `mask`."""


@kernel_function
def assume_divisible_by(x, divisor):
    """`x`, with the promise that it is a multiple of the constant `divisor`; breaking it is undefined behaviour."""
