"""The vector files equal the output of generate.py; math.json is not compared, because it needs mpmath."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from op_groups import OP_GROUPS, text
from vector_files import FOLDER

GENERATORS = Path(__file__).parent / "generators"


def needs_mpmath(group: str) -> bool:
    tree = ast.parse((GENERATORS / f"{OP_GROUPS[group]}.py").read_text())
    imported = [node for node in tree.body if isinstance(node, ast.Import)]
    return any(name.name == "mpmath" for node in imported for name in node.names)


WITHOUT_MPMATH = [group for group in OP_GROUPS if not needs_mpmath(group)]


def test_only_math_needs_mpmath() -> None:
    assert set(OP_GROUPS) - set(WITHOUT_MPMATH) == {"math"}


def test_every_op_group_has_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(OP_GROUPS)


@pytest.mark.parametrize("group", WITHOUT_MPMATH)
def test_file_equals_the_generated_text(group: str) -> None:
    assert (FOLDER / f"{group}.json").read_text() == text(importlib.import_module(OP_GROUPS[group]).vectors())
