"""The probes of benchmarks/hopper, which measure constants on a GPU, run in the simulator."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HOPPER = Path(__file__).parents[2] / "benchmarks" / "hopper"


def test_probes_run_in_the_simulator() -> None:
    """No race, no missing wait, no deadlock, and a row for each measurement."""
    command = [sys.executable, str(HOPPER / "constants.py"), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\w+: (\d+) rows, ", done.stdout, re.MULTILINE)
    assert len(rows) == len(done.stdout.splitlines()) > 10
    assert "0" not in rows
