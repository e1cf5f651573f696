"""The script that runs NVIDIA's samples detects mistakes in kernels of cuTile Python."""

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
    "an operand twice": ("add", "addition", "ct.load(b, index=(block,)", "ct.load(a, index=(block,)"),
    "a tile in its old place": ("transpose", "transpose", "index=(j, i)", "index=(i, j)"),
    "a tile of k left out": ("matmul", "matmul", "range(ct.num_tiles(", "range(1, ct.num_tiles("),
    "parts with the rows of the first": ("matmul", "matmul", "parts[row // rows]", "parts[0]"),
    "a sum that is not rescaled": ("attention", "attention", "total * shrink", "total"),
    "a query that does not see its own key": ("attention", "attention", "key <= query", "key < query"),
    "keys beyond the last": ("attention", "attention", "seen = key < keys", "seen = key >= 0"),
    "a ragged row with its padding": (
        "layer norm", "layer_norm", "ct.where(inside(j, size, columns), x - mean, 0)", "x - mean",
    ),
    "a gradient without its mean": ("layer norm", "layer_norm", "normal * along - average", "normal * along"),
    "a sign in a complex product": ("fft", "fft", "a * real - b * imaginary", "a * real + b * imaginary"),
    "tokens of another replica": ("experts", "experts", "tokens // replicas", "tokens % replicas"),
    "shares where none are asked for": ("experts", "experts", "if weighted", "if not weighted"),
    "scales out of order": ("block-scaled matmul", "block_scaled", "(0, 3, 2, 1, 4)", "(0, 1, 2, 3, 4)"),
    "scales of the first block": ("block-scaled matmul", "block_scaled", "load(SB, index=(k,", "load(SB, index=(0,"),
}  # fmt: skip


def write_samples(folder: Path, module: str, right: str, wrong: str) -> None:
    """Writes the kernels of this folder with the files and names of NVIDIA's samples; `module` gets the mistake."""
    samples = importlib.import_module("run_cutile_samples").SAMPLES
    for path in (HERE / "cutile").glob("*.py"):
        text = path.read_text()
        if path.stem == module:
            assert right in text, f"{path.name} does not have '{right}'"
            text = text.replace(right, wrong)
        for name, (file, kernel) in samples.items():
            if f"\ndef {name}(" in text and "@ct.kernel" in text:
                _append(folder / f"{file}.py", text, f"{kernel} = {name}\n")


def _append(path: Path, text: str, alias: str) -> None:
    before = path.read_text() if path.exists() else text
    path.write_text(before + alias)


def output_of(folder: Path, topic: str) -> tuple[int, str]:
    words = [sys.executable, str(HERE / "run_cutile_samples.py"), str(folder), "--topic", topic]
    done = subprocess.run(words, capture_output=True, text=True)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.fixture(autouse=True)
def scripts_beside_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_detected(mistake: str, tmp_path: Path) -> None:
    topic, module, right, wrong = MISTAKES[mistake]
    write_samples(tmp_path, module, right, wrong)
    status, output = output_of(tmp_path, topic)
    assert (status, "WRONG: " in output) == (1, True), output


@pytest.mark.parametrize("topic", sorted({topic for topic, *_ in MISTAKES.values()}))
def test_kernels_without_a_mistake_pass(topic: str, tmp_path: Path) -> None:
    write_samples(tmp_path, "", "", "")
    status, output = output_of(tmp_path, topic)
    assert (status, "WRONG" in output, "right: " in output) == (0, False, True), output
