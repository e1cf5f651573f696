"""The probes of benchmarks/hopper, which measure constants on a GPU, run in the simulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HOPPER = Path(__file__).parents[2] / "benchmarks" / "hopper"


def test_probes_run_in_the_simulator() -> None:
    """No race, no missing wait, no deadlock, and a row for each measurement."""
    command = [sys.executable, str(HOPPER / "constants.py"), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(" rows, " in line and not line.split(": ")[1].startswith("0 rows") for line in done.stdout.splitlines())
