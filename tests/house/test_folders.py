"""Folders of lowering/ have one subject each: a docstring that says which, and few files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tilec

LOWERING = Path(tilec.__file__).parent / "lowering"
MOST_FILES = 25
FOLDERS = sorted(path.parent for path in (LOWERING.resolve()).rglob("__init__.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(LOWERING.resolve()).as_posix())
def test_folder_has_a_docstring_and_few_files(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    files = [path.name for path in folder.iterdir() if path.is_file()]
    assert len(files) <= MOST_FILES, f"divide {folder.name}, which has {len(files)} files"
