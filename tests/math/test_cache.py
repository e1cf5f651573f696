"""The cache returns stored text only for equal keys, and never a damaged file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.lowering.math.functions import cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    return tmp_path


def unexpected() -> str:
    raise AssertionError("the text is generated although it is cached")


def test_second_request_is_served_from_the_cache(folder: Path) -> None:
    assert cached(["13.5", "source"], lambda: "text\n") == "text\n"
    assert cached(["13.5", "source"], unexpected) == "text\n"


def test_all_parts_of_the_key_count(folder: Path) -> None:
    cached(["13.5", "source"], lambda: "old")
    assert cached(["13.6", "source"], lambda: "new") == "new"
    assert cached(["13.5so", "urce"], lambda: "other") == "other"


def test_damaged_file_is_replaced(folder: Path) -> None:
    cached(["a"], lambda: "long text")
    (file,) = folder.rglob("*.ptx")
    file.write_bytes(file.read_bytes()[:-1])
    assert cached(["a"], lambda: "second text") == "second text"
    file.write_bytes(b"\xff\xfe")
    assert cached(["a"], lambda: "third text") == "third text"


def test_folder_that_cannot_be_written_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TILEC_CACHE", str(blocked))
    assert cached(["a"], lambda: "text") == "text"


def test_no_temporary_files_remain(folder: Path) -> None:
    cached(["a"], lambda: "text")
    assert [path.suffix for path in folder.rglob("*") if path.is_file()] == [".ptx"]
