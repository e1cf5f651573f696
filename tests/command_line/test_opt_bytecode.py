"""`tilec opt` writes bytecode if the file name or --bytecode-version selects it; errors leave the file unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

MAGIC = b"\x7fTileIR\x00"
MODULE = """cuda_tile.module @kernels {
  entry @k(%arg0: tile<f32>) {
    %0 = addf %arg0, %arg0  : tile<f32>
    return
  }
}
"""
MODULE_WITH_LATER_OPERATION = MODULE.replace("addf %arg0, %arg0 ", "atan2 %arg0, %arg0")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(MODULE)
    return path


def test_file_name_selects_bytecode_of_the_newest_version(tilec: Any, source: Path) -> None:
    outcome = tilec("opt", source, "-o", source.with_suffix(".tileirbc"))
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    content = source.with_suffix(".tileirbc").read_bytes()
    assert content[:12] == MAGIC + bytes((13, 5, 0, 0))


@pytest.mark.parametrize("minor", [1, 2, 3, 4, 5])
def test_version_option_selects_bytecode_for_every_file_name(tilec: Any, source: Path, minor: int) -> None:
    target = source.with_name("anything")
    assert tilec("opt", source, "-o", target, "--bytecode-version", f"13.{minor}").status == 0
    assert target.read_bytes()[:12] == MAGIC + bytes((13, minor, 0, 0))


def test_bytecode_and_text_are_converted_to_each_other(tilec: Any, source: Path) -> None:
    bytecode, text = source.with_suffix(".tileirbc"), source.with_name("again.mlir")
    tilec("opt", source, "-o", bytecode, "--bytecode-version", "13.1")
    assert tilec("opt", bytecode, "-o", text).status == 0
    assert text.read_text() == MODULE


def test_passes_run_before_bytecode_is_written(tilec: Any, source: Path) -> None:
    unchanged, smaller = source.with_name("a.tileirbc"), source.with_name("b.tileirbc")
    tilec("opt", source, "-o", unchanged)
    # The sum is unused.
    tilec("opt", source, "-o", smaller, "--passes", "canonicalize")
    assert len(smaller.read_bytes()) < len(unchanged.read_bytes())


def test_operation_of_a_later_version_is_an_error_and_writes_no_file(tilec: Any, source: Path) -> None:
    source.write_text(MODULE_WITH_LATER_OPERATION)
    target = source.with_suffix(".tileirbc")
    target.write_bytes(b"before")
    outcome = tilec("opt", source, "-o", target, "--bytecode-version", "13.1")
    assert (outcome.status, outcome.out) == (1, "")
    assert f"{source}:3:10: error: 'cuda_tile.atan2' needs bytecode version 13.2 or later" in outcome.err
    assert "write version 13.2 or later" in outcome.err
    assert target.read_bytes() == b"before"
    assert sorted(path.name for path in source.parent.iterdir()) == ["k.mlir", "k.tileirbc"]


def test_invalid_module_is_not_written(tilec: Any, source: Path) -> None:
    source.write_text(MODULE.replace("%arg0, %arg0 ", "%arg0, %arg1 "))
    outcome = tilec("opt", source, "-o", source.with_suffix(".tileirbc"))
    assert (outcome.status, source.with_suffix(".tileirbc").exists()) == (1, False)


def test_missing_folder_is_an_error(tilec: Any, source: Path) -> None:
    outcome = tilec("opt", source, "-o", source / "k.tileirbc")
    assert (outcome.status, "cannot write" in outcome.err) == (1, True)


@pytest.mark.parametrize("version", ["13.0", "13.6", "13", "newest"])
def test_unknown_version_is_a_usage_error(tilec: Any, source: Path, version: str) -> None:
    outcome = tilec("opt", source, "-o", source.with_suffix(".tileirbc"), "--bytecode-version", version)
    assert (outcome.status, source.with_suffix(".tileirbc").exists()) == (2, False)
    assert "13.1" in outcome.err and "13.5" in outcome.err


def test_json_has_no_bytecode(tilec: Any, source: Path) -> None:
    outcome = tilec("opt", source, "--json", "--bytecode-version", "13.1")
    assert outcome.status == 2
    assert "--json contains text only: set -o to write bytecode" in outcome.out + outcome.err


def test_bytecode_has_no_generic_form(tilec: Any, source: Path) -> None:
    outcome = tilec("opt", source, "-o", source.with_suffix(".tileirbc"), "--generic")
    assert (outcome.status, "--generic applies to text only" in outcome.err) == (2, True)


def test_bytecode_is_not_written_to_a_terminal(tilec: Any, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    outcome = tilec("opt", source, "--bytecode-version", "13.3")
    assert (outcome.status, outcome.out, "cannot write bytecode to a terminal" in outcome.err) == (2, "", True)


def test_bytecode_is_written_to_redirected_standard_output(source: Path, capfdbinary: Any) -> None:
    from tilec.commands.command_line import main

    assert main(["opt", str(source), "--bytecode-version", "13.3"]) == 0
    assert capfdbinary.readouterr().out[:12] == MAGIC + bytes((13, 3, 0, 0))


def test_tile_gpu_has_no_bytecode(tilec: Any, source: Path) -> None:
    outcome = tilec("opt", source, "--passes", "tile-to-gpu", "-o", source.with_suffix(".tileirbc"))
    assert (outcome.status, "'tile_gpu.kernel' has no form in bytecode" in outcome.err) == (1, True)
