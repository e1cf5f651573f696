"""Types from generic text, whose parameters MLIR does not check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.mlir import ir


def parameters_problem(type: ir.Type, make: Callable[[Any], ir.Type]) -> str | None:
    """The problem with a type, or None; `make` returns the same type, and raises ValueError if a rule is violated."""
    try:
        return None if make(type) == type else f"malformed type {type}"
    except ValueError as error:
        # The bindings raise a ValueError of several lines for a parameter of the wrong kind.
        message = str(error)
        return f"malformed type {type}" if message.startswith("Cannot cast") else message
