"""The lowering of each operation of the tile_gpu level, found by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# rule(lowering, operation): op groups take Lowering, or what extends it for a kernel.
Rule = Callable[[Any, Any], None]
_RULES: dict[str, Rule] = {}


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function as the lowering of operations; RuntimeError for a second one, naming both."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name in _RULES:
                raise RuntimeError(f"'{name}' is lowered by both {_spell(_RULES[name])} and {_spell(rule)}")
            _RULES[name] = rule
        return rule

    return register


def rule_for(name: str) -> Rule | None:
    """The lowering of an operation, or None."""
    return _RULES.get(name)


def _spell(rule: Rule) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"
