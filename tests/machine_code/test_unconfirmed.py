"""The kernels that show on a GPU what the hint allow_unconfirmed relies on are right in the simulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "unconfirmed.py"


def test_each_behavior_runs_in_the_simulator() -> None:
    """NaN fill and descriptors that start at any row on both targets; halos, .ashift and masks on sm_100a."""
    command = [sys.executable, str(PROGRAM), "--simulate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(": ")[:2] for line in done.stdout.splitlines()]
    assert rows == [*[["sm_90a", "simulated"]] * 3, *[["sm_100a", "simulated"]] * 6]
