"""Folders have one subject each: few files, and in folders of the package a docstring that says which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilec

PACKAGE = Path(tilec.__file__).parent
TESTS = Path(__file__).parents[1]
MOST_FILES = 25
# `rglob` follows no links, which an editable installation may have.
FOLDERS = {
    path.parent.relative_to(top.parent).as_posix(): path.parent
    for top in ((PACKAGE / name).resolve() for name in ("ast_to_tile", "dialect", "language", "lowering", "runtime"))
    for path in sorted(top.rglob("__init__.py"))
}
# One file per message, which docs/errors.md shows.
LISTS_OF_DATA = ("tests/frontend/mistakes",)


def _folders_without_docstring() -> Iterator[tuple[str, Path]]:
    """The folders of the tests and, if the tests run in a folder of the repository, of the C++ sources."""
    yield from _with_subfolders(TESTS, "tests")
    root = next((folder for folder in TESTS.parents if (folder / "runtime" / "ptxsim").is_dir()), None)
    for name in ("ptxsim", "dispatch") if root else ():
        yield from _with_subfolders(root / "runtime" / name, f"runtime/{name}")


def _with_subfolders(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    yield name, folder
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"):
        yield from _with_subfolders(inner, f"{name}/{inner.name}")


def _files(folder: Path) -> list[str]:
    """The names of the files of a folder without the compiled modules."""
    return [path.name for path in folder.iterdir() if path.is_file() and path.suffix not in (".so", ".pyd")]


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_folder_has_a_docstring_and_few_files(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert len(_files(folder)) <= MOST_FILES, f"divide {folder.name}, which has {len(_files(folder))} files"


def test_folders_of_tests_and_of_the_simulator_have_few_files() -> None:
    sizes = {name: len(_files(folder)) for name, folder in _folders_without_docstring() if name not in LISTS_OF_DATA}
    assert len(sizes) > 50
    assert {name: size for name, size in sizes.items() if size > MOST_FILES} == {}, "divide these folders"
