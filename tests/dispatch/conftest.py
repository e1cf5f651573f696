"""Programs that run with the null driver of benchmarks/null_driver.c."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def run_program(null_driver: Path) -> Callable[..., list[str]]:
    """The lines that a program prints, which imports `launching` of this folder."""

    def run(program: str, **settings: str) -> list[str]:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(null_driver), "PYTHONPATH": str(HERE), **settings}
        command = [sys.executable, "-c", "from launching import *\n" + program]
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout.splitlines()

    return run
