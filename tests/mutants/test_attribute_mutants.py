"""A changed attribute of tile_gpu is rejected, or the simulator reports it, or its result is the same for a reason.

attributes.py runs all mutants; the tests run a sample, which has every attribute.
"""

from __future__ import annotations

import pytest
from attribute_mutations import ATTRIBUTES, Mutation
from attributes import CASES, Case, attribute_mutants, is_detected, original, plan_mutants, reason, survives

# Every n-th mutant of a case, from another first one in each case.
SHARE = 12


@pytest.mark.parametrize("case", CASES, ids=str)
def test_original_kernels_have_the_result_of_the_interpreter(case: Case) -> None:
    assert not is_detected(original(case)[0], case.target, original(case)[1])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mutants_are_detected_or_harmless(case: Case) -> None:
    mutants: list[tuple[str, Mutation | int]] = [*attribute_mutants(case), *plan_mutants(case)]
    for name, mutant in mutants[CASES.index(case) % SHARE :: SHARE]:
        assert reason(name) is not None or not survives(case, mutant), name


def test_every_attribute_has_mutants() -> None:
    found = {mutation.attribute for case in CASES for _, mutation in attribute_mutants(case)}
    assert found == set(ATTRIBUTES)
