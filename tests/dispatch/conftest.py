"""Programs that run with the null driver of benchmarks/null_driver.c."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "benchmarks" / "null_driver.c"


@pytest.fixture(scope="session")
def null_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the null driver."""
    folder = tmp_path_factory.mktemp("null_driver")
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, "-o", folder / "libcuda.so.1", SOURCE], check=True)
    return folder


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
