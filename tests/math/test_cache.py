"""The cache saves the making, and never gives what was not made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.lowering.math.cache import cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    return tmp_path


def never() -> str:
    raise AssertionError("made again")


def test_the_second_time_nothing_is_made(folder: Path) -> None:
    assert cached(["13.5", "source"], lambda: "text\n") == "text\n"
    assert cached(["13.5", "source"], never) == "text\n"


def test_what_it_is_made_from_decides(folder: Path) -> None:
    cached(["13.5", "source"], lambda: "old")
    assert cached(["13.6", "source"], lambda: "new") == "new"
    assert cached(["13.5so", "urce"], lambda: "other") == "other"


def test_a_damaged_file_is_made_again(folder: Path) -> None:
    cached(["a"], lambda: "long text")
    (file,) = folder.rglob("*.ptx")
    file.write_text(file.read_text()[:-70])
    assert cached(["a"], lambda: "made again") == "made again"
    file.write_bytes(b"\xff\xfe")
    assert cached(["a"], lambda: "and again") == "and again"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TILEC_CACHE", str(blocked))
    assert cached(["a"], lambda: "text") == "text"


def test_no_half_written_files_stay(folder: Path) -> None:
    cached(["a"], lambda: "text")
    assert [path.suffix for path in folder.rglob("*") if path.is_file()] == [".ptx"]
