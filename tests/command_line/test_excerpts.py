"""What errors show of the user's line: the line, a caret below the place, and of very long lines the part around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.errors import InputError, SourceLocation


def shown(folder: Path, text: str, column: int, end_column: int = 0) -> list[str]:
    path = folder / "k.mlir"
    path.write_text(text)
    return SourceLocation(str(path), 1, column, end_column).excerpt().split("\n")


def test_a_caret_stands_below_each_character_of_the_place(tmp_path: Path) -> None:
    assert shown(tmp_path, "  addi %a, %b\n", 8, 10) == ["      addi %a, %b", "           ^^"]


def test_a_place_without_a_column_is_a_line(tmp_path: Path) -> None:
    assert shown(tmp_path, "  addi %a, %b\n", 0) == ["      addi %a, %b"]


def test_a_place_behind_the_line_is_one_character(tmp_path: Path) -> None:
    assert shown(tmp_path, "addi\n", 5, 9) == ["    addi", "        ^"]


def test_a_tab_stands_below_a_tab(tmp_path: Path) -> None:
    assert shown(tmp_path, "\taddi\t%a\n", 7) == ["    \taddi\t%a", "    \t    \t^"]


def test_no_character_moves_the_cursor(tmp_path: Path) -> None:
    assert shown(tmp_path, "a\x1b[2Jb\r\n", 6) == ["    a\N{REPLACEMENT CHARACTER}[2Jb", "         ^"]


@pytest.mark.parametrize("column", [1, 2, 100, 101, 5000, 9899, 9900, 9999, 10000])
@pytest.mark.parametrize("end", [0, 3, 400])
def test_of_a_long_line_the_part_around_the_place(tmp_path: Path, column: int, end: int) -> None:
    """The letter at the place is another one, and the caret stands below it."""
    line = "a" * (column - 1) + "X" + "b" * (10000 - column)
    text, caret = shown(tmp_path, line, column, column + end if end else 0)
    assert len(text) <= 4 + 3 + 200 + 3 and len(caret) <= len(text)
    assert caret.index("^") == text.index("X")
    assert text.startswith("    ...") == (column > 100)
    assert text.endswith("...") == (column < 9900)


def test_an_error_of_a_long_line_is_short(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("%" * 100_000)
    assert len(str(InputError("no", SourceLocation(str(path), 1, 7)))) < 1000
