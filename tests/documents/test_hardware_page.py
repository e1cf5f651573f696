"""The tests and files that docs/hardware.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hardware.md").read_text()


@pytest.mark.parametrize(("file", "name"), re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE))
def test_each_named_test_exists(file: str, name: str) -> None:
    path = ROOT / file
    assert f"def {name}(" in path.read_text()


@pytest.mark.parametrize("path", re.findall(r"`((?:tests|docs|runtime)/[\w./]+)`", PAGE))
def test_each_named_file_exists(path: str) -> None:
    assert (ROOT / path).exists()
