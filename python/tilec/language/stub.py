"""The mark of a function that exists inside kernels only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tilec.diagnostics.user_traceback import public
from tilec.errors import CompileError


def kernel_function(
    function: Callable[..., Any] | None = None, *, on_host: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function whose body the compiler supplies; `.signature` is what a call in a kernel is bound to.

    On the host it raises CompileError, or does what `on_host` does.
    """
    if function is None:
        return lambda decorated: kernel_function(decorated, on_host=on_host)

    @public
    @functools.wraps(function)
    def outside(*arguments: Any, **keywords: Any) -> Any:
        if on_host is not None:
            return on_host(*arguments, **keywords)
        raise CompileError(f"'{function.__qualname__}' can be called inside a kernel only")

    outside.signature = inspect.signature(function)  # type: ignore[attr-defined]
    return outside
