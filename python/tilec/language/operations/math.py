"""Elementwise floating-point functions; integer operands are converted to float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.modes import RoundingMode
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def exp(x: Operand, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """e to the power x.

    Args:
        x: the exponents.
        rounding_mode: FULL or APPROX, for float32 only; APPROX is faster and less accurate.

    Returns:
        The powers, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type, or this function does not support the rounding mode.
        TileValueError: the result for a constant x is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.exp(ct.arange(4, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1.000000, 2.718282, 7.389056, 20.085537]
    """


@kernel_function
def exp2(x: Operand, /, *, flush_to_zero: bool = False) -> Tile:
    """2 to the power x.

    Args:
        x: the exponents.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The powers, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type, or `flush_to_zero` is set and x is not float32.
        TileValueError: the result for a constant x is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.exp2(ct.arange(4, dtype=ct.float32, start=-1)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.500000, 1.000000, 2.000000, 4.000000]
    """


@kernel_function
def log(x: Operand, /) -> Tile:
    """The natural logarithm.

    Args:
        x: the operand.

    Returns:
        The logarithms, in the element type of x (float32 for integers) and its shape; NaN for negative elements.

    Raises:
        TileTypeError: x has a restricted float type.
        TileValueError: x is a constant that is not positive.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.log(ct.arange(4, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-inf, 0.000000, 0.693147, 1.098612]
    """


@kernel_function
def log2(x: Operand, /) -> Tile:
    """The logarithm to base 2.

    Args:
        x: the operand.

    Returns:
        The logarithms, in the element type of x (float32 for integers) and its shape; NaN for negative elements.

    Raises:
        TileTypeError: x has a restricted float type.
        TileValueError: x is a constant that is not positive.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.log2(ct.arange(4, dtype=ct.float32, start=1)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 1.000000, 1.584962, 2.000000]
    """


@kernel_function
def sqrt(x: Operand, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """The square root.

    Args:
        x: the operand.
        rounding_mode: RN (the default), RZ, RM or RP; for float32 also APPROX, which is faster and less accurate.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The square roots, in the element type of x (float32 for integers) and its shape; NaN for negative elements.

    Raises:
        TileTypeError: x has a restricted float type, or this function does not support the rounding mode.
        TileValueError: x is a negative constant.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.sqrt(ct.arange(4, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 1.000000, 1.414214, 1.732051]
    """


@kernel_function
def rsqrt(x: Operand, /, *, flush_to_zero: bool = False) -> Tile:
    """1 / sqrt(x).

    Args:
        x: the operand.
        flush_to_zero: whether subnormal operands and results become zero; float32 only.

    Returns:
        The reciprocal square roots, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type, or `flush_to_zero` is set and x is not float32.
        TileValueError: x is a constant that is not positive.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.rsqrt(ct.arange(4, dtype=ct.float32, start=1)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1.000000, 0.707107, 0.577350, 0.500000]
    """


@kernel_function
def sin(x: Operand, /) -> Tile:
    """The sine.

    Args:
        x: the angles in radians.

    Returns:
        The sines, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.sin(ct.arange(4, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 0.841471, 0.909297, 0.141120]
    """


@kernel_function
def cos(x: Operand, /) -> Tile:
    """The cosine.

    Args:
        x: the angles in radians.

    Returns:
        The cosines, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.cos(ct.arange(4, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1.000000, 0.540302, -0.416147, -0.989992]
    """


@kernel_function
def tan(x: Operand, /) -> Tile:
    """The tangent.

    Args:
        x: the angles in radians.

    Returns:
        The tangents, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.tan(ct.arange(2, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 1.557408]
    """


@kernel_function
def sinh(x: Operand, /) -> Tile:
    """The hyperbolic sine.

    Args:
        x: the operand.

    Returns:
        The hyperbolic sines, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type.
        TileValueError: the result for a constant x is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.sinh(ct.arange(2, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 1.175201]
    """


@kernel_function
def cosh(x: Operand, /) -> Tile:
    """The hyperbolic cosine.

    Args:
        x: the operand.

    Returns:
        The hyperbolic cosines, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type.
        TileValueError: the result for a constant x is out of range.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.cosh(ct.arange(2, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1.000000, 1.543081]
    """


@kernel_function
def tanh(x: Operand, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """The hyperbolic tangent.

    Args:
        x: the operand.
        rounding_mode: FULL or APPROX, for float32 only; APPROX is faster and less accurate.

    Returns:
        The hyperbolic tangents, in the element type of x (float32 for integers) and its shape.

    Raises:
        TileTypeError: x has a restricted float type, or this function does not support the rounding mode.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.tanh(ct.arange(4, dtype=ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.000000, 0.761594, 0.964028, 0.995055]
    """


@kernel_function
def atan2(x1: Operand, x2: Operand, /) -> Tile:
    """The arc tangent of x1 / x2 in the quadrant of the point (x2, x1).

    Args:
        x1: the ordinates, floats.
        x2: the abscissas, floats.

    Returns:
        The angles in radians, from -pi to pi, in the common element type and shape.

    Raises:
        TileTypeError: the common element type is not a float type, or the shapes are incompatible.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.atan2(ct.ones((2,), ct.float32), ct.arange(2, dtype=ct.float32) - 1.0))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [2.356194, 1.570796]
    """


@kernel_function
def floor(x: Operand, /) -> Tile:
    """The greatest integral number that is at most x.

    Args:
        x: the operand, of floats.

    Returns:
        The rounded elements, in the element type and shape of x.

    Raises:
        TileTypeError: x is a tile of integers or of a restricted float.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.floor(ct.arange(4, dtype=ct.float32) - 1.5))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-2.000000, -1.000000, 0.000000, 1.000000]
    """


@kernel_function
def ceil(x: Operand, /) -> Tile:
    """The least integral number that is at least x.

    Args:
        x: the operand, of floats.

    Returns:
        The rounded elements, in the element type and shape of x.

    Raises:
        TileTypeError: x is a tile of integers or of a restricted float.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.ceil(ct.arange(4, dtype=ct.float32) - 1.5))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-1.000000, -0.000000, 1.000000, 2.000000]
    """
