"""Each row of the table of docs/checking.md: which of interpreter, simulator and checked build reports a condition."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from undefined_cases import ELEMENTS, PARAMETERS, POISON, TABLE, Case

import tilec
from tilec.errors import SimulationError
from tilec.lowering.tile.expand.insert_checks import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "checking.md").read_text()
CASES = [
    pytest.param(case, id=f"{row.condition.partition(':')[0]} {number}")
    for row in TABLE
    for number, case in enumerate(row.cases)
]
# A wait that never ends stops here.
STEP_LIMIT = 100_000
# The line of the body of a case, after those of the module and the entry.
FIRST_LINE = 3


def text_of(case: Case) -> str:
    return f"cuda_tile.module @m {{ {case.outside}\nentry @k({PARAMETERS}) {{\n{case.body}\nreturn }} }}"


@lru_cache(maxsize=4)
def compiled(case: Case, target: str, checks: bool) -> tilec.Compiled:
    return tilec.compile(text_of(case), target=target, checks=checks, stop="ptx")


def array() -> np.ndarray:
    return np.arange(1, ELEMENTS + 1, dtype=np.int32)


def assert_reported(error: SimulationError, case: Case, expected: str) -> None:
    assert re.search(expected, error.message, re.DOTALL)
    lines = case.body.splitlines()
    assert error.location is not None and FIRST_LINE <= error.location.line < FIRST_LINE + len(lines)


def interpret(case: Case, arguments: tuple[int, int]) -> np.ndarray:
    result = array()
    tilec.run(text_of(case), 1, [result, *arguments], backend="interpret", check=True)
    return result


def simulate(case: Case, arguments: tuple[int, int], target: str, checks: bool) -> np.ndarray:
    result = array()
    program = compiled(case, target, checks)
    tilec.run(program, 1, [result, *arguments], backend="simulate", step_limit=STEP_LIMIT)
    return result


@pytest.mark.parametrize("case", CASES)
def test_interpreter(case: Case) -> None:
    if case.interpreter == POISON:
        assert interpret(case, case.undefined).view(np.uint32)[3] in (0xAAAAAAAA, 0xFFFFFFFF)
    else:
        with pytest.raises(SimulationError) as raised:
            interpret(case, case.undefined)
        assert_reported(raised.value, case, case.interpreter)
    if case.defined is not None:
        interpret(case, case.defined)


@pytest.mark.parametrize("checks", [False, True], ids=["simulator", "checked"])
@pytest.mark.parametrize("case", CASES)
def test_compiled(case: Case, checks: bool, target: str) -> None:
    expected = case.checked if checks else case.simulator_of_warps or case.simulator
    if expected is None:
        result = simulate(case, case.undefined, target, checks)
        assert case.interpreter != POISON or result[3] == 0
    else:
        with pytest.raises(SimulationError) as raised:
            simulate(case, case.undefined, target, checks)
        assert_reported(raised.value, case, expected)
    if case.defined is not None:
        assert np.array_equal(simulate(case, case.defined, target, checks), interpret(case, case.defined))


def test_cells_say_what_the_cases_show() -> None:
    for row in TABLE:
        for cell, texts in (
            (row.interpreter, [case.interpreter for case in row.cases]),
            (row.simulator, [case.simulator for case in row.cases]),
            (row.checked, [case.checked for case in row.cases]),
        ):
            if cell.startswith("error"):
                assert None not in texts and POISON not in texts, row
            elif cell in ("", POISON):
                assert set(texts) == {cell or None}, row
            else:
                assert cell == "outside of the arrays" and {text is None for text in texts} == {True, False}, row


def test_page_has_the_table() -> None:
    table = "\n".join(row.to_text() for row in TABLE)
    assert table in PAGE, f"docs/checking.md: expected the rows\n{table}"


def test_every_check_of_the_compiler_is_in_the_table() -> None:
    bodies = " ".join(case.body for row in TABLE for case in row.cases)
    names = {name: name.removeprefix("cuda_tile.") for name in CHECKS}
    untested = {name for name, short in names.items() if not re.search(rf"\b{re.escape(short)}\b", bodies)}
    # Accesses and extents whose checks are those of others in the table.
    assert untested == {
        "cuda_tile.atomic_red_view_tko",
        "cuda_tile.multimem_load_reduce_view_tko",
        "cuda_tile.multimem_reduce_view_tko",
        "cuda_tile.multimem_store_view_tko",
        "tilex.atomic_red_view_tko",
        "tilex.store_im2col_tko",
        "tilex.store_packed_tko",
        "tilex.get_im2col_index_space_shape",
        "tilex.get_im2col_output_shape",
        "tilex.get_packed_index_space_shape",
    }
