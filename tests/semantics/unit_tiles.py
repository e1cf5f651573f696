"""Multiplies of vectors, enlarged to tiles that a unit multiplies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from vector_files import Vector
from vector_module import parts

# The smallest tile that tensor cores of both targets multiply, of any element.
ROWS, COLUMNS, DEPTH = 64, 16, 32
# The smallest tile that tensor cores multiply with block scaling.
SCALED_ROWS, SCALED_DEPTH = 128, 64


def extents(vector: Vector) -> tuple[int, int, int, int]:
    """Batch, M, N, K."""
    (*batch, rows, depth), _ = parts(vector["operands"][0]["type"])
    return math.prod(batch), rows, parts(vector["operands"][1]["type"])[0][-1], depth


def enlarged(vector: Vector, rows: int = ROWS, columns: int = COLUMNS) -> Vector:
    """Repeats rows and columns, and appends zeros along K: each part of the result is that of the vector."""
    sizes = [(rows, DEPTH), (DEPTH, columns), (rows, columns)]
    if is_scaled(vector):
        factors = SCALED_DEPTH // scaled_elements(vector)
        sizes = [(SCALED_ROWS, SCALED_DEPTH), (SCALED_DEPTH, COLUMNS), (SCALED_ROWS, COLUMNS)]
        sizes += [(SCALED_ROWS, factors), (factors, COLUMNS)]
    # Scale factors are repeated along K too: those of zeros have no effect.
    depths = (1, 0, *[None] * (len(sizes) - 2))
    operands = [resized(*row) for row in zip(vector["operands"], sizes, depths, strict=True)]
    return vector | {"operands": operands, "results": [resized(vector["results"][0], sizes[2], None)]}


def resized(tile: dict[str, Any], size: tuple[int, int], depth: int | None) -> dict[str, Any]:
    """Each matrix of a tile with `size` rows and columns; `depth` is its axis along K."""
    (*batch, rows, columns), name = parts(tile["type"])
    codes = np.array(tile["bits"], dtype=object).reshape(-1, rows, columns)
    if depth is not None:
        missing = size[depth] - codes.shape[depth + 1]
        codes = np.pad(codes, [(0, missing if axis == depth + 1 else 0) for axis in range(3)], constant_values=0)
    codes = np.tile(codes, (1, size[0] // codes.shape[1], size[1] // codes.shape[2]))
    return {"type": f"tile<{'x'.join(map(str, (*batch, *size)))}x{name}>", "bits": codes.ravel().tolist()}


def is_scaled(vector: Vector) -> bool:
    return vector["operation"] == "mmaf_scaled"


def scaled_elements(vector: Vector) -> int:
    """The number of elements along K that share a scale factor."""
    lhs, scale = (parts(vector["operands"][number]["type"])[0] for number in (0, 3))
    return lhs[-1] // scale[-1]
