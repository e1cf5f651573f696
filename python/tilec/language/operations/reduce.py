"""Reductions of tiles along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.modes import RoundingMode
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def sum(
    x: Operand,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """The sum of elements.

    Args:
        x: the tile, of integers or floats.
        axis: an axis or a tuple of axes; None reduces all axes.
        keepdims: whether reduced axes are kept with extent 1.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The sums in the element type of x; floats are added in an unspecified order.

    Raises:
        TileTypeError: x has element type bool, or an axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.arange(4, dtype=ct.int32).reshape((2, 2))
        ...     print(ct.sum(x), ct.sum(x, 0), ct.sum(x, 1, keepdims=True))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        6 [2, 4] [[1], [5]]
    """


@kernel_function
def prod(
    x: Operand,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """The product of elements.

    Args:
        x: the tile, of integers or floats.
        axis: an axis or a tuple of axes; None reduces all axes.
        keepdims: whether reduced axes are kept with extent 1.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The products in the element type of x; floats are multiplied in an unspecified order.

    Raises:
        TileTypeError: x has element type bool, or an axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.prod(ct.arange(4, dtype=ct.int32) + 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        24
    """


@kernel_function
def max(
    x: Operand,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    """The largest element.

    Args:
        x: the tile, of integers or floats.
        axis: an axis or a tuple of axes; None reduces all axes.
        keepdims: whether reduced axes are kept with extent 1.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.
        propagate_nan: whether the result is NaN if an element is; otherwise NaNs are ignored.

    Returns:
        The maxima in the element type of x.

    Raises:
        TileTypeError: x has element type bool, or an axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.max(ct.arange(4, dtype=ct.int32).reshape((2, 2)), axis=1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 3]
    """


@kernel_function
def min(
    x: Operand,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    """The smallest element.

    Args:
        x: the tile, of integers or floats.
        axis: an axis or a tuple of axes; None reduces all axes.
        keepdims: whether reduced axes are kept with extent 1.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.
        propagate_nan: whether the result is NaN if an element is; otherwise NaNs are ignored.

    Returns:
        The minima in the element type of x.

    Raises:
        TileTypeError: x has element type bool, or an axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.min(ct.arange(4, dtype=ct.int32).reshape((2, 2)), axis=1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 2]
    """


@kernel_function
def argmax(x: Operand, /, axis: int | None = None, *, keepdims: bool = False, propagate_nan: bool = False) -> Tile:
    """The index of the first largest element.

    Args:
        x: the tile, of integers or floats.
        axis: the axis; None searches the flattened tile.
        keepdims: whether the reduced axis is kept with extent 1.
        propagate_nan: whether the first NaN counts as the largest element; otherwise NaNs are ignored.

    Returns:
        The indices, int32.

    Raises:
        TileTypeError: x has element type bool, or the axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.argmax(ct.astile((3, 9, 1, 9), dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        1
    """


@kernel_function
def argmin(x: Operand, /, axis: int | None = None, *, keepdims: bool = False, propagate_nan: bool = False) -> Tile:
    """The index of the first smallest element.

    Args:
        x: the tile, of integers or floats.
        axis: the axis; None searches the flattened tile.
        keepdims: whether the reduced axis is kept with extent 1.
        propagate_nan: whether the first NaN counts as the smallest element; otherwise NaNs are ignored.

    Returns:
        The indices, int32.

    Raises:
        TileTypeError: x has element type bool, or the axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.argmin(ct.astile((3, 9, 1, 1), dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        2
    """


@kernel_function
def reduce(
    x: Operand | tuple[Operand, ...],
    /,
    axis: int,
    func: Callable[..., object],
    identity: Operand | tuple[Operand, ...],
    *,
    keepdims: bool = False,
) -> Tile | tuple[Tile, ...]:
    """Reduces tiles along one axis with a user-defined function.

    Args:
        x: a tile, or a tuple of n tiles of one shape that are reduced together.
        axis: the axis.
        func: combines two scalars into one; for n tiles it takes 2n scalars and returns n. It must be associative; the
            order of the elements is kept, and the later ones are the first argument.
        identity: the identity e of `func`, a constant: func(x, e) == func(e, x) == x. One per tile.
        keepdims: whether the reduced axis is kept with extent 1.

    Returns:
        The reduced tile, or a tuple of n of them.

    Raises:
        TileTypeError: shapes differ, or `func` does not return a scalar of the element type per tile.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.reduce(ct.arange(4, dtype=ct.int32), 0, lambda x, y: x | y, 0))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        3
    """
