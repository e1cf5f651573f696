"""The interfaces of arrays, tiled views and tiles in kernels. These classes are never instantiated on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tilec.language.datatypes import DType
from tilec.language.kernel_function import in_kernels_only, kernel_function
from tilec.language.modes import PaddingMode
from tilec.language.operations import convert
from tilec.language.operations import shape as shapes

if TYPE_CHECKING:
    from tilec.language.operations.foreign_pointer import ForeignPointer
    from tilec.language.operations.operands import Index, IntegerScalar, Operand, Shape
    from tilec.language.operations.raw_memory import RawArrayMemory


class Array:
    """An array in global memory, which kernels access in tiles.

    Example:
        >>> @ct.kernel
        ... def example(x): print(x.dtype, x.ndim, x.shape[0], x.strides[0])
        >>> ct.launch(None, 1, example, (np.zeros((3, 5), np.int16),), backend="interpret")
        int16 2 3 5
    """

    @property
    def dtype(self) -> DType:
        """The element type."""
        in_kernels_only("dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents: constants if they are known at compile time, else int32 scalars."""
        in_kernels_only("shape")

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements: constants if they are known at compile time, else int32 scalars."""
        in_kernels_only("strides")

    @property
    def ndim(self) -> int:
        """The number of dimensions, a constant."""
        in_kernels_only("ndim")

    @kernel_function
    def slice(self, axis: int, start: IntegerScalar, stop: IntegerScalar) -> Array:
        """The elements from `start` up to, but not including, `stop` along an axis; shares the memory of the array.

        Args:
            axis: the axis, a constant.
            start: the first index, in elements, from 0 to the extent.
            stop: the index after the last element, up to the extent; if it is less than `start`, the slice is empty.

        Returns:
            An array whose extent along `axis` is a constant if both bounds are constants.

        Raises:
            TileTypeError: a bound is not an integer scalar, the axis is out of range, a constant bound is negative, or
                a constant `stop` is less than a constant `start`.

        Example:
            >>> @ct.kernel
            ... def example(x): print(ct.load(x.slice(0, 2, 6), 1, 2))
            >>> ct.launch(None, 1, example, (np.arange(8, dtype=np.int32),), backend="interpret")
            [4, 5]
        """

    @kernel_function
    def tiled_view(
        self,
        tile_shape: Shape,
        *,
        padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
        traversal_steps: Shape | None = None,
    ) -> TiledView:
        """The array as a grid of tiles; tile (i, j) starts at (i * traversal_steps[0], j * traversal_steps[1]).

        Args:
            tile_shape: the extents of each tile, one constant power of two per dimension.
            padding_mode: the value of elements outside the array.
            traversal_steps: the distances between tiles in elements, `tile_shape` by default. Smaller distances make
                tiles overlap; larger distances leave gaps between them.

        Returns:
            The view.

        Raises:
            TileTypeError: `tile_shape` or `traversal_steps` does not match the rank of the array.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.tiled_view(4, traversal_steps=2).load(1))
            >>> ct.launch(None, 1, example, (np.arange(8, dtype=np.int32),), backend="interpret")
            [2, 3, 4, 5]
        """

    @property
    def foreign_pointer(self) -> ForeignPointer:
        """The address of the first element, from which `Array.from_foreign` makes an array."""
        in_kernels_only("foreign_pointer")

    @staticmethod
    @kernel_function
    def from_foreign(
        pointer: ForeignPointer, shape: tuple[IntegerScalar, ...], strides: tuple[IntegerScalar, ...]
    ) -> Array:
        """An array of the elements at a foreign pointer, with other extents and strides.

        Args:
            pointer: the address of the first element, `Array.foreign_pointer` of an array.
            shape: the extents in elements, constants of at least 0 or signed integer scalars.
            strides: the distances in elements along each dimension, constants of at least 0 or signed integer scalars.

        Returns:
            An array that shares the memory at the pointer. Its extents and strides are of 64 bits if one of them is.

        Raises:
            TileTypeError: `pointer` is not a foreign pointer, `shape` and `strides` do not have the same length, or one
                of their items is not a signed integer or is a negative constant.

        Example:
            >>> @ct.kernel
            ... def example(x):
            ...     transposed = ct.Array.from_foreign(x.foreign_pointer, (3, 2), (1, 3))
            ...     print(ct.load(transposed, (0, 0), (2, 2)))
            >>> ct.launch(None, 1, example, (np.arange(6, dtype=np.int32).reshape(2, 3),), backend="interpret")
            [[0, 3], [1, 4]]
        """

    @kernel_function
    def get_raw_memory(self) -> RawArrayMemory:
        """The memory of the array, accessed by offsets in elements from its first element.

        Returns:
            An object whose loads, stores and atomic updates apply neither extents nor strides.

        Raises:
            TileTypeError: an argument is given.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().load_offset(ct.arange(2, dtype=ct.int32) + 3))
            >>> ct.launch(None, 1, example, (np.arange(6, dtype=np.int32).reshape(2, 3),), backend="interpret")
            [3, 4]
        """


class TiledView:
    """A grid of tiles over an array.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     view = x.tiled_view((2, 4))
        ...     print(view.tile_shape, view.num_tiles(0), view.num_tiles(1))
        >>> ct.launch(None, 1, example, (np.zeros((6, 9)),), backend="interpret")
        (2, 4) 3 3
    """

    @property
    def dtype(self) -> DType:
        """The element type of the array."""
        in_kernels_only("dtype")

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The extents of each tile, constants."""
        in_kernels_only("tile_shape")

    @property
    def traversal_steps(self) -> tuple[int, ...]:
        """The distances between consecutive tiles in elements, constants."""
        in_kernels_only("traversal_steps")

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
            ... def example(x): print(x.tiled_view(4).num_tiles(0))
            >>> ct.launch(None, 1, example, (np.zeros(9),), backend="interpret")
            3
        """

    @kernel_function
    def load(
        self,
        index: Index,
        *,
        check_bounds: bool = True,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> Tile:
        """The tile at a position of the grid.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            check_bounds: False asserts that the tile is inside the array; otherwise the behavior is undefined.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the load.
            allow_tma: hint: whether TMA may be used.

        Returns:
            A tile of shape `tile_shape`.

        Raises:
            TileTypeError: `index` does not have one integer scalar per dimension.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.tiled_view(4, padding_mode=ct.PaddingMode.ZERO).load(1))
            >>> ct.launch(None, 1, example, (np.arange(6, dtype=np.int32),), backend="interpret")
            [4, 5, 0, 0]
        """

    @kernel_function
    def store(
        self,
        index: Index,
        tile: Operand,
        *,
        check_bounds: bool = True,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Writes a tile at a position of the grid; elements outside the array are dropped.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            tile: the tile, broadcast to `tile_shape`.
            check_bounds: False asserts that the tile is inside the array; otherwise the behavior is undefined.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the store.
            allow_tma: hint: whether TMA may be used.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or converted to the element type.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).store(1, 5)
            >>> x = np.zeros(6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([0, 0, 5, 5, 0, 0], dtype=int32)
        """

    @kernel_function
    def atomic_store_add(self, index: Index, update: Operand, /) -> None:
        """Adds `update` to the tile at a position of the grid, element by element.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of 32-bit or 64-bit integers or floats, float16 or bfloat16.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the tile, broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or converted to the element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_add(1, 3)
            >>> x = np.zeros(6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([0, 0, 3, 3, 0, 0], dtype=int32)
        """

    @kernel_function
    def atomic_store_max(self, index: Index, update: Operand, /) -> None:
        """Writes the larger of each element of the tile at a position of the grid and `update`.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of 32-bit or 64-bit integers.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the tile, broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or converted to the element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_max(1, 3)
            >>> x = np.zeros(6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([0, 0, 3, 3, 0, 0], dtype=int32)
        """

    @kernel_function
    def atomic_store_min(self, index: Index, update: Operand, /) -> None:
        """Writes the smaller of each element of the tile at a position of the grid and `update`.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of 32-bit or 64-bit integers.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the tile, broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or converted to the element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_min(1, -3)
            >>> x = np.zeros(6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([ 0,  0, -3, -3,  0,  0], dtype=int32)
        """

    @kernel_function
    def atomic_store_and(self, index: Index, update: Operand, /) -> None:
        """Clears the bits of the tile at a position of the grid that are not set in `update`.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of 32-bit or 64-bit integers.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the tile, of the element type of the view or a Python number; broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or has another element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_and(1, 3)
            >>> x = np.full(6, 6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([6, 6, 2, 2, 6, 6], dtype=int32)
        """

    @kernel_function
    def atomic_store_or(self, index: Index, update: Operand, /) -> None:
        """Sets the bits of `update` in the tile at a position of the grid.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of 32-bit or 64-bit integers.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the tile, of the element type of the view or a Python number; broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or has another element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_or(1, 3)
            >>> x = np.zeros(6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([0, 0, 3, 3, 0, 0], dtype=int32)
        """

    @kernel_function
    def atomic_store_xor(self, index: Index, update: Operand, /) -> None:
        """Inverts the bits of `update` in the tile at a position of the grid.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of 32-bit or 64-bit integers.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the tile, of the element type of the view or a Python number; broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or has another element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_xor(1, 3)
            >>> x = np.zeros(6, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([0, 0, 3, 3, 0, 0], dtype=int32)
        """

    @kernel_function
    def atomic_store_inc(self, index: Index, update: Operand, /) -> None:
        """Adds 1 to each element of a tile below the bound `update`, and sets the others to 0.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of uint32.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the bounds, a tile of uint32 or a Python number; broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or has another element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_inc(1, 3)
            >>> x = np.array([1, 1, 2, 3], np.uint32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([1, 1, 3, 0], dtype=uint32)
        """

    @kernel_function
    def atomic_store_dec(self, index: Index, update: Operand, /) -> None:
        """Subtracts 1 from each element of a tile from 1 to the bound `update`, and sets the others to it.

        Each element is updated atomically, with relaxed order at device scope; elements outside the array are dropped.
        The array is of uint32.

        Args:
            index: the index of the tile, one integer scalar per dimension.
            update: the bounds, a tile of uint32 or a Python number; broadcast to `tile_shape`.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or has another element type, or
                the array has elements of another type.

        Example:
            >>> @ct.kernel
            ... def example(x): x.tiled_view(2).atomic_store_dec(1, 3)
            >>> x = np.array([1, 1, 2, 0], np.uint32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([1, 1, 1, 3], dtype=uint32)
        """


