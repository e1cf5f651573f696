"""docs/tensor_maps.md equals the text of tensor_maps_page.py, which refuses tests and messages that do not exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_rows import KERNEL_ROWS
from launch_rules import LAUNCH_RULES, rules_of_launches
from manual_parts import DIFFERENCES, MANUAL_PARTS
from tensor_maps_page import PAGE, ROOT, RULE_TESTS, page, require_message, require_tests

from tilec.lowering.tma.rules import ALL_RULES, SHAPE_RULES


def test_page_equals_the_generated_text() -> None:
    assert PAGE.read_text() == page()


def test_each_rule_that_a_launch_can_violate_has_a_row() -> None:
    """The numbers of values, of which SHAPE_RULES are, follow from the kernel."""
    assert rules_of_launches(ALL_RULES[len(SHAPE_RULES) :]) == {row.rule for row in LAUNCH_RULES}


def test_each_row_has_a_test() -> None:
    """Rules of copies have one each."""
    rows = (*KERNEL_ROWS, *LAUNCH_RULES, *MANUAL_PARTS, *DIFFERENCES)
    assert [row for row in rows if not row.tests] == []


@pytest.mark.parametrize("name", ["test_of_nothing", "test_legal_map[box_range-tiled-1000]"])
def test_missing_test_is_refused(name: str) -> None:
    with pytest.raises(LookupError, match="tests that do not exist: .*"):
        require_tests([f"{RULE_TESTS}::{name}", f"{RULE_TESTS}::test_legal_map"])


def test_missing_message_is_refused(tmp_path: Path) -> None:
    require_message(ROOT / RULE_TESTS, "def test_legal_map")
    with pytest.raises(LookupError, match="test_tensor_map_rules.py does not contain 'no such message'"):
        require_message(ROOT / RULE_TESTS, "no such message")
