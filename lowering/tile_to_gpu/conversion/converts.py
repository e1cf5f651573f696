"""The conversion of each operation of cuda_tile and tilex to tile_gpu, found by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.rule_table import RuleTable

# rule(op, conversion)
Rule = Callable[[ir.OpView, Any], None]
RULES: RuleTable[str, Rule] = RuleTable("converted")


def converts(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function as the conversion of operations; a name without a dot belongs to `cuda_tile`.

    Raises ValueError, naming both functions, for a duplicate.
    """
    full = [name if "." in name else f"cuda_tile.{name}" for name in names]
    return lambda rule: RULES.enter(full, rule, rule)
