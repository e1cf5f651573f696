"""The files are what generate.py writes. Those of math need mpmath, which the tests do without."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from chapters import CHAPTERS, text
from vector_files import FOLDER

HERE = Path(__file__).parent


def needs_mpmath(chapter: str) -> bool:
    tree = ast.parse((HERE / f"{CHAPTERS[chapter]}.py").read_text())
    imported = [node for node in tree.body if isinstance(node, ast.Import)]
    return any(name.name == "mpmath" for node in imported for name in node.names)


WITHOUT_MPMATH = [chapter for chapter in CHAPTERS if not needs_mpmath(chapter)]


def test_only_math_needs_mpmath() -> None:
    assert set(CHAPTERS) - set(WITHOUT_MPMATH) == {"math"}


def test_every_file_is_a_chapter() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(CHAPTERS)


@pytest.mark.parametrize("chapter", WITHOUT_MPMATH)
def test_the_file_is_what_is_generated(chapter: str) -> None:
    assert (FOLDER / f"{chapter}.json").read_text() == text(importlib.import_module(CHAPTERS[chapter]).vectors())
