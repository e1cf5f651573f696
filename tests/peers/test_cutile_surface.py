"""The public surface of cuTile Python that docs/compatibility.md lists is that of the installed package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

FOLDER = Path(__file__).parents[1] / "documents"


def test_data_equals_the_installed_package(null_driver: Path) -> None:
    program = "import public_surface as p; print(p.text() == p.DATA.read_text())"
    # cuTile Python loads the CUDA driver, for which only a new process can have a stand-in.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(null_driver)}
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=FOLDER, env=environment
    )
    assert process.stdout.endswith("True\n"), process.stdout + process.stderr
