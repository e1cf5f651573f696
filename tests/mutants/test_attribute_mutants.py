"""A changed attribute of tile_gpu is rejected, or the simulator reports it, or its result is the same for a reason.

attributes.py runs all mutants; the tests run a sample, which has every attribute.
"""

from __future__ import annotations

import pytest
from attribute_mutations import ATTRIBUTES
from attributes import (
    CASES,
    SURVIVES,
    Case,
    attribute_mutants,
    compiled,
    fate,
    has_its_result,
    mutants,
    pass_mutants,
    reason,
)
from pass_mutations import PASS_MUTATIONS

# Every n-th mutant of a case, from another first one in each case.
SHARE = 12
# The kernels with several roles that compute have many more mutants.
SHARES = {"two chains": 60, "two chains over scores": 60}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_original_kernels_have_the_result_of_the_interpreter(case: Case) -> None:
    assert has_its_result(case, compiled(case))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mutants_are_detected_or_harmless(case: Case) -> None:
    for name, mutant in mutants(case)[CASES.index(case) % SHARE :: SHARES.get(case.kernel, SHARE)]:
        assert reason(name) is not None or fate(case, mutant) != SURVIVES, name


def test_every_attribute_has_mutants() -> None:
    found = {mutation.attribute for case in CASES for _, mutation in attribute_mutants(case)}
    assert found == set(ATTRIBUTES)
    assert {mutation.name for case in CASES for _, mutation in pass_mutants(case)} == set(PASS_MUTATIONS)
