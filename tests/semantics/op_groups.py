"""The op groups of vectors, the module that generates each, and the text of their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

OP_GROUPS = {
    "arith": "integer_vectors",
    "float": "float_vectors",
    "convert": "conversion_vectors",
    "math": "function_vectors",
    "mma": "matrix_vectors",
    "shape": "shape_vectors",
    "constant": "constant_vectors",
    "layout": "layout_vectors",
    "reduce": "reduce_vectors",
    "pointer": "pointer_vectors",
    "memory": "memory_vectors",
    "view": "view_vectors",
    "atomic": "atomic_vectors",
    "multimem": "multimem_vectors",
    "control": "control_vectors",
    "debug": "debug_vectors",
    "assume": "assume_vectors",
    "entry": "entry_vectors",
}


def text(vectors: Iterator[dict[str, Any]]) -> str:
    """One vector per line, for readable diffs."""
    lines = ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors)
    return f"[\n{lines}\n]\n"
