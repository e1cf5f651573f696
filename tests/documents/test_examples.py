"""Each example runs to its end, writes nothing but what it is told to, and says that its result is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["matmul.py", "softmax.py", "vector_add.py"])
def test_example_is_right(tmp_path: Path, name: str) -> None:
    process = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert "PASSED" in process.stdout and "FAILED" not in process.stdout
