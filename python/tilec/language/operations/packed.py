"""Views of rows of packed elements of 2, 4 or 6 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.datatypes import DType
from tilec.language.kernel_function import in_kernels_only, kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.operands import Index, Operand, Shape
    from tilec.language.operations.view import Array, Tile


class PackedView:
    """Bytes whose rows hold packed elements, in tiles with one byte for each element.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     view = ct.packed_view(x, bits=6, tile=(2, 4))
        ...     print(view.tile_shape, view.bits, view.num_tiles(0), view.num_tiles(1))
        >>> ct.launch(None, 1, example, (np.zeros((4, 6), np.uint8),), backend="interpret")
        (2, 4) 6 2 2
    """

    @property
    def dtype(self) -> DType:
        """The type of the elements of the tiles: that of the bytes of the array, or the `dtype` of the view."""
        in_kernels_only("dtype")

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The extents of each tile in elements, constants."""
        in_kernels_only("tile_shape")

    @property
    def bits(self) -> int:
        """The size of a packed element in bits, a constant."""
        in_kernels_only("bits")

    @kernel_function
    def num_tiles(self, axis: int) -> int:
        """The number of tiles along an axis.

        Args:
            axis: the axis, a constant.

        Returns:
            An int32 scalar, or a constant if the extent of the array is constant.

        Raises:
            TileTypeError: the axis is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): print(ct.packed_view(x, bits=4, tile=8).num_tiles(0))
            >>> ct.launch(None, 1, example, (np.zeros(9, np.uint8),), backend="interpret")
            3
        """

    @kernel_function
    def load(self, index: Index, *, latency: int | None = None) -> Tile:
        """The elements of a tile, with values from 0 to 2**bits - 1; zero outside of the array.

        An index beyond `num_tiles` is undefined behavior.

        Args:
            index: the number of the tile along each axis, integer scalars.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the load.

        Returns:
            A tile of shape `tile_shape` of the element type of the view.

        Raises:
            TileTypeError: `index` has another number of integer scalars.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): print(ct.packed_view(x, bits=4, tile=4).load(0))
            >>> ct.launch(None, 1, example, (np.array([0x21, 0x43], np.uint8),), backend="interpret")
            [1, 2, 3, 4]
        """

    @kernel_function
    def store(self, index: Index, tile: Operand, *, latency: int | None = None) -> None:
        """Writes the low bits of the elements of a tile where a load reads them; elements outside are dropped.

        Bits at the end of a row that are too few for an element become zero with the element before them.

        Args:
            index: the number of the tile along each axis, integer scalars.
            tile: the tile, broadcast to `tile_shape`.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the store.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or converted to the element type, or `index` has
                another number of integer scalars.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): ct.packed_view(x, bits=6, tile=4).store(0, ct.arange(4, dtype=ct.uint8))
            >>> x = np.zeros(3, np.uint8)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([64, 32, 12], dtype=uint8)
        """


@kernel_function
def packed_view(array: Array, /, *, bits: int | None = None, tile: Shape, dtype: DType | None = None) -> PackedView:
    """Rows of packed elements of 2, 4 or 6 bits as tiles with one byte, or one float of this size, for each element.

    Element e of a row is its bits from e * bits on, the lowest bits of a byte first: four elements of 6 bits are 3
    bytes. A row holds as many elements as its bits suffice for.

    Args:
        array: the bytes, of any rank, adjacent along the last axis.
        bits: the size of an element, 2, 4 or 6, a constant; tiles then have bytes.
        tile: the extents of each tile in elements, one constant power of two per dimension. A tile has whole bytes:
            the last extent is a multiple of 4, of 2 for 4 bits.
        dtype: in place of `bits`, the type of the elements of tiles: float6_e2m3fn, float6_e3m2fn or float4_e2m1fn.

    Returns:
        The view.

    Raises:
        TileTypeError: the array has other elements, or its bytes are not adjacent, or a parameter is not such a
            constant.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.load(ct.packed_view(x, bits=6, tile=(1, 4)), (0, 0)))
        >>> ct.launch(None, 1, example, (np.array([[64, 32, 12]], np.uint8),), backend="interpret")
        [[0, 1, 2, 3]]
        >>> @ct.kernel
        ... def example(x): print(ct.load(ct.packed_view(x, dtype=ct.float6_e3m2fn, tile=4), 0).astype(ct.float32))
        >>> ct.launch(None, 1, example, (np.array([64, 32, 12], np.uint8),), backend="interpret")
        [0.000000, 0.062500, 0.125000, 0.187500]
    """
