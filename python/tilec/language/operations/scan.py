"""Inclusive scans: element i of the result reduces the elements up to i."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.modes import RoundingMode
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def cumsum(
    x: Operand,
    /,
    axis: int = 0,
    *,
    reverse: bool = False,
    rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """The cumulative sum along an axis.

    Args:
        x: the tile, of integers or floats.
        axis: the axis.
        reverse: whether to start at the end of the axis.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The sums, in the element type and shape of x.

    Raises:
        TileTypeError: x has element type bool, or the axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.cumsum(ct.arange(4, dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 1, 3, 6]
    """


@kernel_function
def cumprod(
    x: Operand,
    /,
    axis: int = 0,
    *,
    reverse: bool = False,
    rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """The cumulative product along an axis.

    Args:
        x: the tile, of integers or floats.
        axis: the axis.
        reverse: whether to start at the end of the axis.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The products, in the element type and shape of x.

    Raises:
        TileTypeError: x has element type bool, or the axis is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.cumprod(ct.arange(4, dtype=ct.int32) + 1, reverse=True))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [24, 24, 12, 4]
    """


@kernel_function
def scan(
    x: Operand | tuple[Operand, ...],
    /,
    axis: int,
    func: Callable[..., object],
    identity: Operand | tuple[Operand, ...],
    *,
    reverse: bool = False,
) -> Tile | tuple[Tile, ...]:
    """Scans tiles along one axis with a user-defined function.

    Args:
        x: a tile, or a tuple of n tiles of one shape that are scanned together.
        axis: the axis.
        func: combines two scalars into one; for n tiles it takes 2n scalars and returns n. It must be associative; the
            order of the elements is kept, and the later ones are the first argument.
        identity: the identity e of `func`, a constant: func(x, e) == func(e, x) == x. One per tile.
        reverse: whether to start at the end of the axis.

    Returns:
        The scanned tile, or a tuple of n of them.

    Raises:
        TileTypeError: shapes differ, or `func` does not return a scalar of the element type per tile.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     print(ct.scan(ct.astile((1, 4, 2, 8), dtype=ct.int32), 0, lambda x, y: max(x, y), 0))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 4, 4, 8]
    """
