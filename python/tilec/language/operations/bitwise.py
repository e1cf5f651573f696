"""Elementwise bitwise and logical operations; operands are promoted and broadcast as in arith.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile


@kernel_function
def bitwise_and(x: Operand, y: Operand, /) -> Tile:
    """x & y.

    Args:
        x: the first operand, of integers or bools.
        y: the second operand, of the same element type or a Python number.

    Returns:
        The bits set in both operands, in their element type.

    Raises:
        TileTypeError: an operand has a float type, or the element types or shapes are incompatible.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitwise_and(ct.arange(4, dtype=ct.int32), 2))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 0, 2, 2]
    """


@kernel_function
def bitwise_or(x: Operand, y: Operand, /) -> Tile:
    """x | y.

    Args:
        x: the first operand, of integers or bools.
        y: the second operand, of the same element type or a Python number.

    Returns:
        The bits set in either operand, in their element type.

    Raises:
        TileTypeError: an operand has a float type, or the element types or shapes are incompatible.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitwise_or(ct.arange(4, dtype=ct.int32), 2))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [2, 3, 2, 3]
    """


@kernel_function
def bitwise_xor(x: Operand, y: Operand, /) -> Tile:
    """x ^ y.

    Args:
        x: the first operand, of integers or bools.
        y: the second operand, of the same element type or a Python number.

    Returns:
        The bits set in exactly one operand, in their element type.

    Raises:
        TileTypeError: an operand has a float type, or the element types or shapes are incompatible.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitwise_xor(ct.arange(4, dtype=ct.int32), 3))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [3, 2, 1, 0]
    """


@kernel_function
def bitwise_lshift(x: Operand, y: Operand, /) -> Tile:
    """x << y.

    Args:
        x: the integers to shift.
        y: the shift amounts, from 0 to one less than the width of the element type.

    Returns:
        The shifted integers in the common element type.

    Raises:
        TileTypeError: an operand does not have an integer type, or the element types or shapes are incompatible.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitwise_lshift(1, ct.arange(4, dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [1, 2, 4, 8]
    """


@kernel_function
def bitwise_rshift(x: Operand, y: Operand, /) -> Tile:
    """x >> y; the shift of signed integers is arithmetic.

    Args:
        x: the integers to shift.
        y: the shift amounts, from 0 to one less than the width of the element type.

    Returns:
        The shifted integers in the common element type.

    Raises:
        TileTypeError: an operand does not have an integer type, or the element types or shapes are incompatible.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitwise_rshift(ct.full((2,), -8, ct.int32), ct.arange(2, dtype=ct.int32) + 1))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-4, -2]
    """


@kernel_function
def bitwise_not(x: Operand, /) -> Tile:
    """All bits inverted.

    Args:
        x: the operand, of integers or bools.

    Returns:
        ~x in the element type and shape of x.

    Raises:
        TileTypeError: x has a float type.

    Example:
        >>> @ct.kernel
        ... def example(): print(ct.bitwise_not(ct.arange(2, dtype=ct.int32)), ~(ct.arange(2, dtype=ct.int32) > 0))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [-1, -2] [1, 0]
    """
