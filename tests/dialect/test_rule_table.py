"""The registries of all stages are RuleTables, which refuse a second entry for a key."""

from __future__ import annotations

import pytest

from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.tracer import EXPRESSIONS, STATEMENTS
from tilec.dialect.rule_table import RuleTable
from tilec.lowering.gpu_to_ptx.registers.lowering import RULES as LOWERINGS
from tilec.lowering.tile_to_gpu.conversion.conversion import RULES as CONVERSIONS
from tilec.runtime.interpret.registry import MEANINGS


def first() -> None: ...


def second() -> None: ...


def test_second_entry_is_refused_and_both_are_named():
    table: RuleTable[object, int] = RuleTable("lowered")
    assert table.enter(("a", "b", first), first, 1) is first
    assert table == {"a": 1, "b": 1, first: 1}
    names = rf"{__name__}\.first and {__name__}\.second"
    for key, spelled in (("b", "b"), (first, "first")):
        with pytest.raises(ValueError, match=f"'{spelled}' is lowered by both {names}"):
            table.enter(("c", key), second, 2)
    assert table == {"a": 1, "b": 1, first: 1}


def test_all_registries_are_rule_tables():
    tables = (HANDLERS, EXPRESSIONS, STATEMENTS, CONVERSIONS, LOWERINGS, MEANINGS)
    assert all(isinstance(table, RuleTable) for table in tables)
