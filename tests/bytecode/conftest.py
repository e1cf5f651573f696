"""Makes the modules of this folder importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in (".", "reading")]
