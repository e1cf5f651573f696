"""Folders of the package have one subject each: a docstring that says which, and few files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tilec

PACKAGE = Path(tilec.__file__).parent
MOST_FILES = 25
# `rglob` follows no links, which an editable installation may have.
FOLDERS = {
    path.parent.relative_to(top.parent).as_posix(): path.parent
    for top in ((PACKAGE / name).resolve() for name in ("ast_to_tile", "dialect", "language", "lowering", "runtime"))
    for path in sorted(top.rglob("__init__.py"))
}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_folder_has_a_docstring_and_few_files(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    files = [path.name for path in folder.iterdir() if path.is_file()]
    assert len(files) <= MOST_FILES, f"divide {folder.name}, which has {len(files)} files"
