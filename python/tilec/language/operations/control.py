"""Compile-time evaluation and assertions, and run-time assertions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.operands import Operand

T = TypeVar("T")


@kernel_function
def static_assert(condition: bool, message: object = None, /) -> None:
    """Stops the compile with an error if a condition is false.

    Args:
        condition: a constant.
        message: text that is appended to the error message.

    Raises:
        TileStaticAssertionError: the condition is false.
        TileTypeError: the condition is not a constant.

    Example:
        >>> @ct.kernel
        ... def example(n: ct.Constant[int]): ct.static_assert(n % 4 == 0, f"n is {n}")
        >>> try: ct.launch(None, 1, example, (6,), backend="interpret")
        ... except ct.TileStaticAssertionError as error: print(error.message)
        static assertion failed: n is 6
    """


@kernel_function
def static_iter(iterable: Iterable[T]) -> Iterable[T]:
    """`for x in ct.static_iter(...)` is unrolled at compile time; x is a constant in each copy of the body.

    Args:
        iterable: a tuple, or a range with constant bounds.

    Returns:
        The elements, for the `for` statement.

    Raises:
        TileTypeError: `iterable` is not a tuple or a range with constant bounds.
        TileSyntaxError: the call is not directly after the 'in' of a `for` statement.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     for dtype in ct.static_iter((ct.int32, ct.float32)):
        ...         print(ct.arange(2, dtype=dtype))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 1]
        [0.000000, 1.000000]
    """


@kernel_function
def static_eval(expr: T, /) -> T:
    """Evaluates an expression at compile time.

    Args:
        expr: the expression.

    Returns:
        The value of the expression, a constant.

    Raises:
        TileStaticEvalError: the value is not a constant.
        StaticException: the evaluation raises a Python exception.

    Example:
        >>> @ct.kernel
        ... def example(n: ct.Constant[int]): print(ct.static_eval(n * 2 if n > 4 else n))
        >>> ct.launch(None, 1, example, (8,), backend="interpret")
        16
    """


@kernel_function
def static_exception(exc: BaseException, /) -> BaseException:
    """`raise ct.static_exception(...)` stops the compile with an error.

    Args:
        exc: an expression that is evaluated at compile time; its value is an exception.

    Returns:
        The exception, for the `raise` statement.

    Raises:
        StaticException: always; the exception is its cause.
        TileSyntaxError: the call is not directly after `raise`.

    Example:
        >>> @ct.kernel
        ... def example(n: ct.Constant[int]):
        ...     if n % 4: raise ct.static_exception(ValueError(f"n is {n}"))
        >>> try: ct.launch(None, 1, example, (6,), backend="interpret")
        ... except ct.StaticException as error: print(error.message)
        exception at compile time: ValueError: n is 6
    """


@kernel_function
def ensure_constant(value: T, /) -> T:
    """Returns `value` and requires that it is a constant.

    Args:
        value: the value.

    Returns:
        The value.

    Raises:
        TileStaticAssertionError: the value is not a constant.

    Example:
        >>> @ct.kernel
        ... def example(n: ct.Constant[int]): print(ct.arange(ct.ensure_constant(n), dtype=ct.int32))
        >>> ct.launch(None, 1, example, (4,), backend="interpret")
        [0, 1, 2, 3]
    """


@kernel_function
def assert_(cond: Operand, /, message: str | None = None) -> None:
    """Stops the kernel at run time if an element of a condition is false.

    Args:
        cond: a bool tile or scalar.
        message: a constant string that is appended to the error message.

    Raises:
        TileTypeError: `cond` does not have element type bool, or `message` is not a constant string.

    Example:
        >>> @ct.kernel
        ... def example(n): ct.assert_(n > 0, "n must be positive")
        >>> try: ct.launch(None, 1, example, (-1,), backend="interpret")
        ... except ct.TileError as error: print(error.message)
        assertion failed: n must be positive
    """
