"""Elementwise arithmetic functions, which broadcast their operands as numpy does.

Operands are tiles, scalars or Python numbers. Element types are promoted to their common type; a Python number has the
element type of the other operand unless its category is higher. The result of two constants is a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.modes import RoundingMode
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def add(x: Operand, y: Operand, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x + y.

    Args:
        x: the first operand, of integers or floats.
        y: the second operand.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The sums in the common element type and shape; integers wrap around.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.add(ct.arange(4, dtype=ct.int32), 10), ct.arange(2, dtype=ct.int32) + 0.5)
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [10, 11, 12, 13] [0.500000, 1.500000]
    """


@kernel_function
def sub(x: Operand, y: Operand, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x - y.

    Args:
        x: the minuend, of integers or floats.
        y: the subtrahend.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The differences in the common element type and shape; integers wrap around.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.sub(1, ct.arange(4, dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 0, -1, -2]
    """


@kernel_function
def mul(x: Operand, y: Operand, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x * y.

    Args:
        x: the first factor, of integers or floats.
        y: the second factor.
        rounding_mode: RN (the default), RZ, RM or RP; floats only.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The products in the common element type and shape; integers wrap around.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     row = ct.arange(2, dtype=ct.int32) + 1
        ...     print(ct.mul(row[:, None], row * 10))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[10, 20], [20, 40]]
    """


@kernel_function
def truediv(
    x: Operand, y: Operand, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False
) -> Tile:
    """x / y.

    Args:
        x: the dividend, of integers or floats.
        y: the divisor.
        rounding_mode: RN (the default), RZ, RM or RP; for float32 also FULL or APPROX, which are faster.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The quotients in the common element type; float32 if both operands are integers.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: both operands are constants and the divisor is zero.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.truediv(ct.arange(4, dtype=ct.int32), 2))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 0.500000, 1.000000, 1.500000]
    """


@kernel_function
def floordiv(x: Operand, y: Operand, /) -> Tile:
    """x // y, rounded towards negative infinity.

    Args:
        x: the dividend, of integers or floats.
        y: the divisor.

    Returns:
        The quotients in the common element type and shape.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: both operands are constants and the divisor is zero.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.floordiv(ct.arange(4, dtype=ct.int32, start=-4), 3))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-2, -1, -1, -1]
    """


@kernel_function
def mod(x: Operand, y: Operand, /) -> Tile:
    """x % y, with the sign of y as in Python.

    Args:
        x: the dividend, of integers or floats.
        y: the divisor.

    Returns:
        The remainders in the common element type and shape.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: both operands are constants and the divisor is zero.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.mod(ct.arange(4, dtype=ct.int32, start=-4), 3))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [2, 0, 1, 2]
    """


@kernel_function
def divmod(x: Operand, y: Operand, /) -> tuple[Tile, Tile]:
    """(x // y, x % y) of integers.

    Args:
        x: the dividend.
        y: the divisor.

    Returns:
        The quotients and the remainders, in the common element type and shape.

    Raises:
        TileTypeError: an operand does not have an integer type, or the element types or shapes are incompatible.
        TileValueError: both operands are constants and the divisor is zero.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     row, column = ct.divmod(ct.arange(4, dtype=ct.int32), 2)
        ...     print(row, column)
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 0, 1, 1] [0, 1, 0, 1]
    """


@kernel_function
def pow(x: Operand, y: Operand, /) -> Tile:
    """x ** y of floats.

    Args:
        x: the base.
        y: the exponent.

    Returns:
        The powers in the common element type and shape; NaN for a negative base and a fractional exponent.

    Raises:
        TileTypeError: both operands are integers and one is a tile, or the element types or shapes are incompatible.
        TileValueError: both operands are constants and their power is not a real number.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.pow(ct.arange(4, dtype=ct.float32), 2))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 1.000000, 4.000000, 9.000000]
    """


@kernel_function
def minimum(x: Operand, y: Operand, /, *, flush_to_zero: bool = False, propagate_nan: bool = False) -> Tile:
    """The smaller of x and y.

    Args:
        x: the first operand, of integers or floats.
        y: the second operand.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.
        propagate_nan: whether the result is NaN if an operand is; otherwise the result is the other operand.

    Returns:
        The minima in the common element type and shape.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.minimum(ct.arange(4, dtype=ct.int32), 2))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 1, 2, 2]
    """


@kernel_function
def maximum(x: Operand, y: Operand, /, *, flush_to_zero: bool = False, propagate_nan: bool = False) -> Tile:
    """The larger of x and y.

    Args:
        x: the first operand, of integers or floats.
        y: the second operand.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.
        propagate_nan: whether the result is NaN if an operand is; otherwise the result is the other operand.

    Returns:
        The maxima in the common element type and shape.

    Raises:
        TileTypeError: an operand is a bool tile, or the element types or shapes are incompatible.
        TileValueError: a Python number is out of range of the other operand's element type.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.full((2,), float("nan"), ct.float32)
        ...     print(ct.maximum(x, 1), ct.maximum(x, 1, propagate_nan=True))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1.000000, 1.000000] [nan, nan]
    """


def cdiv(x: int, y: int, /) -> int:
    """x / y rounded up, for integers; also available on the host, to compute the number of blocks of a grid.

    Args:
        x: the dividend.
        y: the divisor.

    Returns:
        The least integer that is at least x / y; in a kernel a tile if an operand is a tile.

    Raises:
        ZeroDivisionError: on the host, the divisor is zero.
        TileTypeError: in a kernel, an operand does not have an integer type.

    Example:
        >>> ct.cdiv(1000, 128)
        8
    """
    return -(-x // y)


@kernel_function
def negative(x: Operand, /) -> Tile:
    """-x.

    Args:
        x: the operand, of integers or floats.

    Returns:
        The negated elements, in the element type and shape of x; integers wrap around.

    Raises:
        TileTypeError: x is a bool tile, or not a tile or a number.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.negative(ct.arange(4, dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, -1, -2, -3]
    """


@kernel_function
def abs(x: Operand, /) -> Tile:
    """The absolute value.

    Args:
        x: the operand, of integers or floats.

    Returns:
        The absolute value of x, in the element type and shape of x.

    Raises:
        TileTypeError: x is a bool tile, or not a tile or a number.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.abs(ct.arange(4, dtype=ct.int32, start=-2)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [2, 1, 0, 1]
    """
