"""Writes the vectors: `python tests/semantics/generate.py`, with mpmath installed. Our own code has no part in them."""

from __future__ import annotations

import importlib
from pathlib import Path

from chapters import CHAPTERS, text

if __name__ == "__main__":
    for chapter, module in CHAPTERS.items():
        path = Path(__file__).parent / "vectors" / f"{chapter}.json"
        path.write_text(text(importlib.import_module(module).vectors()))
