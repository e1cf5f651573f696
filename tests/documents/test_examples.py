"""Each example exits with status 0, without errors, and prints that its result is correct."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# tests/driver/python/test_upstream_passes.py and tests/tune/test_dask.py run the other ones.
OTHERS = ("upstream_passes.py", "tune_with_dask.py")
NAMES = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in OTHERS)


@pytest.mark.parametrize("name", NAMES)
def test_example_passes(tmp_path: Path, name: str) -> None:
    process = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert "PASSED" in process.stdout and "FAILED" not in process.stdout
