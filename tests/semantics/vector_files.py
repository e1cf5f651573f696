"""The vectors as read from their files, with a name for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "vectors"
Vector = dict[str, Any]


def load_group(group: str) -> list[Vector]:
    return json.loads((FOLDER / f"{group}.json").read_text())


def load_vectors() -> list[Vector]:
    return [vector for path in sorted(FOLDER.glob("*.json")) for vector in load_group(path.stem)]


def vector_name(vector: Vector) -> str:
    """The name of a vector in test ids."""
    if "module" in vector:
        return f"{' '.join(vector['operations'])}: {vector['case']}"
    types = [tile["type"] for tile in (*vector["operands"], *vector["results"])]
    attributes = [f"{key}={value}" for key, value in vector["attributes"].items()]
    return " ".join([vector["operation"], *attributes, *types])


def named_vectors() -> list[tuple[str, Vector]]:
    return [(f"{number} {vector_name(vector)}", vector) for number, vector in enumerate(load_vectors())]
