"""The tests and files that docs/hardware.md names exist, and tilec does not emit what the page says it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hardware.md").read_text()
NOT_EMITTED = PAGE.partition("## Not applicable")[2].partition("## ")[0]


@pytest.mark.parametrize(("file", "name"), re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE))
def test_each_named_test_exists(file: str, name: str) -> None:
    path = ROOT / file
    assert f"def {name}(" in path.read_text()


@pytest.mark.parametrize("path", re.findall(r"`((?:tests|docs|runtime)/[\w./]+)`", PAGE))
def test_each_named_file_exists(path: str) -> None:
    assert (ROOT / path).exists()


def _names_in_ptx() -> list[str]:
    rows = [row.split("|") for row in NOT_EMITTED.splitlines() if row.startswith("|")][2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row[2])]


@pytest.mark.parametrize("name", _names_in_ptx())
def test_feature_is_not_emitted(name: str) -> None:
    """Neither in golden PTX nor in a string of the stages that emit PTX."""
    emitting = [*(ROOT / "tests" / "golden").glob("*.ptx")]
    assert emitting
    for folder in ("lowering/gpu_to_ptx", "lowering/ptx", "lowering/math", "lowering/gpu", "dialect/ptx"):
        emitting += (Path(tilec.__file__).parent / folder).rglob("*.py")
    assert [str(path) for path in emitting if name in path.read_text()] == []


def test_each_row_of_features_has_a_name() -> None:
    assert len(_names_in_ptx()) >= 4
