"""Makes the modules of this folder importable, because tests are not a package (import mode importlib)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent / folder) for folder in (".", "matrix")]
