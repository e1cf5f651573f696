"""Makes the kernel builder beside this file importable: tests are not a package (import mode importlib)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
