"""Every operation, element type, keyword, flag, optional operand, view, ordering and edge has a vector."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from atomic_vectors import PAIRS
from conversion_vectors import MODES, ROUNDINGS, TARGETS
from matrix_vectors import ACCUMULATORS, SCALED
from required_facts import OPERATIONS, UNDOCUMENTED, Fact, required
from vector_facts import facts
from vector_files import FOLDER
from vector_module import case_of

from tilec.dialect.cuda_tile.conversions import ftof_problem
from tilec.dialect.cuda_tile.operations import mma
from tilec.dialect.cuda_tile.operations.atomic import mode_problem

OP_GROUPS = sorted(FOLDER.glob("*.json"))
MINIMUM_COUNT = 2000


@pytest.fixture(scope="module")
def covered() -> dict[str, set[Fact]]:
    """The facts that each op group covers."""
    return {path.stem: _facts(path) for path in OP_GROUPS}


def _facts(path: Path) -> set[Fact]:
    return {fact for vector in json.loads(path.read_text()) for fact in facts(vector, case_of(vector).module)}


def missing(covered: dict[str, set[Fact]]) -> list[Fact]:
    found = set().union(*covered.values())
    return [fact for fact in dict.fromkeys(required()) if fact not in found]


def test_every_required_fact_has_a_vector(covered: dict[str, set[Fact]]) -> None:
    facts_without = missing(covered)
    assert not facts_without, f"{len(facts_without)} facts without a vector:\n" + "\n".join(
        map(str, facts_without[:40])
    )


@pytest.mark.parametrize("group", [path.stem for path in OP_GROUPS])
def test_every_op_group_has_a_fact_of_its_own(group: str, covered: dict[str, set[Fact]]) -> None:
    assert missing({name: found for name, found in covered.items() if name != group})


def test_undocumented_operations_have_no_vectors(covered: dict[str, set[Fact]]) -> None:
    named = {fact[1] for found in covered.values() for fact in found if fact[0] == "operation"}
    assert named == set(OPERATIONS) - UNDOCUMENTED


def test_number_of_vectors_is_at_least_the_minimum() -> None:
    assert sum(len(json.loads(path.read_text())) for path in OP_GROUPS) > MINIMUM_COUNT


def test_float_conversions_equal_those_of_the_verifier() -> None:
    allowed = {
        (source, target, mode)
        for source, target, mode in product(TARGETS, TARGETS, MODES)
        if ftof_problem(source, target, mode) is None
    }
    rows = [(source, target, modes) for source, row in ROUNDINGS.items() for target, modes in row.items()]
    assert allowed == {(source, target, mode) for source, target, modes in rows for mode in modes}


def test_matrix_types_equal_those_of_the_verifier() -> None:
    assert ACCUMULATORS == mma.ACCUMULATORS
    assert set(SCALED) == {(*pair, shared) for pair, sizes in mma.SCALED_ELEMENTS.items() for shared in sizes}


def test_atomic_types_equal_those_of_the_verifier() -> None:
    names = ("i1", "i8", "i16", "i32", "i64", *TARGETS)
    modes = dict(PAIRS)
    assert {(mode, name) for mode, name in product(modes, names) if mode_problem(mode, name) is None} == set(PAIRS)
