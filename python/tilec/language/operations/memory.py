"""Loads and stores, and the functions of the grid."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tilec.errors import HostCallError
from tilec.language.kernel_function import kernel_function
from tilec.language.modes import MemoryOrder, MemoryScope, PaddingMode

if TYPE_CHECKING:
    from tilec.language.operations.im2col import Im2colView
    from tilec.language.operations.operands import AxisOrder, Index, IntegerScalar, Operand, Shape, SparseIndex
    from tilec.language.operations.packed import PackedView
    from tilec.language.operations.view import Array, Tile
    from tilec.runtime.artifact.artifact import Artifact
    from tilec.runtime.artifact.kernel_folder import KernelFolder


@kernel_function
def bid(axis: int) -> int:
    """The index of this block in the grid.

    Args:
        axis: the axis of the grid, 0, 1 or 2, a constant.

    Returns:
        An int32 scalar, from 0 to `num_blocks(axis) - 1`.

    Raises:
        TileTypeError: `axis` is not one of these constants.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.store(x, ct.bid(0), ct.bid(0) * 10)
        >>> x = np.zeros(3, np.int32)
        >>> ct.launch(None, 3, example, (x,), backend="interpret")
        >>> x
        array([ 0, 10, 20], dtype=int32)
    """


@kernel_function
def num_blocks(axis: int) -> int:
    """The number of blocks of the grid along an axis.

    Args:
        axis: the axis of the grid, 0, 1 or 2, a constant.

    Returns:
        An int32 scalar.

    Raises:
        TileTypeError: `axis` is not one of these constants.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.num_blocks(0), ct.num_blocks(1))
        >>> ct.launch(None, (1, 1), example, (), backend="interpret")
        1 1
    """


@kernel_function
def num_tiles(array: Array, /, axis: int, shape: Shape, order: AxisOrder = "C") -> int:
    """The number of tiles that cover an array along an axis; the last tile may extend beyond the array.

    Args:
        array: the array.
        axis: the axis of the tile, a constant.
        shape: the extents of a tile, one per dimension.
        order: "C", "F" or a permutation: the axis of the array that each axis of the tile corresponds to.

    Returns:
        An int32 scalar, or a constant if the extent of the array is constant.

    Raises:
        TileTypeError: `axis`, `shape` or `order` does not match the rank of the array.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.num_tiles(x, 0, (4,)))
        >>> ct.launch(None, 1, example, (np.zeros(9, np.int32),), backend="interpret")
        3
    """


def _load_on_host(*arguments: object, **keywords: object) -> Artifact | KernelFolder:
    # On the host `load` reads compiled kernels, and its only argument is a path.
    if len(arguments) != 1 or keywords or not isinstance(arguments[0], str | os.PathLike):
        raise HostCallError("'ct.load' of an array can be called inside a kernel only: on the host it takes a path")
    from tilec.runtime.artifact.kernel_folder import load

    return load(os.fspath(arguments[0]))


@kernel_function(on_host=_load_on_host)
def load(
    array: Array | Im2colView | PackedView,
    /,
    index: Index,
    shape: Shape | None = None,
    *,
    offset: Index | None = None,
    order: AxisOrder = "C",
    padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
    check_bounds: bool = True,
    latency: int | None = None,
    allow_tma: bool | None = None,
    memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.NONE,
) -> Tile:
    """tile[x, y] = array[index[0] * shape[0] + x, index[1] * shape[1] + y].

    On the host, `tilec.load(path)` reads a compiled kernel, as `tilec.load_artifact(path)` does, or the kernels of a
    folder that `tilec compile --folder` wrote, by name.

    Args:
        array: the array, or a view by `ct.im2col_view` or `ct.packed_view`, of which this is the method `load`.
        index: the index of the tile, in tiles, one integer scalar per dimension.
        shape: the extents of the tile, one constant power of two per dimension; () loads one element as a scalar. An
            im2col or packed view has a shape, and takes none.
        offset: for an im2col view, the tap, one integer scalar per spatial dimension.
        order: "C", "F" or a permutation: the axis of the array that each axis of the tile corresponds to.
        padding_mode: the value of elements outside the array.
        check_bounds: False asserts that the tile is inside the array; otherwise the behavior is undefined.
        latency: hint, from 1 (low) to 10 (high): the expected latency of the load.
        allow_tma: hint: whether TMA may be used.
        memory_order: WEAK, RELAXED or ACQUIRE.
        memory_scope: the scope of an order other than WEAK.

    Returns:
        A tile of the element type of the array.

    Raises:
        TileTypeError: `index`, `shape` or `order` does not match the rank of the array, an order has no scope, or an
            argument does not apply to the view.
        TileValueError: `latency` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.ZERO))
        >>> ct.launch(None, 1, example, (np.arange(6, dtype=np.int32),), backend="interpret")
        [4, 5, 0, 0]
    """


@kernel_function
def store(
    array: Array | Im2colView | PackedView,
    /,
    index: Index,
    tile: Operand,
    *,
    offset: Index | None = None,
    order: AxisOrder = "C",
    check_bounds: bool = True,
    latency: int | None = None,
    allow_tma: bool | None = None,
    memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.NONE,
) -> None:
    """array[index[0] * tile.shape[0] + x, index[1] * tile.shape[1] + y] = tile[x, y].

    Args:
        array: the array; elements of the tile outside of it are dropped. For a view by `ct.im2col_view` or
            `ct.packed_view`, this is the method `store` of the view.
        index: the index of the tile, in tiles, one integer scalar per dimension.
        tile: the tile; it is converted to the element type of the array if the conversion is lossless.
        offset: for an im2col view, the tap, one integer scalar per spatial dimension.
        order: "C", "F" or a permutation: the axis of the array that each axis of the tile corresponds to.
        check_bounds: False asserts that the tile is inside the array; otherwise the behavior is undefined.
        latency: hint, from 1 (low) to 10 (high): the expected latency of the store.
        allow_tma: hint: whether TMA may be used.
        memory_order: WEAK, RELAXED or RELEASE.
        memory_scope: the scope of an order other than WEAK.

    Raises:
        TileTypeError: the rank or element type of the tile does not match the array, an order has no scope, or an
            argument does not apply to the view.
        TileValueError: `latency` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.store(x, (1,), ct.ones((2,), ct.int32))
        >>> x = np.zeros(6, np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        >>> x
        array([0, 0, 1, 1, 0, 0], dtype=int32)
    """


@kernel_function
def gather(
    array: Array,
    indices: Index,
    /,
    *,
    mask: Operand | None = None,
    padding_value: Operand = 0,
    check_bounds: bool = True,
    latency: int | None = None,
) -> Tile:
    """result[i] = array[indices[0][i], indices[1][i], ...].

    Args:
        array: the array.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        mask: a bool tile that is true for the elements to load; None means all elements.
        padding_value: the result for elements outside the array or the mask.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        latency: hint, from 1 (low) to 10 (high): the expected latency of the load.

    Returns:
        A tile of the element type of the array and the common shape of the indices.

    Raises:
        TileTypeError: there is not one integer index per dimension, or shapes do not broadcast.
        TileValueError: `latency` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.gather(x, ct.arange(4, dtype=ct.int32, step=2), padding_value=-1))
        >>> ct.launch(None, 1, example, (np.arange(6, dtype=np.int32),), backend="interpret")
        [0, 2, 4, -1]
    """


@kernel_function
def scatter(
    array: Array,
    indices: Index,
    value: Operand,
    /,
    *,
    mask: Operand | None = None,
    check_bounds: bool = True,
    latency: int | None = None,
) -> None:
    """array[indices[0][i], indices[1][i], ...] = value[i].

    Args:
        array: the array; elements outside of it are dropped.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        value: the elements, broadcast to the common shape of the indices.
        mask: a bool tile that is true for the elements to store; None means all elements.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        latency: hint, from 1 (low) to 10 (high): the expected latency of the store.

    Raises:
        TileTypeError: there is not one integer index per dimension, or `value` does not match the array.
        TileValueError: `latency` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.scatter(x, ct.arange(4, dtype=ct.int32, step=2), 7)
        >>> x = np.zeros(6, np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        >>> x
        array([7, 0, 7, 0, 7, 0], dtype=int32)
    """


@kernel_function
def Slice(start: IntegerScalar, length: int, /) -> object:
    """The elements from `start` up to `start + length` along one dimension, for load_advanced_indexing.

    Args:
        start: the first element, an integer scalar.
        length: the number of elements, a constant power of two.

    Returns:
        An entry of the indices of load_advanced_indexing and store_advanced_indexing.

    Raises:
        TileTypeError: `start` is not an integer scalar, or `length` is not a constant power of two.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     rows = ct.arange(2, dtype=ct.int32) * 2
        ...     print(ct.load_advanced_indexing(x, (rows, ct.Slice(1, 2))))
        >>> ct.launch(None, 1, example, (np.arange(12, dtype=np.int32).reshape(3, 4),), backend="interpret")
        [[1, 2], [9, 10]]
    """


@kernel_function
def load_advanced_indexing(
    array: Array,
    indices: SparseIndex,
    /,
    *,
    padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
    latency: int | None = None,
    allow_tma: bool | None = None,
) -> Tile:
    """result[i, j] = array[indices[0][i], indices[1].start + j]: rows, or slices along another dimension, by index.

    Args:
        array: the array, of two dimensions or more.
        indices: one entry per dimension, in elements: an integer tile of one dimension for exactly one of them, and a
            `ct.Slice` for each other.
        padding_mode: the value of elements outside the array.
        latency: hint, from 1 (low) to 10 (high): the expected latency of the load.
        allow_tma: hint: whether TMA may be used.

    Returns:
        A tile whose extents are the number of indices and the lengths of the slices.

    Raises:
        TileTypeError: `indices` does not have such entries, or the array has fewer than two dimensions.
        TileValueError: `latency` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     rows = 3 - ct.arange(2, dtype=ct.int32)
        ...     print(ct.load_advanced_indexing(x, (rows, ct.Slice(0, 2)), padding_mode=ct.PaddingMode.ZERO))
        >>> ct.launch(None, 1, example, (np.arange(9, dtype=np.int32).reshape(3, 3),), backend="interpret")
        [[0, 0], [6, 7]]
    """


@kernel_function
def store_advanced_indexing(
    array: Array,
    indices: SparseIndex,
    tile: Operand,
    /,
    *,
    latency: int | None = None,
    allow_tma: bool | None = None,
) -> None:
    """array[indices[0][i], indices[1].start + j] = tile[i, j]; the elements of an index that repeats are undefined.

    Args:
        array: the array, of two dimensions or more; elements outside of it are dropped.
        indices: as for `load_advanced_indexing`.
        tile: a tile of the number of indices and the lengths of the slices; it is converted to the element type of the
            array if the conversion is lossless.
        latency: hint, from 1 (low) to 10 (high): the expected latency of the store.
        allow_tma: hint: whether TMA may be used.

    Raises:
        TileTypeError: `indices` does not have such entries, or the tile does not match them.
        TileValueError: `latency` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     rows = ct.arange(2, dtype=ct.int32) * 2
        ...     ct.store_advanced_indexing(x, (rows, ct.Slice(0, 2)), ct.ones((2, 2), ct.int32))
        >>> x = np.zeros((3, 2), np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        >>> x.tolist()
        [[1, 1], [0, 0], [1, 1]]
    """


@kernel_function
def assume_divisible_by(x: IntegerScalar, divisor: int) -> int:
    """x, assumed to be a multiple of `divisor`; if it is not, the behavior is undefined.

    Args:
        x: an integer scalar.
        divisor: a constant power of two.

    Returns:
        x; the compiler may use the assumption to vectorize accesses whose addresses depend on it.

    Raises:
        TileTypeError: x is not an integer scalar, or `divisor` is not a constant power of two.
        TileValueError: x is a constant that is not a multiple of `divisor`.

    Example:
        >>> @ct.kernel
        ... def example(n): print(ct.assume_divisible_by(n, 16) + 1)
        >>> ct.launch(None, 1, example, (64,), backend="interpret")
        65
    """
