"""The examples run in the interpreter, without the lowering."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TILEC_BACKEND": "interpret"}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


SMALL = ["vector_add.py", "softmax.py", "convolution.py", "convolution_gradients.py", "pooling.py", "depthwise.py"]


@pytest.mark.parametrize("name", SMALL)
def test_small_examples(name: str) -> None:
    done = run(name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PASSED" in done.stdout and "FAILED" not in done.stdout


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32", "f32"])
def test_matmul_of_random_matrices(tmp_path: Path, dtype: str) -> None:
    done = run("matmul.py", "--dtype", dtype, "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1000 x 776 times 776 x 520" in done.stdout and "PASSED: every element" in done.stdout
    assert (tmp_path / "matmul.tile.mlir").read_text().startswith("cuda_tile.module @kernels")


def test_matmul_of_matrices_in_files(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    for name, shape in (("a", (50, 40)), ("b", (40, 24))):
        np.save(tmp_path / f"{name}.npy", random.standard_normal(shape, np.float32))
    files = ("--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy"))
    done = run("matmul.py", *files, "--tile", "32,16,16", "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "50 x 40 times 40 x 24 in tf32, tiles of 32 x 16 x 16" in done.stdout


def test_wrong_product_is_reported(tmp_path: Path) -> None:
    # The script with a wrong index in its kernel.
    broken = (EXAMPLES / "matmul.py").read_text().replace("(step, column)", "(column, step)")
    (tmp_path / "broken.py").write_text(broken)
    done = run(str(tmp_path / "broken.py"), "--out", str(tmp_path))
    assert done.returncode == 1
    assert "FAILED: an element exceeds its tolerance" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--a", "nowhere.npy"), 1, "expected both --a and --b, or neither"),
        (("--a", "nowhere.npy", "--b", "nowhere.npy"), 1, "cannot read nowhere.npy"),
        (("--tile", "100,128,64"), 1, "expected extents that are powers of two, got 100"),
        (("--target", "sm_70"), 1, "sm_70"),
    ],
)
def test_invalid_arguments_are_errors_without_a_traceback(
    tmp_path: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    done = run("matmul.py", *arguments, "--out", str(tmp_path))
    assert done.returncode == status or status == 1 and done.returncode == 2
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
