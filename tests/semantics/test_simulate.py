"""Results of the compiled PTX are bitwise equal to the vectors, for every operation and type that compiles.

Matrix multiplies are tested in test_simulate_matrix.py: units round sums of products in more than one way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from vector_facts import element, operations
from vector_files import Vector, named_vectors
from vector_module import case_of

import tilec
from tilec.errors import SimulationError, UnsupportedError

# Maximum errors of CUDA's functions in units in the last place for f32 (CUDA C++ programming guide).
FUNCTION_UNITS = {"cosh": 2, "log": 1, "log2": 1, "sinh": 3, "tan": 4, "tanh": 2}

CASES = [
    pytest.param(vector, id=name)
    for name, vector in named_vectors()
    if not vector.get("operation", "").startswith("mma")
]


def refused(op: Any) -> bool:
    name = op.operation.name.removeprefix("cuda_tile.")
    # Elements of 16 bits are accessed in pairs, and the vectors have rows of 7 elements.
    return name.startswith("multimem") and element(op.view.type) in ("f16", "bf16")


def after_passes(module: tilec.Module) -> Any:
    """The module after the passes on Tile IR, which remove operations without PTX."""
    result = tilec.compile(module, target="sm_100a", stop="tile-opt").stage("tile-opt")
    assert result is not None
    return result.value


def function_units(vector: Vector) -> int:
    of_f32 = any("f32" in tile["type"] for tile in vector.get("results", ()))
    return FUNCTION_UNITS.get(vector.get("operation", ""), 0) if of_f32 else 0


@pytest.mark.parametrize("case", CASES)
def test_compiled_vector(case: Vector) -> None:
    ready = case_of(case)
    module = tilec.Module(ready.module)
    if any(map(refused, operations(ready.module))) and any(map(refused, operations(after_passes(module)))):
        with pytest.raises(UnsupportedError):
            tilec.compile(module, target="sm_100a", stop="ptx")
        return
    compiled = tilec.compile(module, target="sm_100a", stop="ptx")
    allowed = replace(ready, units=max(ready.units, function_units(case)))

    printed: list[str] = []

    def simulate(values, _ranges):
        tilec.run(compiled, ready.grid, values, backend="simulate", unchecked_global=True, print=printed.append)

    if ready.fails is not None:
        with pytest.raises(SimulationError, match=ready.fails):
            allowed.run(simulate)
    else:
        allowed.run(simulate)
    assert "".join(printed) == ready.printed
