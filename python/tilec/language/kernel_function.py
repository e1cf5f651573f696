"""Functions of the kernel language: their decorator, and look-up in the classes that have them as methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from tilec.diagnostics.user_traceback import public
from tilec.errors import HostCallError

P = ParamSpec("P")
R = TypeVar("R")


# Receives the function, and the positional and keyword arguments of a call.
CallHandler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
_compile_time_calls: ContextVar[CallHandler | None] = ContextVar("_compile_time_calls", default=None)


@contextmanager
def compile_time_calls(handler: CallHandler) -> Iterator[None]:
    """Passes the calls of language functions in this context, by Python code at compile time, to `handler`."""
    token = _compile_time_calls.set(handler)
    try:
        yield
    finally:
        _compile_time_calls.reset(token)


def compile_time_handler() -> CallHandler | None:
    """The handler of calls by Python code at compile time; None on the host."""
    return _compile_time_calls.get()


@overload
def kernel_function(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def kernel_function(*, on_host: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def kernel_function(
    function: Callable[..., Any] | None = None, *, on_host: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Decorates a function whose operations the compiler builds; kernel calls are bound to its signature.

    A call on the host calls `on_host`, or raises HostCallError if there is none.
    """
    if function is None:
        return lambda decorated: _callable_on_host(decorated, on_host)
    return _callable_on_host(function, on_host)


def _callable_on_host(function: Callable[..., Any], on_host: Callable[..., Any] | None) -> Callable[..., Any]:

    @public
    @functools.wraps(function)
    def call_on_host(*arguments: Any, **keywords: Any) -> Any:
        if (handler := compile_time_handler()) is not None:
            return handler(call_on_host, arguments, keywords)
        if on_host is not None:
            return on_host(*arguments, **keywords)
        raise HostCallError(f"'ct.{function.__qualname__}' can be called inside a kernel only")

    # Computed on first use: the signatures of all functions are a fifth of the time of `import tilec`.
    call_on_host.signature = functools.partial(inspect.signature, function)  # type: ignore[attr-defined]
    return call_on_host


def in_kernels_only(name: str) -> NoReturn:
    """The body of a property that the compiler reads: raises HostCallError on the host."""
    raise HostCallError(f"'{name}' can be read inside a kernel only")


def is_kernel_function(function: object) -> bool:
    """Whether an object is a function of the kernel language."""
    return isinstance(function, FunctionType) and function.__module__.startswith("tilec.language.")


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    """The methods of a class that can be called in kernels, by name."""
    return {name: value for name, value in vars(kind).items() if hasattr(value, "signature")}


def properties(kind: type) -> list[str]:
    """The names of the properties of a class that can be read in kernels."""
    return [name for name, value in vars(kind).items() if isinstance(value, property)]
