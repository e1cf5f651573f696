"""Each example exits with status 0, without errors, and prints that its result is correct."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# tests/driver/test_upstream_passes.py runs the other one.
NAMES = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "upstream_passes.py")


@pytest.mark.parametrize("name", NAMES)
def test_example_passes(tmp_path: Path, name: str) -> None:
    process = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert "PASSED" in process.stdout and "FAILED" not in process.stdout
