"""Results of the interpreter are bitwise equal to the vectors; every NaN equals every other NaN."""

from __future__ import annotations

from functools import partial

import pytest
from vector_files import Vector
from vector_module import ENTRY, case_of

from tilec.errors import SimulationError
from tilec.runtime.interpret.run import run


def test_vector(vector: Vector) -> None:
    case = case_of(vector)
    printed: list[str] = []

    undefined = vector.get("undefined")

    def execute(values, ranges, check=undefined is None):
        run(case.module, ENTRY, case.grid, values, ranges=ranges, check=check, write=printed.append)

    if undefined is not None:
        with pytest.raises(SimulationError, match=undefined):
            case.run(partial(execute, check=True))
    if case.fails is not None:
        with pytest.raises(SimulationError, match=case.fails):
            case.run(execute)
    else:
        case.run(execute)
    assert "".join(printed) == case.printed
