"""The lowering of each operation of the tile_gpu level, by operation name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.dialect.rule_table import RuleTable
from tilec.lowering.gpu_to_ptx.registers.lowering import Rule

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

RULES: RuleTable[str, Rule] = RuleTable("lowered")


def lowers(*operations: str | type[Operation]) -> Callable[[Rule], Rule]:
    """Registers a function as the lowering of operations, by class, or by name for those of upstream dialects.

    Raises ValueError for a second function of an operation, naming both.
    """
    names = [each if isinstance(each, str) else each.OPERATION_NAME for each in operations]
    return lambda rule: RULES.enter(names, rule, rule)
