"""Writes the vector files: `python tests/semantics/generate.py`. Requires mpmath; does not import tilec."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from op_groups import OP_GROUPS, text

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent / "generators"))
    for group, module in OP_GROUPS.items():
        path = Path(__file__).parent / "vectors" / f"{group}.json"
        path.write_text(text(importlib.import_module(module).vectors()))
