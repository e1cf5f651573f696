"""Commands in a pipe: each command reads `-`, and reads the output of the previous command."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

KERNELS = Path(__file__).parent / "kernels.py"
SIGNATURE = "a: f32[?], b: f32[?], c: f32[?], tile=256"
STAGES = ("tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir", "ptx")


@pytest.fixture
def piped(tilec: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command with `content` as its standard input: `piped(content, argument, ...)`."""

    def run(content: str | bytes, *command: object) -> Any:
        data = content if isinstance(content, bytes) else content.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return tilec(*command)

    return run


@pytest.fixture
def arguments(tmp_path: Path) -> list[object]:
    a, b = np.random.default_rng(0).standard_normal((2, 1000), np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    values = [tmp_path / "a.npy", tmp_path / "b.npy", f"{tmp_path / 'c.npy'}:f32[1000]"]
    return ["--grid", 4, *(part for value in values for part in ("--arg", value))]


def is_sum(folder: Path) -> bool:
    a, b, c = (np.load(folder / f"{name}.npy") for name in "abc")
    return np.array_equal(c, a + b)


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_is_simulated_from_a_pipe(
    tilec: Any, piped: Any, arguments: list[object], tmp_path: Path, stage: str
) -> None:
    compiled = tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", stage)
    outcome = piped(compiled.out, "simulate", "-", *arguments)
    assert (outcome.status, outcome.err) == (0, "")
    assert is_sum(tmp_path)


def test_opt_compile_simulate(tilec: Any, piped: Any, arguments: list[object], tmp_path: Path) -> None:
    tile = tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "tile").out
    optimised = piped(tile, "opt", "-", "--passes", "simplify,cse").out
    ptx = piped(optimised, "compile", "-").out
    assert piped(ptx, "simulate", "-", *arguments).status == 0
    assert is_sum(tmp_path)
    assert piped(optimised, "interpret", "-", *arguments).status == 0


def test_bytecode_in_a_pipe(tilec: Any, piped: Any, tmp_path: Path) -> None:
    tile = tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "tile").out
    assert piped(tile, "opt", "-", "-o", tmp_path / "k.tileirbc").status == 0
    assert ".visible .entry add(" in piped((tmp_path / "k.tileirbc").read_bytes(), "compile", "-").out


def test_cubin_of_piped_ptx_has_its_metadata(tilec: Any, piped: Any, tmp_path: Path) -> None:
    ptx = tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE).out
    assert piped(ptx, "compile", "-", "--emit", "cubin", "-o", tmp_path / "k.cubin").status == 0
    metadata = json.loads((tmp_path / "k.launch.json").read_text())
    assert [argument["name"] for argument in metadata["arguments"]] == ["a", "b", "c", "tile"]


def test_invalid_metadata_comment_is_an_error(tilec: Any, piped: Any, arguments: list[object]) -> None:
    ptx = tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE).out
    outcome = piped(ptx.replace('"block": [', '"block": [0, '), "simulate", "-", *arguments)
    assert (outcome.status, "launch metadata of <stdin>: 'block' needs a list of 3" in outcome.err) == (1, True)


@pytest.mark.parametrize("command", ["compile", "opt", "interpret", "simulate"])
@pytest.mark.parametrize(
    ("content", "message"),
    [(bytes(range(1, 256)), "<stdin> is neither text nor Tile IR bytecode"), (b"\0\1", "NUL byte at offset 0")],
)
def test_invalid_bytes_are_an_error(piped: Any, command: str, content: bytes, message: str) -> None:
    outcome = piped(content, command, "-", *(("--grid", 1) if command in ("interpret", "simulate") else ()))
    assert (outcome.status, outcome.out) == (1, "")
    assert message in outcome.err and "bug in tilec" not in outcome.err


def test_cubin_is_written_to_standard_output_but_not_to_a_terminal(
    capfdbinary: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    from tilec.commands.command_line import main

    command = ["compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "cubin"]
    assert main(command) == 0
    assert capfdbinary.readouterr().out[:4] == b"\x7fELF"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(command) == 2
    assert b"cannot write a cubin to a terminal" in capfdbinary.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_compile_reads_python_from_a_pipe(tilec: Any, piped: Any) -> None:
    from_file = tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "tile")
    from_pipe = piped(KERNELS.read_text(), "compile", "-", "--entry", "add", "--sig", SIGNATURE, "--emit", "tile")
    assert (from_pipe.status, from_pipe.err) == (0, "")
    assert from_pipe.out == from_file.out


def test_mistake_in_python_from_a_pipe_shows_its_line(piped: Any) -> None:
    program = "import tilec as ct\n@ct.kernel\ndef kernel(x):\n    ct.store(x, 0, unknown)\n"
    outcome = piped(program, "compile", "-", "--sig", "x: i32[?]")
    assert outcome.status == 1
    assert outcome.err.splitlines()[0] == "<stdin>:4:20: error: unknown name 'unknown'"
    assert outcome.err.splitlines()[1] == "        ct.store(x, 0, unknown)"


def test_python_with_several_kernels_needs_a_name(piped: Any) -> None:
    outcome = piped(KERNELS.read_text(), "compile", "-", "--sig", SIGNATURE)
    assert outcome.status == 1
    assert "expected one kernel in <stdin>" in outcome.err
    assert "select one with --entry NAME" in outcome.err
