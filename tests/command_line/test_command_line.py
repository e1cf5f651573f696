"""`tilec`: version, usage, and internal errors, which are reported without a traceback."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tilec.version import VERSION

KERNELS = Path(__file__).parent / "kernels.py"


def test_version(tilec: Any) -> None:
    assert tilec("--version").out == f"tilec {VERSION}\n"


@pytest.mark.parametrize("arguments", [(), ("unknown",), ("--unknown",)])
def test_invalid_command_has_status_2_and_prints_the_usage(tilec: Any, arguments: tuple[str, ...]) -> None:
    outcome = tilec(*arguments)
    assert (outcome.status, outcome.err.startswith("usage: tilec")) == (2, True)


@pytest.mark.parametrize("command", ["compile", "opt", "simulate", "info"])
def test_each_command_has_help(tilec: Any, command: str) -> None:
    outcome = tilec(command, "--help")
    assert (outcome.status, outcome.out.startswith(f"usage: tilec {command}")) == (0, True)


def test_info_prints_installation_and_backend(tilec: Any) -> None:
    out = tilec("info").out
    for label in ("Python", "torch-mlir", "cuda-bindings", "GPU", "target", "backend"):
        assert label in out


def test_internal_error_is_saved_with_the_command_that_reproduces_it(
    tilec: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    from tilec.lowering.gpu.passes import run as original_run

    def faulty(*_arguments: Any, **_keywords: Any) -> None:
        raise KeyError("lost value")

    monkeypatch.setattr("tilec.lowering.gpu.passes.run", faulty)
    signature = "a: f32[?], b: f32[?], c: f32[?], tile=256"
    outcome = tilec("compile", f"{KERNELS}:add", "--sig", signature, "--hint", "tma=off", "--emit", "ptx")
    assert outcome.status == 1
    assert "stage 'gpu' failed" in outcome.err and "KeyError: 'lost value'" in outcome.err
    assert "Traceback" not in outcome.err
    command = shlex.split(re.search(r"to reproduce: (.*)", outcome.err)[1])
    assert "lost value" in (Path(command[2]).parent / "traceback.txt").read_text()
    assert "tma=off" in command
    again = tilec(*command[1:])
    assert (again.status, "stage 'gpu' failed" in again.err) == (1, True)
    monkeypatch.setattr("tilec.lowering.gpu.passes.run", original_run)
    assert ".entry add" in tilec(*command[1:]).out


def test_closed_output_pipe_is_not_an_internal_error() -> None:
    signature = "a: f32[?], b: f32[?], c: f32[?], tile=256"
    command = [sys.executable, "-m", "tilec", "compile", f"{KERNELS}:add", "--sig", signature]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulat", "x.ptx"], "did you mean 'simulate'?"),
        (["simulate", "x.ptx", "--grid", "4", "--sede=3"], "unrecognized arguments: --sede=3; did you mean '--seed'?"),
        (["simulate", "x.ptx", "--gird", "4"], "unrecognized arguments: --gird 4; did you mean '--grid'?"),
        (["opt", "--pases", "x"], "unrecognized arguments: --pases; did you mean '--passes'?"),
        (["--verson"], "did you mean '--version'?"),
        (["simulate", "x.ptx", "--grid", "4", "--xyz"], "unrecognized arguments: --xyz\n"),
        (["simulate", "--grid", "1"], "the following arguments are required: FILE\n"),
        ([], "the following arguments are required: COMMAND\n"),
    ],
)
def test_misspelt_commands_and_options_have_suggestions(tilec: Any, arguments: list[str], message: str) -> None:
    outcome = tilec(*arguments)
    assert outcome.status == 2
    assert message in outcome.err
