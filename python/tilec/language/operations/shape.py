"""Functions that create tiles and change their shapes. Shapes are constants; each extent is a power of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.datatypes import DType
    from tilec.language.operations.operands import Index, Operand, Shape
    from tilec.language.operations.view import Tile


@kernel_function
def full(shape: Shape, fill_value: Operand, dtype: DType) -> Tile:
    """A tile in which every element has the same value.

    Args:
        shape: the extents.
        fill_value: the value, a scalar or a Python number; it is converted to `dtype` as by ct.astype: integers wrap,
            and 8- and 4-bit floats saturate, infinity too. A number out of range gives a ct.ConstantWarning.
        dtype: the element type.

    Returns:
        The tile.

    Raises:
        TileTypeError: an extent is not a constant power of two, or `fill_value` is not a scalar.
        TileValueError: a Python integer is out of range of every integer type, or is NaN or infinite as an integer.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.full((2, 2), 7, ct.int32))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[7, 7], [7, 7]]
    """


@kernel_function
def zeros(shape: Shape, dtype: DType) -> Tile:
    """A tile of zeros.

    Args:
        shape: the extents.
        dtype: the element type.

    Returns:
        The tile.

    Raises:
        TileTypeError: an extent is not a constant power of two, or `dtype` is not an element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.zeros((2, 2), ct.int32))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[0, 0], [0, 0]]
    """


@kernel_function
def ones(shape: Shape, dtype: DType) -> Tile:
    """A tile of ones.

    Args:
        shape: the extents.
        dtype: the element type.

    Returns:
        The tile.

    Raises:
        TileTypeError: an extent is not a constant power of two, or `dtype` is not an element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.ones(2, ct.float16))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1.000000, 1.000000]
    """


@kernel_function
def arange(size: int, /, *, dtype: DType, start: Operand = 0, step: Operand = 1) -> Tile:
    """start, start + step, start + 2 * step, ...

    Args:
        size: the number of elements, a constant power of two.
        dtype: the element type.
        start: the first element, a scalar or a Python number.
        step: the difference between consecutive elements, a scalar or a Python number.

    Returns:
        A tile of shape (size,).

    Raises:
        TileTypeError: `size` is not a constant power of two, or `dtype` is not an element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.arange(4, dtype=ct.int32, start=5, step=10))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [5, 15, 25, 35]
    """


@kernel_function
def broadcast_to(x: Operand, /, shape: Shape) -> Tile:
    """x repeated along its axes of extent 1 and along new leading axes.

    Args:
        x: the tile.
        shape: the extents of the result.

    Returns:
        A tile of that shape.

    Raises:
        TileTypeError: an extent of x is neither 1 nor equal to the extent of `shape`.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.broadcast_to(ct.arange(2, dtype=ct.int32), (2, 2)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[0, 1], [0, 1]]
    """


@kernel_function
def reshape(x: Operand, /, shape: Shape) -> Tile:
    """The elements of x in row-major order, in another shape.

    Args:
        x: the tile.
        shape: the extents of the result; one extent may be -1, and is then computed from the others.

    Returns:
        A tile of that shape.

    Raises:
        TileTypeError: the shapes differ in their number of elements, or more than one extent is -1.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.reshape(ct.arange(4, dtype=ct.int32), (2, -1)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[0, 1], [2, 3]]
    """


@kernel_function
def permute(x: Tile, /, axes: tuple[int, ...]) -> Tile:
    """The axes of x in another order.

    Args:
        x: the tile.
        axes: for each axis of the result the axis of x; negative axes count from the end.

    Returns:
        A tile in which axis i is axis axes[i] of x.

    Raises:
        TileTypeError: `axes` is not a permutation of the axes of x.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.arange(8, dtype=ct.int32).reshape((1, 2, 4))
        ...     print(ct.permute(x, (1, 0, 2)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]
    """


@kernel_function
def transpose(x: Tile, /, axis0: int | None = None, axis1: int | None = None) -> Tile:
    """x with two axes exchanged.

    Args:
        x: the tile, of at least two dimensions.
        axis0: the first axis; optional for a tile of two dimensions.
        axis1: the second axis; optional for a tile of two dimensions.

    Returns:
        The transposed tile.

    Raises:
        TileTypeError: x has one dimension, or more than two and no axes are passed.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.transpose(ct.arange(4, dtype=ct.int32).reshape((2, 2))))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[0, 2], [1, 3]]
    """


@kernel_function
def expand_dims(x: Operand, /, axis: int) -> Tile:
    """x with a new axis of extent 1; for one dimension, `x[:, None]` is equivalent to `expand_dims(x, 1)`.

    Args:
        x: the tile.
        axis: the position of the new axis in the result; negative positions count from the end.

    Returns:
        A tile with one more dimension.

    Raises:
        TileTypeError: `axis` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.expand_dims(ct.arange(2, dtype=ct.int32), 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[0], [1]]
    """


@kernel_function
def cat(tiles: tuple[Tile, ...], /, axis: int) -> Tile:
    """Two tiles concatenated along `axis`.

    Args:
        tiles: two tiles of one element type and shape, or one tile, which is the result.
        axis: the axis; a negative axis counts from the end.

    Returns:
        A tile whose extent along `axis` is twice that of each of two operands.

    Raises:
        TileTypeError: there are not one or two tiles, their types or shapes differ, or `axis` is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.cat((ct.zeros(2, ct.int32), ct.ones(2, ct.int32)), 0))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 0, 1, 1]
    """


@kernel_function
def extract(x: Tile, /, index: Index, shape: Shape) -> Tile:
    """A part of x, which is divided into parts of `shape`.

    Args:
        x: the tile.
        index: the index of the part, in parts, one integer scalar per dimension.
        shape: the extents of the part, one per dimension; () extracts one element as a scalar.

    Returns:
        A tile of that shape.

    Raises:
        TileTypeError: `shape` does not divide the shape of x, or the ranks differ.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.extract(ct.arange(8, dtype=ct.int32), 3, 2))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [6, 7]
    """


@kernel_function
def insert(x: Tile, /, index: Index, value: Operand) -> Tile:
    """A copy of x, divided into parts of the shape of `value`, in which one part is replaced.

    Args:
        x: the tile.
        index: the index of the part, in parts, one integer scalar per dimension.
        value: the new part, of the element type of x.

    Returns:
        A tile of the shape of x.

    Raises:
        TileTypeError: the shape of `value` does not divide that of x, or element types differ.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.insert(ct.zeros(4, ct.int32), 1, ct.ones(2, ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 0, 1, 1]
    """


@kernel_function
def astile(value: tuple[object, ...] | Operand, /, *, dtype: DType) -> Tile:
    """The numbers of nested tuples as a tile.

    Args:
        value: numbers or scalars in nested tuples, converted to `dtype` as by ct.astype; all tuples of a level have the
            same length, a power of two.
        dtype: the element type.

    Returns:
        A tile with one dimension per level of tuples.

    Raises:
        TileTypeError: the tuples of a level differ in length, or an item is not a scalar.
        TileValueError: an integer is out of range of every integer type, or a number is NaN or infinite as an integer.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.astile(((1, 2), (3, 5)), dtype=ct.int32))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[1, 2], [3, 5]]
    """
