"""The lowering of each operation of the tile_gpu level, by operation name."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.rule_table import RuleTable
from tilec.lowering.gpu_to_ptx.lowering import Rule

RULES: RuleTable[str, Rule] = RuleTable("lowered")


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function as the lowering of operations; raises ValueError for a second one, naming both."""
    return lambda rule: RULES.enter(names, rule, rule)
