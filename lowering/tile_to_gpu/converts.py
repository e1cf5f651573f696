"""The registry of conversions: one function for each operation of cuda_tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[[Any, Any], None]
RULES: dict[str, Rule] = {}


def converts(*names: str) -> Callable[[Rule], Rule]:
    """Makes `rule(op, conversion)` the conversion of these operations of cuda_tile; a second rule is refused."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"cuda_tile.{name} is converted by {RULES[name].__name__} and {rule.__name__}")
            RULES[name] = rule
        return rule

    return register
