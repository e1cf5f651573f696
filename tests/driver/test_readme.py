"""What the README shows, as it shows it: its Python runs, its commands succeed."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_python_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "shown.py").write_text(program)
    process = subprocess.run([sys.executable, tmp_path / "shown.py"], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def commands() -> list[list[str]]:
    """The indented lines that begin with tilec, continued lines joined, comments dropped."""
    text = README.replace("\\\n", " ")
    return [shlex.split(line, comments=True) for line in re.findall(r"^    (tilec .*)$", text, re.MULTILINE)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, and the matrices of the README's example."""
    (tmp_path / "out").mkdir()
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    random = np.random.default_rng(0)
    np.save(tmp_path / "A.npy", random.standard_normal((1000, 776), np.float32).astype(np.float16))
    np.save(tmp_path / "B.npy", random.standard_normal((776, 520), np.float32).astype(np.float16))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands_succeed_in_order(folder: Path) -> None:
    shown = commands()
    assert {words[1] for words in shown} == {"compile", "simulate", "interpret", "opt", "dialect", "info"}
    for words in shown:
        called = [sys.executable, "-m", "tilec", *words[1:]]
        process = subprocess.run(called, capture_output=True, text=True)
        assert process.returncode == 0, f"{shlex.join(words)}: {process.stderr}"
    a, b, simulated, interpreted = (np.load(folder / f"{name}.npy") for name in "ABCD")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    accumulated = 776 * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    for c in (simulated, interpreted):
        assert (np.abs(c - exact) <= accumulated + 2.0**-11 * (np.abs(exact) + accumulated)).all()
