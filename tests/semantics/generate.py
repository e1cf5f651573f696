"""Writes the vectors: `python tests/semantics/generate.py`, with mpmath installed. Our own code has no part in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import atomic_vectors
import constant_vectors
import conversion_vectors
import float_vectors
import function_vectors
import integer_vectors
import matrix_vectors
import memory_vectors
import multimem_vectors
import pointer_vectors
import shape_vectors
import view_vectors

CHAPTERS = {
    "arith": integer_vectors,
    "float": float_vectors,
    "convert": conversion_vectors,
    "math": function_vectors,
    "mma": matrix_vectors,
    "shape": shape_vectors,
    "memory": memory_vectors,
    "view": view_vectors,
    "atomic": atomic_vectors,
    "pointer": pointer_vectors,
    "constant": constant_vectors,
    "multimem": multimem_vectors,
}


def write(chapter: str, vectors: Iterator[dict[str, Any]]) -> None:
    """One vector a line, so that a change is seen as one."""
    lines = ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors)
    (Path(__file__).parent / "vectors" / f"{chapter}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    for chapter, module in CHAPTERS.items():
        write(chapter, module.vectors())
