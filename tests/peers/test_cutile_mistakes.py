"""The script that runs NVIDIA's samples detects mistakes in cuTile Python kernels."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
# A topic, the file of its kernels, a line of the file, and its replacement, which is a mistake.
MISTAKES = {
    "the first operand twice": ("add", "addition", "ct.load(b, index=(block,)", "ct.load(a, index=(block,)"),
    "a tile stored at its old index": ("transpose", "transpose", "index=(j, i)", "index=(i, j)"),
    "the first tile of k skipped": ("matmul", "matmul", "range(ct.num_tiles(", "range(1, ct.num_tiles("),
    "rows of the first part only": ("matmul", "matmul", "parts[row // rows]", "parts[0]"),
    "a sum that is not rescaled": ("attention", "attention", "total * rescale", "total"),
    "a causal mask without the diagonal": ("attention", "attention", "key <= query", "key < query"),
    "keys after the last one not masked": ("attention", "attention", "visible = key < keys", "visible = key >= 0"),
    "padding of a partial row not masked": (
        "layer norm", "layer_norm", "ct.where(inside(j, size, columns), x - mean, 0)", "x - mean",
    ),
    "a gradient that keeps its mean": ("layer norm", "layer_norm", "normal * along - average", "normal * along"),
    "a wrong sign in a complex product": ("fft", "fft", "a * real - b * imaginary", "a * real + b * imaginary"),
    "tokens of another replica": ("experts", "experts", "tokens // replicas", "tokens % replicas"),
    "shares applied to the wrong product": ("experts", "experts", "if weighted", "if not weighted"),
    "scales not permuted": ("block-scaled matmul", "block_scaled", "(0, 3, 2, 1, 4)", "(0, 1, 2, 3, 4)"),
    "scales of block 0 only": ("block-scaled matmul", "block_scaled", "load(SB, index=(k,", "load(SB, index=(0,"),
}  # fmt: skip


def write_samples(folder: Path, module: str, original: str, replacement: str) -> None:
    """Writes the kernels of this folder with the files and names of NVIDIA's samples; `module` contains the mistake."""
    samples = importlib.import_module("run_cutile_samples").SAMPLES
    for path in (HERE / "cutile").glob("*.py"):
        text = path.read_text()
        if path.stem == module:
            assert original in text, f"{path.name} does not have '{original}'"
            text = text.replace(original, replacement)
        for name, (file, kernel) in samples.items():
            if f"\ndef {name}(" in text and "@ct.kernel" in text:
                _append(folder / f"{file}.py", text, f"{kernel} = {name}\n")


def _append(path: Path, text: str, alias: str) -> None:
    before = path.read_text() if path.exists() else text
    path.write_text(before + alias)


def output_of(folder: Path, topic: str) -> tuple[int, str]:
    command = [sys.executable, str(HERE / "run_cutile_samples.py"), str(folder), "--topic", topic]
    process = subprocess.run(command, capture_output=True, text=True)
    assert not process.stderr
    return process.returncode, process.stdout


@pytest.fixture(autouse=True)
def import_path_of_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_detected(mistake: str, tmp_path: Path) -> None:
    topic, module, original, replacement = MISTAKES[mistake]
    write_samples(tmp_path, module, original, replacement)
    status, output = output_of(tmp_path, topic)
    assert (status, "WRONG: " in output) == (1, True), output


@pytest.mark.parametrize("topic", sorted({topic for topic, *_ in MISTAKES.values()}))
def test_kernels_without_a_mistake_pass(topic: str, tmp_path: Path) -> None:
    write_samples(tmp_path, "", "", "")
    status, output = output_of(tmp_path, topic)
    assert (status, "WRONG" in output, "correct: " in output) == (0, False, True), output
