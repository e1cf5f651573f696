"""Lets tests import the modules beside them, and the kernels of tests/kernels."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "kernels")]
