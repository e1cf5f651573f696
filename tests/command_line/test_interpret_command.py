"""`tilec interpret`: runs text or bytecode on arrays in files; undefined behaviour is an error with its line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

VIEW = "partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>"
SHIFT = f"""cuda_tile.module @m {{
  entry @shift(%data: tile<ptr<f32>>, %extent: tile<i32>, %amount: tile<f32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %tensor = make_tensor_view %data, shape = [%extent], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %view = make_partition_view %tensor : {VIEW}
    %tile, %loaded = load_view_tko weak %view[%x] : {VIEW}, tile<i32> -> tile<128xf32>, token
    %one = reshape %amount : tile<f32> -> tile<1xf32>
    %amounts = broadcast %one : tile<1xf32> -> tile<128xf32>
    %sum = addf %tile, %amounts : tile<128xf32>
    %stored = store_view_tko weak %sum, %view[%x] token = %loaded : tile<128xf32>, {VIEW}, tile<i32> -> token
    %printed = print_tko "block %d\\n", %x : tile<i32> -> token
    return
  }}
  entry @nothing() {{ return }}
}}
"""
LINE = 1 + SHIFT.splitlines().index(next(line for line in SHIFT.splitlines() if "load_view_tko" in line))


@pytest.fixture(params=["k.mlir", "k.tileirbc"])
def module(request: pytest.FixtureRequest, tilec: Any, tmp_path: Path) -> Path:
    text = tmp_path / "k.mlir"
    text.write_text(SHIFT)
    if request.param != text.name:
        assert tilec("opt", text, "-o", tmp_path / request.param).status == 0
    return tmp_path / request.param


@pytest.fixture
def data(tmp_path: Path) -> Path:
    np.save(tmp_path / "data.npy", np.arange(384, dtype=np.float32))
    return tmp_path / "data.npy"


def argument_options(*values: object) -> list[object]:
    return [part for value in values for part in ("--arg", value)]


def test_created_arrays_are_written(tilec: Any, module: Path, tmp_path: Path) -> None:
    created = f"{tmp_path / 'created.npy'}:f32[256]"
    outcome = tilec("interpret", module, "--entry", "shift", "--grid", 2, *argument_options(created, 256, 2.5))
    assert (outcome.status, outcome.out, outcome.err) == (0, "block 0\nblock 1\n", "")
    assert np.array_equal(np.load(tmp_path / "created.npy"), np.full(256, 2.5, np.float32))


def test_undefined_behaviour_is_an_error_with_a_location(tilec: Any, module: Path, data: Path, tmp_path: Path) -> None:
    outcome = tilec("interpret", module, "--entry", "shift", "--grid", 4, *argument_options(data, 384, 2))
    assert outcome.status == 1
    assert "error: index 0 of the view must be at least 0 and below 3, got 3" in outcome.err
    assert "note: in tile block (3, 0, 0) of grid (4, 1, 1)" in outcome.err
    assert (f"{module}:{LINE}:" if module.suffix == ".mlir" else f"{module}:@shift:") in outcome.err


def test_undefined_behaviour_is_not_an_error_without_checks(tilec: Any, module: Path, data: Path) -> None:
    arguments = argument_options(data, 384, 2)
    assert tilec("interpret", module, "--entry", "shift", "--grid", 4, "--no-checks", *arguments).status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "has 2 entries"),
        (("--entry", "none"), 2, "the module has no entry 'none' (entries: shift, nothing)"),
        (("--entry", "shift"), 1, "the kernel needs 3 arguments"),
        (("--entry", "nothing", "--grid", "x"), 2, "--grid needs one to three integers separated by commas, got 'x'"),
        (("--entry", "nothing", "--arg", "x"), 2, "cannot parse argument 'x': expected FILE.npy"),
        (("--entry", "nothing", "--grid", "1,1,1,1"), 1, "--grid needs one to three integers of at least 0"),
    ],
)
def test_invalid_command_is_an_error(
    tilec: Any, module: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    outcome = tilec("interpret", module, *arguments)
    assert (outcome.status, outcome.out) == (status, "")
    assert message in outcome.err and "Traceback" not in outcome.err


def test_long_run_shows_progress_on_a_terminal(tilec: Any, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilec.process.progress.find_spec", lambda library: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    outcome = tilec("interpret", module, "--entry", "nothing", "--grid", 16)
    assert "interpret 3/16 tile blocks" in outcome.err
    assert outcome.err.endswith("\r\x1b[K")
    assert tilec("interpret", module, "--entry", "nothing", "--grid", 15).err == ""


@pytest.mark.parametrize("name", ["none.mlir", "noise.mlir", "."])
def test_invalid_file_is_an_error(tilec: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "noise.mlir").write_text("noise")
    outcome = tilec("interpret", tmp_path / name)
    assert outcome.status == 1 and "error: " in outcome.err and "Traceback" not in outcome.err
