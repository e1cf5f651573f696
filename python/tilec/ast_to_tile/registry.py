"""The table of the functions that build the operations of each language function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from tilec.ast_to_tile.values.values import KernelValue
from tilec.dialect.rule_table import RuleTable

Handler = Callable[..., KernelValue]
H = TypeVar("H", bound=Handler)
Row = TypeVar("Row")

# Keyed by the function that the kernel calls (of tilec.language, or a Python builtin).
HANDLERS: RuleTable[Callable[..., object], Handler] = RuleTable("built")


def implements(*functions: Callable[..., object]) -> Callable[[H], H]:
    """Registers the builder of `functions`; it receives the emitter and the arguments of the call by parameter name.

    Raises ValueError for a function that already has a builder, naming both.
    """
    return lambda handler: HANDLERS.enter(functions, handler, handler)


def implements_each(rows: Mapping[Callable[..., object], Row], build: Callable[..., KernelValue]) -> None:
    """Registers `build` for each function of a table; its first argument is the row of the function.

    Raises ValueError for a function that already has a builder, naming both.
    """
    for function, row in rows.items():
        HANDLERS.enter([function], build, functools.partial(build, row))
