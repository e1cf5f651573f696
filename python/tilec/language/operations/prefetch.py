"""The prefetch of tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.operands import AxisOrder, Index, Shape
    from tilec.language.operations.view import Array, TiledView


@kernel_function
def prefetch(array: Array | TiledView, /, index: Index, shape: Shape | None = None, *, order: AxisOrder = "C") -> None:
    """Asks for a tile of an array to be brought to the L2 cache, before a load of it; changes no result.

    TMA prefetches the tile (`cp.async.bulk.prefetch.tensor`). If it cannot address the array, or the index depends on
    memory, the prefetch is omitted, and a remark gives the reason. Loads in loops run ahead without it: it is for tiles
    that a later loop, or a later part of the kernel, reads.

    Args:
        array: the array, or a view of `Array.tiled_view`.
        index: one integer scalar per dimension, in tiles; a tile outside of the array has no effect.
        shape: the extents of the tile, one power of two per dimension; none for a view.
        order: "C", "F" or a permutation: the axis of the array that each axis of the tile corresponds to.

    Raises:
        TileTypeError: `array` is not an array or a tiled view, or `index`, `shape` or `order` does not match its rank.

    Example:
        >>> @ct.kernel
        ... def example(x, y):
        ...     ct.prefetch(x, ct.bid(0), 4)
        ...     ct.store(y, ct.bid(0), ct.load(x, ct.bid(0), 4))
        >>> y = np.zeros(4, np.int32)
        >>> ct.launch(None, 1, example, (np.arange(4, dtype=np.int32), y), backend="interpret")
        >>> y.tolist()
        [0, 1, 2, 3]
    """
