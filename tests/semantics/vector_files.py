"""The vectors as their files hold them, and a name for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "vectors"
Vector = dict[str, Any]


def load_vectors() -> list[Vector]:
    return [vector for path in sorted(FOLDER.glob("*.json")) for vector in json.loads(path.read_text())]


def vector_name(vector: Vector) -> str:
    """What stands in the name of a test."""
    if "module" in vector:
        return f"{' '.join(vector['operations'])}: {vector['case']}"
    types = [tile["type"] for tile in (*vector["operands"], *vector["results"])]
    words = [f"{key}={value}" for key, value in vector["attributes"].items()]
    return " ".join([vector["operation"], *words, *types])


def named_vectors() -> list[tuple[str, Vector]]:
    return [(f"{number} {vector_name(vector)}", vector) for number, vector in enumerate(load_vectors())]
