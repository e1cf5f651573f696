"""Which function builds the operations of which function of the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Handler = Callable[..., Any]

# By the function that the kernel names (tilec.language, or a Python builtin).
HANDLERS: dict[Any, Handler] = {}


def implements(*functions: Callable[..., Any]) -> Callable[[Handler], Handler]:
    """Register a builder: it gets the emitter and the call's arguments by the parameter names of `functions`.

    Raises ValueError for a function that has a builder already, naming both.
    """

    def register(handler: Handler) -> Handler:
        for function in functions:
            if function in HANDLERS:
                taken = HANDLERS[function].__qualname__
                raise ValueError(f"'{function.__qualname__}' is built by {taken} and {handler.__qualname__}")
            HANDLERS[function] = handler
        return handler

    return register
