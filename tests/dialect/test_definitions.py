"""Dialects are loaded from the bytecode of their definitions, and from the classes if it is missing or invalid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.definitions import KEPT_FILES
from tilec.dialect.mlir import ir, register
from tilec.dialect.registry import DIALECTS

WRONG = '"tile_gpu.kernel"() : () -> ()'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of definitions in an empty cache folder."""
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    return tmp_path / "dialects"


def refusal() -> str:
    """The verifier's message in a new context with the dialects."""
    with register(ir.Context()), pytest.raises(ir.MLIRError) as caught:
        ir.Module.parse(WRONG)
    return str(caught.value)


def test_definitions_are_kept_and_loaded(folder: Path) -> None:
    built = refusal()
    files = sorted(folder.iterdir())
    assert [file.name.partition("-")[0] for file in files] == sorted(DIALECTS)
    written = [file.stat().st_mtime_ns for file in files]
    assert refusal() == built and "tile_gpu.kernel" in built
    assert [file.stat().st_mtime_ns for file in files] == written


@pytest.mark.parametrize("damage", [b"", b"no definition", slice(0, 100), slice(1, None)])
def test_damaged_file_is_written_again(folder: Path, damage: bytes | slice) -> None:
    built = refusal()
    (file,) = folder.glob("tile_gpu-*")
    complete = file.read_bytes()
    file.write_bytes(complete[damage] if isinstance(damage, slice) else damage)
    assert refusal() == built
    assert file.read_bytes() == complete


def test_folder_that_cannot_be_written_is_ignored(folder: Path) -> None:
    folder.parent.joinpath("dialects").write_text("a file in place of the folder")
    assert "tile_gpu.kernel" in refusal()


def test_number_of_files_is_bounded(folder: Path) -> None:
    folder.mkdir(0o700)
    for number in range(KEPT_FILES + 5):
        (folder / f"{number}.mlirbc").touch()
    refusal()
    assert len(list(folder.iterdir())) == KEPT_FILES
