"""Source excerpts in errors: the line with carets below the location; long lines are cut around the location."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.errors import InputError, SourceLocation


def excerpt_lines(folder: Path, text: str, column: int, end_column: int = 0) -> list[str]:
    path = folder / "k.mlir"
    path.write_text(text)
    return SourceLocation(str(path), 1, column, end_column).excerpt().split("\n")


def test_carets_are_below_each_character_of_the_location(tmp_path: Path) -> None:
    assert excerpt_lines(tmp_path, "  addi %a, %b\n", 8, 10) == ["      addi %a, %b", "           ^^"]


def test_location_without_a_column_is_a_line(tmp_path: Path) -> None:
    assert excerpt_lines(tmp_path, "  addi %a, %b\n", 0) == ["      addi %a, %b"]


def test_location_after_the_end_of_the_line_has_one_caret(tmp_path: Path) -> None:
    assert excerpt_lines(tmp_path, "addi\n", 5, 9) == ["    addi", "        ^"]


def test_tabs_are_copied_to_the_caret_line(tmp_path: Path) -> None:
    assert excerpt_lines(tmp_path, "\taddi\t%a\n", 7) == ["    \taddi\t%a", "    \t    \t^"]


def test_control_characters_are_replaced(tmp_path: Path) -> None:
    assert excerpt_lines(tmp_path, "a\x1b[2Jb\r\n", 6) == ["    a\N{REPLACEMENT CHARACTER}[2Jb", "         ^"]


@pytest.mark.parametrize("column", [1, 2, 100, 101, 5000, 9899, 9900, 9999, 10000])
@pytest.mark.parametrize("end", [0, 3, 400])
def test_long_line_is_cut_around_the_location(tmp_path: Path, column: int, end: int) -> None:
    """The caret is below the character of the location, which differs from all other characters."""
    line = "a" * (column - 1) + "X" + "b" * (10000 - column)
    text, caret = excerpt_lines(tmp_path, line, column, column + end if end else 0)
    assert len(text) <= 4 + 3 + 200 + 3 and len(caret) <= len(text)
    assert caret.index("^") == text.index("X")
    assert text.startswith("    ...") == (column > 100)
    assert text.endswith("...") == (column < 9900)


def test_error_in_a_long_line_is_short(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("%" * 100_000)
    assert len(str(InputError("no", SourceLocation(str(path), 1, 7)))) < 1000
