"""Results of compiled matrix multiplies are within derived bounds of the vectors, on every unit of both targets.

The vectors have the exact sum, rounded once. A unit truncates or rounds each term of a sum to its fraction bits below
the largest term, so it loses at most one unit of these bits per term, relative to the sum of all magnitudes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from float_vectors import value
from matrix_vectors import product
from rational import FORMATS, decode
from unit_tiles import enlarged, extents, is_scaled, scaled_elements
from vector_files import Vector, named_vectors
from vector_memory import storage_bits, unpacked
from vector_module import case_of, parts

import tilec

CASES = [
    pytest.param(vector, id=name) for name, vector in named_vectors() if vector.get("operation", "").startswith("mma")
]
# A fragment of mma.sync, and its transpose.
FRAGMENTS = ((16, 8), (8, 16))
# Scale factors that no tensor core has.
SCALES_WITHOUT_UNIT = ("fnv8E5M3FNU",)
# Fraction bits of sums in f32 and of sums of 8-bit floats by wgmma, and half a unit in the last place of results.
FRACTION_BITS, SHORT_FRACTION_BITS = 23, 13
HALF_UNIT = {"f16": Fraction(1, 2**11), "f32": Fraction(1, 2**24), "f64": Fraction(0), "i32": Fraction(0)}
EXACT = ("f64", "i8")
WITHOUT_TENSOR_CORES = ("f32", "f64")
MULTIPLIES = {"sm_100a": "tcgen05.mma", "sm_90a": "wgmma.mma_async"}


def element(vector: Vector) -> str:
    """The element of the operands."""
    return parts(vector["operands"][0]["type"])[1]


def numbers(tile: dict[str, Any]) -> list[Fraction]:
    form = FORMATS[parts(tile["type"])[1]]
    return [value(decode(form, code)) for code in tile["bits"]]


def scaled_operands(vector: Vector) -> list[list[Fraction]]:
    """The elements of lhs, rhs and the accumulator; those of lhs and rhs times their scale factors, if any."""
    lhs, rhs, accumulator, *scales = map(numbers, vector["operands"])
    if scales:
        shared = scaled_elements(vector)
        columns = extents(vector)[2]
        lhs = [x * scales[0][at // shared] for at, x in enumerate(lhs)]
        rhs = [y * scales[1][at // columns // shared * columns + at % columns] for at, y in enumerate(rhs)]
    return [lhs, rhs, accumulator]


def matrices(values: list[Fraction], batch: int) -> list[list[Fraction]]:
    size = len(values) // batch
    return [values[first : first + size] for first in range(0, len(values), size)]


def tolerances(vector: Vector, target: str) -> list[Fraction]:
    """The bound of each element of a multiply of floats."""
    batch, *shape = extents(vector)
    operands = [matrices([abs(number) for number in values], batch) for values in scaled_operands(vector)]
    magnitudes = [number for a, b, c in zip(*operands, strict=True) for number in product(a, b, c, *shape)]
    depth = shape[2]
    short = target == "sm_90a" and element(vector).startswith("f8") and not is_scaled(vector)
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


@pytest.mark.parametrize("target", MULTIPLIES)
@pytest.mark.parametrize("case", CASES)
def test_compiled_multiply(case: Vector, target: str) -> None:
    check(case, target, compiled(case, target))


@pytest.mark.covering
@pytest.mark.parametrize("target", MULTIPLIES)
@pytest.mark.parametrize("case", CASES)
def test_tile_of_the_size_of_tensor_cores(case: Vector, target: str) -> None:
    large = enlarged(case)
    elements = {parts(tile["type"])[1] for tile in case["operands"]}
    has_unit = target == "sm_100a" and not set(SCALES_WITHOUT_UNIT) & elements
    kernel = compiled(large, target)
    assert ("block_scale" in kernel.ptx) == (is_scaled(case) and has_unit)
    assert (MULTIPLIES[target] in kernel.ptx) == (element(case) not in WITHOUT_TENSOR_CORES)
    check(large, target, kernel)


@pytest.mark.covering
@pytest.mark.parametrize("target", MULTIPLIES)
@pytest.mark.parametrize("fragment", FRAGMENTS, ids=str)
@pytest.mark.parametrize("case", [row for row in CASES if not is_scaled(row.values[0])])
def test_tile_of_one_fragment(case: Vector, fragment: tuple[int, int], target: str) -> None:
    large = enlarged(case, *fragment)
    kernel = compiled(large, target)
    assert ("mma.sync" in kernel.ptx) == (element(case) != "f32")
    check(large, target, kernel)
