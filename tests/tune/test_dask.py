"""Candidates compile on the workers of a Dask cluster of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "tune_with_dask.py"


def test_example_tunes_on_a_cluster_of_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra 'dask'")
    process = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "8 succeeded, 0 failed" in process.stdout
    assert "PASSED: best {'TM': 64, 'TN': 64, 'TK': 32}" in process.stdout
