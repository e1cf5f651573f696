"""Adds this folder, and that of the generated pages, to the import path, because tests are not a package."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in (".", "pages")]
# docs/tensor_core.md shows programs of these folders.
sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("kernels", "ptxsim")]
