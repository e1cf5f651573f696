"""Output from kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.operands import Operand


@kernel_function
def printf(format: str, *args: Operand) -> None:
    """Prints tiles with a format string like that of C's printf.

    Args:
        format: a constant string, with one directive per tile.
        args: tiles or numbers.

    Raises:
        TileTypeError: the directives do not match the tiles in number or element type.

    Example:
        >>> @ct.kernel
        ... def example(): ct.printf("%d: %.2f", 1, ct.full((2,), 0.5, ct.float32))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        1: [0.50, 0.50]
    """


@kernel_function
def print(*args: object, sep: str = " ", end: str = "\n") -> None:
    """Prints text, f-strings and tiles; Python's `print` is equivalent in a kernel.

    Args:
        args: tiles, f-strings, constants, and tuples and dataclasses of these.
        sep: the text between arguments.
        end: the text after the last argument.

    Raises:
        TileTypeError: an argument cannot be printed, or `sep` or `end` is not a string.

    Example:
        >>> @ct.kernel
        ... def example(n): ct.print("n =", n, f"n / 4 = {n / 4:.2f}", sep="; ")
        >>> ct.launch(None, 1, example, (3,), backend="interpret")
        n =; 3; n / 4 = 0.75
    """
