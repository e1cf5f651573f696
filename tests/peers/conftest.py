"""Adds this folder, the samples of tests/bytecode and the kernels of other folders to the import path."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / area) for area in ("peers", "bytecode", "kernels", "gpu_to_ptx", "tile")]
