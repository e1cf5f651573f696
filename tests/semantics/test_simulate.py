"""Results of the compiled PTX are bitwise equal to the vectors; refused.py lists refused operations.

Each vector runs on one of the targets, and in `make soak` on the other one too.

Matrix multiplies are tested in test_simulate_matrix.py: units round sums of products in more than one way.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from refused import TARGETS, Refusal, refusal
from vector_facts import operations
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


def refusal_of(module: tilec.Module, target: str) -> Refusal | None:
    """The refusal of a module; passes on Tile IR may remove an operation that the target refuses."""
    found = refusal(operations(module.ir), target)
    if found is None:
        return None
    optimized = tilec.compile(module, target=target, stop="tile-opt").stage("tile-opt")
    assert optimized is not None
    return refusal(operations(optimized.value), target)


def function_units(vector: Vector) -> int:
    of_f32 = any("f32" in tile["type"] for tile in vector.get("results", ()))
    return FUNCTION_UNITS.get(vector.get("operation", ""), 0) if of_f32 else 0


@pytest.mark.covering
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_compiled_vector(case: Vector, target: str) -> None:
    ready = case_of(case)
    module = tilec.Module(ready.module)
    refused = refusal_of(module, target)
    if refused is not None:
        with pytest.raises(UnsupportedError, match=refused.message):
            tilec.compile(module, target=target, stop="ptx")
        return
    compiled = tilec.compile(module, target=target, stop="ptx")
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
