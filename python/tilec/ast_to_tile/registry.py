"""Which function builds the operations of which function of the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.rule_table import RuleTable

Handler = Callable[..., Any]

# By the function that the kernel names (tilec.language, or a Python builtin).
HANDLERS: RuleTable[Any, Handler] = RuleTable("built")


def implements(*functions: Callable[..., Any]) -> Callable[[Handler], Handler]:
    """Register a builder: it gets the emitter and the call's arguments by the parameter names of `functions`.

    Raises ValueError for a function that has a builder already, naming both.
    """
    return lambda handler: HANDLERS.enter(functions, handler, handler)
