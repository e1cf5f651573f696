"""Outputs: a full device is an error of the user, files are whole or absent, and no output replaces the source."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KERNELS = Path(__file__).parent / "kernels.py"
SIGNATURE = "a: f32[?], b: f32[?], c: f32[?], tile=256"
FULL = Path("/dev/full")
needs_a_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@pytest.fixture
def module(tilec: Any, tmp_path: Path) -> Path:
    file = tmp_path / "add.tile.mlir"
    assert tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "tile", "-o", file).status == 0
    return file


@needs_a_full_device
@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "MODULE", "-o", FULL),
        ("compile", "MODULE", "--explain", "memory", "--svg", FULL),
        ("opt", "MODULE", "-o", FULL),
        ("opt", "MODULE", "-o", FULL, "--bytecode-version", "13.1"),
        ("dialect", "--irdl", "-o", FULL),
    ],
)
def test_full_device(tilec: Any, module: Path, arguments: tuple[object, ...]) -> None:
    outcome = tilec(*(module if argument == "MODULE" else argument for argument in arguments))
    assert outcome.status == 1
    assert outcome.err.splitlines()[-1] == f"error: cannot write {FULL}: No space left on device"


@needs_a_full_device
@pytest.mark.parametrize("arguments", [("dialect", "cuda_tile"), ("compile", "MODULE", "--json")])
def test_full_standard_output(module: Path, arguments: tuple[str, ...]) -> None:
    command = [str(module) if argument == "MODULE" else argument for argument in arguments]
    with open(FULL, "w") as output:
        process = subprocess.run(
            [sys.executable, "-m", "tilec", *command], stdout=output, stderr=subprocess.PIPE, text=True
        )
    assert process.returncode == 1
    assert process.stderr == "error: cannot write standard output: No space left on device\n"


def test_the_output_of_compile_does_not_replace_its_source(tilec: Any, module: Path, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels.py"
    shutil.copy(KERNELS, kernels)
    (tmp_path / "link.ptx").symlink_to(kernels)
    for source, output in ((f"{kernels}:add", kernels), (f"{kernels}:add", tmp_path / "link.ptx"), (module, module)):
        before = output.read_bytes()
        outcome = tilec("compile", source, *(("--sig", SIGNATURE) if source != module else ()), "-o", output)
        assert outcome.status == 2 and output.read_bytes() == before
        assert f"-o {output} is the source, which the output would replace: set -o to another file" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", ""), "the following arguments are required: SRC"),
        (("compile", "MODULE", "--target", ""), "unknown target '': expected one of sm_100a, sm_90a"),
        (("interpret", "MODULE", "--arg", "c.npy:f32[-8]"), "cannot parse the extents of 'c.npy:f32[-8]'"),
        (("interpret", "MODULE", "--arg", "c.npy:f32[4x4]"), "cannot parse the extents of 'c.npy:f32[4x4]'"),
    ],
)
def test_words_that_are_missing_or_wrong(tilec: Any, module: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = tilec(*(module if argument == "MODULE" else argument for argument in arguments))
    assert outcome.status == 2 and message in outcome.err
