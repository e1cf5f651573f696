"""Each test that a page names exists; the pages that tests generate are not generated for it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAMED = re.compile(r"`(?:tests/)?([a-z_0-9/]+\.py)::([A-Za-z_0-9]+)")
PAGES = [page for page in sorted((TESTS.parent / "docs").rglob("*.md")) if NAMED.search(page.read_text())]


@cache
def functions_of(path: Path) -> set[str]:
    """The names of all functions and classes of a file; empty if the file does not exist."""
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_pages_name_tests() -> None:
    assert {page.name for page in PAGES} >= {"tensor_core.md", "tensor_maps.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_tests_exist(page: Path) -> None:
    named = set(NAMED.findall(page.read_text()))
    assert [f"{path}::{name}" for path, name in sorted(named) if name not in functions_of(TESTS / path)] == []
