"""What the README shows, as it shows it: its Python runs, its commands succeed."""

import re
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


def commands() -> list[str]:
    """The indented lines after the table of the stages, in order, continued lines joined."""
    text = README.partition("## The stages")[2].replace("\\\n", " ")
    return re.findall(r"^    ((?:tilec|mkdir|python) .*)$", text, re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples and nothing else."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands_succeed_in_order(folder: Path) -> None:
    shown = commands()
    used = {match for line in shown for match in re.findall(r"\btilec (\w+)", line)}
    assert used >= {"compile", "simulate", "interpret", "opt", "dialect", "info"}
    # The Python that runs the tests stands for `python`, and its tilec for the command.
    prelude = f'set -o pipefail; python() {{ "{sys.executable}" "$@"; }}; tilec() {{ python -m tilec "$@"; }}; '
    for line in shown:
        process = subprocess.run(["bash", "-c", prelude + line], capture_output=True, text=True)
        assert process.returncode == 0, f"{line}: {process.stderr}"
    a, b, simulated, interpreted, piped = (np.load(folder / f"{name}.npy") for name in "ABCDE")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    accumulated = 776 * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    for c in (simulated, interpreted, piped):
        assert (np.abs(c - exact) <= accumulated + 2.0**-11 * (np.abs(exact) + accumulated)).all()
