"""The lowering of each operation of the tile_gpu level, found by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.rule_table import RuleTable

# rule(lowering, operation): op groups take Lowering, or what extends it for a kernel.
Rule = Callable[[Any, Any], None]
RULES: RuleTable[str, Rule] = RuleTable("lowered")


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function as the lowering of operations; ValueError for a second one, naming both."""
    return lambda rule: RULES.enter(names, rule, rule)
