"""tests/semantics/float_conversions.json has the rounding modes that tileirdisasm accepts.

`python tests/peers/tile_ir/test_float_conversions.py` queries tileirdisasm again and writes the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "semantics" / "float_conversions.json"
FLOATS = ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
MODES = ("nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away")

pytestmark = pytest.mark.peers


def accepted_modes(folder: Path) -> dict[str, dict[str, list[str]]]:
    """The modes of a conversion that tileirdisasm accepts for each pair of element types, in the order of MODES."""
    return {source: {target: _modes(source, target, folder) for target in FLOATS} for source in FLOATS}


def _modes(source: str, target: str, folder: Path) -> list[str]:
    return [mode for mode in MODES if _is_accepted(source, target, mode, folder)]


def _is_accepted(source: str, target: str, mode: str, folder: Path) -> bool:
    from tile_tools import tool

    from tilec.dialect.assembly.reader import read_module
    from tilec.dialect.bytecode.version import NEWEST
    from tilec.dialect.bytecode.writing.writer import write_module

    text = (
        "cuda_tile.module @m { entry @k() {\n"
        f"  %x = constant <{source}: 1.0> : tile<2x{source}>\n"
        f"  %y = ftof %x rounding<{mode}> : tile<2x{source}> -> tile<2x{target}>\n}} }}"
    )
    path = folder / "conversion.tileirbc"
    # The module is written without verification, so that tileirdisasm decides.
    path.write_bytes(write_module(read_module(text, "conversion.mlir"), NEWEST, "conversion.mlir"))
    return subprocess.run([tool("tileirdisasm"), path], capture_output=True).returncode == 0


def test_modes_equal_those_accepted_by_tileirdisasm(tmp_path: Path) -> None:
    assert json.loads(FILE.read_text()) == accepted_modes(tmp_path)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(json.dumps(accepted_modes(Path(folder)), indent=1) + "\n")
