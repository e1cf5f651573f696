"""The compiled PTX gives what the vectors say, bit for bit, for every operation and type that compiles.

Matrix multiplies are left to tests/kernels: hardware may round sums of products in more than one way.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
from tilec.dialect.mlir import ir
from tilec.errors import UnsupportedError

# Units in the last place that CUDA's functions may be off (CUDA C++ programming guide, mathematical functions), f32.
FUNCTION_UNITS = {"cosh": 2, "log": 1, "log2": 1, "sinh": 3, "tan": 4, "tanh": 2}
# No PTX is made of these: the types have no registers, the operations no lowering. They are refused, not miscompiled.
REFUSED_ELEMENTS = ("f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
REFUSED_OPERATIONS = ("pack", "unpack", "insert")


def _beside(name: str) -> Any:
    """A module beside this file: tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


vectors = _beside("test_interpret")
conftest = _beside("conftest")
CASES = [
    pytest.param(vector, id=f"{number} {conftest.vector_name(vector)}")
    for number, vector in enumerate(conftest.load_vectors())
    if not vector["operation"].startswith("mma")
]


def refused(vector: dict[str, Any]) -> bool:
    elements = {vectors.element_of(tile) for tile in (*vector["operands"], *vector["results"])}
    return bool(elements & set(REFUSED_ELEMENTS)) or vector["operation"] in REFUSED_OPERATIONS


@pytest.mark.parametrize("case", CASES)
def test_compiled_vector(case: dict[str, Any], module_of: Callable[[dict[str, Any]], ir.Module]) -> None:
    module = tilec.Module(module_of(case))
    if refused(case):
        with pytest.raises(UnsupportedError):
            tilec.compile(module, target="sm_100a", stop="ptx")
        return
    inputs = [vectors.stored(tile) for tile in case["operands"]]
    outputs = [np.full_like(vectors.stored(tile), 0x55) for tile in case["results"]]
    compiled = tilec.compile(module, target="sm_100a", stop="ptx")
    addresses = [array.ctypes.data for array in (*inputs, *outputs)]
    tilec.run(compiled, 1, addresses, backend="simulate", unchecked_global=True)
    for tile, output in zip(case["results"], outputs, strict=True):
        element = vectors.element_of(tile)
        units = FUNCTION_UNITS.get(case["operation"], 0) if element == "f32" else case.get("units", 0)
        vectors.compare(output, vectors.stored(tile), element, units)
