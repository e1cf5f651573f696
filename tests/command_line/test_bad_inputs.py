"""Invalid files and arrays are user errors, not internal errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilec.commands.argument import GivenArgument
from tilec.driver.failure_folder import KEPT_FOLDERS, new_failure_folder
from tilec.errors import InputError

KERNELS = Path(__file__).parent / "kernels.py"
PTX_WITHOUT_METADATA = Path(__file__).parent / "foreign.ptx"
ADD = (f"{KERNELS}:add", "--sig", "a: f32[?], b: f32[?], c: f32[?], tile=256")


@pytest.mark.parametrize("suffix", ["ptx", "mlir", "tileirbc"])
@pytest.mark.parametrize("command", ["compile", "opt", "interpret", "simulate"])
@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_are_a_user_error(tilec: Any, tmp_path: Path, command: str, suffix: str, seed: int) -> None:
    file = tmp_path / f"noise.{suffix}"
    file.write_bytes(np.random.default_rng(seed).bytes(200))
    outcome = tilec(command, file, *(("--grid", 1) if command in ("interpret", "simulate") else ()))
    assert (outcome.status, outcome.out) == (1, "")
    assert f"{file} is neither text nor Tile IR bytecode" in outcome.err


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "c.npy:f32[999999999999999]",
            "cannot create the array 'c.npy:f32[999999999999999]': it does not fit into memory",
        ),
        ("c.npy:f32[99999999999999999999]", "it does not fit into memory"),
        ("none/c.npy:f32[4]", "the folder none does not exist: create it first"),
        ("huge.npy", "cannot read huge.npy: its array does not fit into memory"),
        ("empty.npy", "empty.npy is not a .npy file"),
        ("noise.npy", "noise.npy is not a .npy file"),
        ("zip.npy", "zip.npy is not a .npy file"),
        ("archive.npy", "archive.npy is not a .npy file: it is an archive of several arrays"),
        ("objects.npy", "objects.npy is not a .npy file"),
    ],
)
def test_invalid_arrays_are_a_user_error(
    tilec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.npy").write_bytes(b"")
    with open("huge.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (2**56,)})
    Path("noise.npy").write_bytes(bytes(range(256)))
    Path("zip.npy").write_bytes(b"PK\x03\x04" + bytes(40))
    with open("archive.npy", "wb") as file:
        np.savez(file, a=np.zeros(3))
    np.save("objects.npy", np.array([None]), allow_pickle=True)
    outcome = tilec("simulate", PTX_WITHOUT_METADATA, "--grid", 1, "--block", 32, "--arg", argument)
    assert (outcome.status, outcome.out) == (1, "")
    assert message in outcome.err and "bug in tilec" not in outcome.err


def test_array_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    file.mkdir()
    with pytest.raises(InputError, match=f"cannot write {file}: Is a directory"):
        GivenArgument("x.npy:f32[4]", np.zeros(4), output=file).save()


@pytest.mark.parametrize("emit", ["ptx", "all"])
def test_missing_output_folder_is_an_error(tilec: Any, tmp_path: Path, emit: str) -> None:
    outcome = tilec("compile", *ADD, "--emit", emit, "-o", tmp_path / "none" / "add.ptx")
    assert (outcome.status, outcome.out) == (1, "")
    assert f"the folder {tmp_path / 'none'} does not exist: create it first" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_emit_all_to_standard_output_is_an_error(tilec: Any) -> None:
    outcome = tilec("compile", *ADD, "--emit", "all", "-o", "-")
    assert (outcome.status, "set -o to a folder or to the stem of the files" in outcome.err) == (2, True)


def test_cache_keeps_the_newest_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    folders = []
    for second in range(KEPT_FOLDERS + 5):
        folders.append(new_failure_folder())
        (folders[-1] / "traceback.txt").write_text("")
        os.utime(folders[-1], (second, second))
    assert {folder.parent for folder in folders} == {tmp_path / "failures"}
    remaining = set((tmp_path / "failures").iterdir())
    # When the last folder is created, its time is the current one, which is newer than all others.
    assert remaining == set(folders[-KEPT_FOLDERS:])


def test_failure_without_a_cache_is_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert new_failure_folder().parent == tmp_path


def test_internal_error_writes_its_traceback_to_the_cache(
    tilec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))

    def fail(*_: object) -> None:
        raise KeyError("gone")

    monkeypatch.setattr("tilec.driver.opt_passes.optimise", fail)
    outcome = tilec("opt", "k.mlir")
    (file,) = (tmp_path / "failures").rglob("*.txt")
    assert (outcome.status, str(file) in outcome.err, "KeyError" in file.read_text()) == (1, True, True)