class Tile:
    """An immutable block of elements whose shape is known at compile time; a scalar has shape ().

    Operators are elementwise, and promote and broadcast their operands like the functions ct.add, ct.less, ...

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.arange(4, dtype=ct.int32)
        ...     print(x.dtype, x.shape, x.ndim, -x * 2 + 1, x >= 2)
        >>> ct.launch(None, 1, example, (), backend="interpret")
        int32 (4,) 1 [1, -1, -3, -5] [0, 0, 1, 1]
    """

    @property
    def dtype(self) -> DType:
        """The element type."""
        in_kernels_only("dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, constants."""
        in_kernels_only("shape")

    @property
    def ndim(self) -> int:
        """The number of dimensions, a constant."""
        in_kernels_only("ndim")

    # Functions whose first parameter is a tile are also methods.
    astype = convert.astype
    extract = shapes.extract
    insert = shapes.insert
    reshape = shapes.reshape
    permute = shapes.permute
    transpose = shapes.transpose

    @kernel_function
    def item(self) -> Tile:
        """The only element, as a scalar.

        Returns:
            A tile of shape ().

        Raises:
            TileTypeError: the tile has more than one element.

        Example:
            >>> @ct.kernel
            ... def example(): print(ct.full((1, 1), 7, ct.int32).item())
            >>> ct.launch(None, 1, example, (), backend="interpret")
            7
        """

    def _binary(self, other: Tile | float, /) -> Tile:
        """The elementwise result; a number is converted to the element type of the tile."""
        in_kernels_only("operators of tiles")

    def _unary(self) -> Tile:
        """The elementwise result."""
        in_kernels_only("operators of tiles")

    def __getitem__(self, index: object) -> Tile:
        """The tile with dimensions of extent 1 inserted where the index is None; the other items are `:` or `...`."""
        in_kernels_only("operators of tiles")

    def __index__(self) -> int:
        """A scalar as an index of another tile or as a bound of `range`."""
        in_kernels_only("operators of tiles")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _binary
    __divmod__ = __rdivmod__ = _binary
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _binary
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _binary
    __lt__ = __le__ = __gt__ = __ge__ = _binary
    __eq__ = __ne__ = _binary  # type: ignore[assignment]
    __neg__ = __pos__ = __invert__ = _unary


# A scalar of a kernel, for annotations of functions: a number, or a tile of shape ().
Scalar: TypeAlias = bool | int | float | Tile
