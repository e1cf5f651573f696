"""The conversion of each operation of cuda_tile to tile_gpu, found by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.rule_table import RuleTable

# rule(op, conversion)
Rule = Callable[[ir.OpView, Any], None]
RULES: RuleTable[str, Rule] = RuleTable("converted")


def converts(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function as the conversion of operations of cuda_tile; ValueError for a second one, naming both."""
    return lambda rule: RULES.enter((f"cuda_tile.{name}" for name in names), rule, rule)
