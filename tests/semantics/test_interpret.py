"""The interpreter gives what the vectors say, bit for bit; any NaN stands for any other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tilec.dialect.mlir import ir
from tilec.runtime.interpret.run import run

BITS = {"i1": 8, "bf16": 16, "tf32": 32, "f4E2M1FN": 4, "fnv8E5M3FNU": 8}
# Exponent and fraction bits of the types that have a NaN, and whether only the code of all ones is one.
NAN_FIELDS = {
    "f16": (5, 10, False),
    "bf16": (8, 7, False),
    "f32": (8, 23, False),
    "tf32": (8, 23, False),
    "f64": (11, 52, False),
    "f8E5M2": (5, 2, False),
    "f8E4M3FN": (4, 3, True),
}


def element_of(tile: dict[str, Any]) -> str:
    return re.search(r"(?:x|<)(\w+?)>$", re.sub(r"\d+x", "x", tile["type"]))[1].lstrip("x")


def storage_bits(element: str) -> int:
    return BITS.get(element) or int(re.match(r"[fi](\d+)", element)[1])


def stored(tile: dict[str, Any]) -> np.ndarray:
    """The tile as memory holds it."""
    bits = storage_bits(element_of(tile))
    if bits == 4:
        codes = np.array(tile["bits"], np.uint8)
        return codes[0::2] | codes[1::2] << 4
    return np.array(tile["bits"], f"u{bits // 8}")


def ordered(codes: np.ndarray, element: str) -> np.ndarray:
    """Codes with every NaN made the same one, as integers that grow with the value they stand for."""
    if element not in NAN_FIELDS:
        return codes.astype(object)
    exponent, fraction, ones = NAN_FIELDS[element]
    magnitude = codes & codes.dtype.type((1 << exponent + fraction) - 1)
    infinite = ((1 << exponent) - 1) << fraction
    nan = magnitude == (1 << exponent + fraction) - 1 if ones else magnitude > infinite
    negative = codes >> codes.dtype.type(exponent + fraction) == 1
    # Both zeros stay apart: the negative one stands half a step below the positive one.
    numbers = np.where(negative, -2 * magnitude.astype(object) - 1, 2 * magnitude.astype(object))
    return np.where(nan, None, numbers)


def test_vector(vector: dict[str, Any], module_of: Callable[[dict[str, Any]], ir.Module]) -> None:
    inputs = [stored(tile) for tile in vector["operands"]]
    outputs = [np.full_like(stored(tile), 0x55) for tile in vector["results"]]
    arrays = [*inputs, *outputs]
    ranges = [(array.ctypes.data, array.nbytes, True) for array in arrays]
    run(module_of(vector), "vector", 1, [array.ctypes.data for array in arrays], ranges=ranges, check=True)
    for tile, output in zip(vector["results"], outputs, strict=True):
        compare(output, stored(tile), element_of(tile), vector.get("units", 0))


def compare(got: np.ndarray, expected: np.ndarray, element: str, units: int) -> None:
    a, b = ordered(got, element), ordered(expected, element)
    if not units:
        assert a.tolist() == b.tolist()
        return
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        assert (x is None) == (y is None) and (x is None or abs(x - y) <= 2 * units)
