"""Makes the modules of this folder importable, because tests are not a package (import mode importlib)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
