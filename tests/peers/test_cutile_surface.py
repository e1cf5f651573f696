"""The public surface of cuTile Python that docs/compatibility.md lists is that of the installed package."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

FOLDER = Path(__file__).parents[1] / "documents"


def test_data_equals_the_installed_package() -> None:
    try:
        version("cuda-tile")
    except PackageNotFoundError:
        pytest.skip("needs the package cuda-tile")
    program = "import public_surface as p; print(p.text() == p.DATA.read_text())"
    # cuTile Python loads the CUDA driver, which only a new process can replace by a stub.
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=FOLDER)
    if "libcuda" in process.stderr:
        pytest.skip("needs a CUDA driver or a stub of it")
    assert process.stdout.endswith("True\n"), process.stdout + process.stderr
