"""Conversions between element types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.datatypes import DType
    from tilec.language.modes import RoundingMode
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def astype(x: Operand, /, dtype: DType, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """The values of x in another element type.

    Args:
        x: the tile or number.
        dtype: the element type of the result.
        rounding_mode: the rounding of a conversion between float types; the default is to nearest, ties to even.

    Returns:
        A tile of the shape of x. Conversions of floats to integers truncate; a bool is true for any nonzero value.
        Integers keep their low bits. 8- and 4-bit floats saturate, as conversions of the hardware do: a value above the
        largest one becomes the largest one, infinity included, also in float8_e5m2.

    Raises:
        TileTypeError: `dtype` is not an element type, or a rounding mode is given and a type is not a float type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.astype(ct.arange(4, dtype=ct.float32) - 1.5, ct.int32))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-1, 0, 0, 1]
    """


@kernel_function
def bitcast(x: Operand, /, dtype: DType) -> Tile:
    """The bits of x as another element type of the same width.

    Args:
        x: the tile or number.
        dtype: the element type of the result.

    Returns:
        A tile of the shape of x.

    Raises:
        TileTypeError: the element types differ in width, or one is bool.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitcast(ct.ones(2, ct.float32), ct.int32))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1065353216, 1065353216]
    """


@kernel_function
def pack_to_bytes(x: Tile, /) -> Tile:
    """The bytes of x in row-major order, the least significant byte of each element first.

    Args:
        x: the tile.

    Returns:
        A uint8 tile of one dimension.

    Raises:
        TileTypeError: x is not a tile, or its size is not a multiple of 8 bits.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.pack_to_bytes(ct.full((2,), 0x0102, ct.int16)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [2, 1, 2, 1]
    """


@kernel_function
def unpack_from_bytes(x: Tile, /, dtype: DType) -> Tile:
    """Reinterprets bytes as elements of another type; the inverse of `pack_to_bytes`.

    Args:
        x: a uint8 tile of one dimension, the least significant byte of each element first.
        dtype: the element type of the result.

    Returns:
        A tile of one dimension.

    Raises:
        TileTypeError: x is not a uint8 tile of one dimension, or its size is not a multiple of the element size.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.unpack_from_bytes(ct.arange(4, dtype=ct.uint8), ct.int16))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [256, 770]
    """
