"""Elementwise comparisons and selection; operands are promoted and broadcast as in arith.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def greater(x: Operand, y: Operand, /) -> Tile:
    """x > y.

    Args:
        x: the first operand.
        y: the second operand.

    Returns:
        A bool tile of the common shape; false where an operand is NaN.

    Raises:
        TileTypeError: the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.greater(ct.arange(4, dtype=ct.int32), 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 0, 1, 1]
    """


@kernel_function
def greater_equal(x: Operand, y: Operand, /) -> Tile:
    """x >= y.

    Args:
        x: the first operand.
        y: the second operand.

    Returns:
        A bool tile of the common shape; false where an operand is NaN.

    Raises:
        TileTypeError: the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.greater_equal(ct.arange(4, dtype=ct.int32), 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 1, 1, 1]
    """


@kernel_function
def less(x: Operand, y: Operand, /) -> Tile:
    """x < y.

    Args:
        x: the first operand.
        y: the second operand.

    Returns:
        A bool tile of the common shape; false where an operand is NaN.

    Raises:
        TileTypeError: the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.less(ct.arange(4, dtype=ct.int32), 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 0, 0, 0]
    """


@kernel_function
def less_equal(x: Operand, y: Operand, /) -> Tile:
    """x <= y.

    Args:
        x: the first operand.
        y: the second operand.

    Returns:
        A bool tile of the common shape; false where an operand is NaN.

    Raises:
        TileTypeError: the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.less_equal(ct.arange(4, dtype=ct.int32), 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 1, 0, 0]
    """


@kernel_function
def equal(x: Operand, y: Operand, /) -> Tile:
    """x == y.

    Args:
        x: the first operand.
        y: the second operand.

    Returns:
        A bool tile of the common shape; false where an operand is NaN.

    Raises:
        TileTypeError: the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     row = ct.arange(2, dtype=ct.int32)
        ...     print(ct.equal(row[:, None], row))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[1, 0], [0, 1]]
    """


@kernel_function
def not_equal(x: Operand, y: Operand, /) -> Tile:
    """x != y.

    Args:
        x: the first operand.
        y: the second operand.

    Returns:
        A bool tile of the common shape; true where an operand is NaN.

    Raises:
        TileTypeError: the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.not_equal(ct.arange(4, dtype=ct.int32), 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 0, 1, 1]
    """


@kernel_function
def isnan(x: Operand, /) -> Tile:
    """Whether x is not a number.

    Args:
        x: the operand, of floats.

    Returns:
        A bool tile of the shape of x.

    Raises:
        TileTypeError: x does not have a float type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.isnan(ct.sqrt(ct.arange(4, dtype=ct.float32, start=-1))))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 0, 0, 0]
    """


@kernel_function
def where(cond: Operand, x: Operand, y: Operand, /) -> Tile:
    """x where `cond` is true, else y.

    Args:
        cond: a bool tile.
        x: the elements where `cond` is true.
        y: the elements where it is false.

    Returns:
        The selected elements, in the common element type of x and y and the common shape of all operands.

    Raises:
        TileTypeError: `cond` does not have element type bool, or the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.arange(4, dtype=ct.int32, start=-2)
        ...     print(ct.where(x < 0, 0, x))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 0, 0, 1]
    """
