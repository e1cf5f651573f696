"""Results of compiled matrix multiplies are within derived bounds of the vectors, on every unit of both targets.

The vectors have the exact sum, rounded once. A unit truncates or rounds each term of a sum to its fraction bits below
the largest term, so it loses at most one unit of these bits per term, relative to the sum of all magnitudes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from float_vectors import value
from matrix_vectors import product
from rational import FORMATS, decode
from vector_files import Vector, named_vectors
from vector_memory import storage_bits, unpacked
from vector_module import case_of, parts

import tilec
from tilec.errors import UnsupportedError

# Multiplies whose tiles are too small to compile.
REFUSED_OPERATIONS = {"mmaf_scaled"}
CASES = [
    pytest.param(vector, id=name) for name, vector in named_vectors() if vector.get("operation", "").startswith("mma")
]
# The smallest tile that tensor cores of both targets multiply, of any element.
ROWS, COLUMNS, DEPTH = 64, 16, 32
# Fraction bits of sums in f32 and of sums of 8-bit floats by wgmma, and half a unit in the last place of results.
FRACTION_BITS, SHORT_FRACTION_BITS = 23, 13
HALF_UNIT = {"f16": Fraction(1, 2**11), "f32": Fraction(1, 2**24), "f64": Fraction(0), "i32": Fraction(0)}
EXACT = ("f64", "i8")
WITHOUT_TENSOR_CORES = ("f32", "f64")
MULTIPLIES = {"sm_100a": "tcgen05.mma", "sm_90a": "wgmma.mma_async"}


def extents(vector: Vector) -> tuple[int, int, int, int]:
    """Batch, M, N, K."""
    (*batch, rows, depth), _ = parts(vector["operands"][0]["type"])
    return math.prod(batch), rows, parts(vector["operands"][1]["type"])[0][-1], depth


def enlarged(vector: Vector) -> Vector:
    """Repeats rows and columns, and appends zeros along K: each part of the result is that of the vector."""
    sizes = ((ROWS, DEPTH), (DEPTH, COLUMNS), (ROWS, COLUMNS))
    operands = [resized(*row) for row in zip(vector["operands"], sizes, (1, 0, None), strict=True)]
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


def element(vector: Vector) -> str:
    """The element of the operands."""
    return parts(vector["operands"][0]["type"])[1]


def numbers(tile: dict[str, Any]) -> list[Fraction]:
    form = FORMATS[parts(tile["type"])[1]]
    return [value(decode(form, code)) for code in tile["bits"]]


def matrices(values: list[Fraction], batch: int) -> list[list[Fraction]]:
    size = len(values) // batch
    return [values[first : first + size] for first in range(0, len(values), size)]


def tolerances(vector: Vector, target: str) -> list[Fraction]:
    """The bound of each element of a multiply of floats."""
    batch, *shape = extents(vector)
    operands = [matrices([abs(number) for number in numbers(tile)], batch) for tile in vector["operands"]]
    magnitudes = [number for a, b, c in zip(*operands, strict=True) for number in product(a, b, c, *shape)]
    depth = shape[2]
    short = target == "sm_90a" and element(vector).startswith("f8")
    # All products, the accumulator, and the sum itself.
    lost = Fraction(depth + 2, 2 ** (SHORT_FRACTION_BITS if short else FRACTION_BITS))
    half = HALF_UNIT[parts(vector["results"][0]["type"])[1]]
    return [(lost + half) * magnitude for magnitude in magnitudes]


def compiled(vector: Vector, target: str) -> tilec.Compiled:
    return tilec.compile(tilec.Module(case_of(vector).module), target=target, stop="ptx")


def simulated(vector: Vector, kernel: tilec.Compiled) -> list[int]:
    """The bits of the result of the simulator."""
    case = case_of(vector)
    arrays = {name: buffer.allocate() for name, buffer in case.buffers.items()}
    addresses = [arrays[name].ctypes.data for name in case.arguments]
    tilec.run(kernel, case.grid, addresses, backend="simulate", unchecked_global=True)
    result = vector["results"][0]
    return unpacked(arrays["result 0"].tobytes(), storage_bits(parts(result["type"])[1]), len(result["bits"]))


def check(vector: Vector, target: str, kernel: tilec.Compiled) -> None:
    result, found = vector["results"][0], simulated(vector, kernel)
    # The sums of vectors with fast_acc are exact in every order.
    if element(vector) in EXACT or "fast_acc" in vector["attributes"]:
        assert found == result["bits"]
        return
    exact, values = numbers(result), numbers(result | {"bits": found})
    for want, got, tolerance in zip(exact, values, tolerances(vector, target), strict=True):
        assert abs(want - got) <= tolerance


def is_refused(vector: Vector) -> bool:
    return vector["operation"] in REFUSED_OPERATIONS


@pytest.mark.parametrize("target", MULTIPLIES)
@pytest.mark.parametrize("case", CASES)
def test_compiled_multiply(case: Vector, target: str) -> None:
    if is_refused(case):
        with pytest.raises(UnsupportedError):
            compiled(case, target)
        return
    check(case, target, compiled(case, target))


@pytest.mark.parametrize("target", MULTIPLIES)
@pytest.mark.parametrize("case", [row for row in CASES if not is_refused(row.values[0])])
def test_tile_of_the_size_of_tensor_cores(case: Vector, target: str) -> None:
    large = enlarged(case)
    kernel = compiled(large, target)
    assert (MULTIPLIES[target] in kernel.ptx) == (element(case) not in WITHOUT_TENSOR_CORES)
    check(large, target, kernel)
