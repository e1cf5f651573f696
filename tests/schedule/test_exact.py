"""The exact scheduler finds the least interval, and the documented schedules again."""

from __future__ import annotations

import pytest
from expert_bodies import BODIES
from small_problems import least_interval, load_and_multiply, random_problem

from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.exact import Budget, search, solver_name
from tilec.lowering.schedule.ladder import rule_roles
from tilec.lowering.schedule.parts import Kind, Operation, ProblemError
from tilec.lowering.schedule.problem import Problem, quantized
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.verify import verify

pytestmark = pytest.mark.skipif(solver_name() is None, reason="needs the extra 'schedule'")

# The proofs that take longer than a second are `soak`.
SLOW = ("attention-hopper-2x64-serial", "gemm-tiles", "attention-parts", "attention-both", "attention-eight-parts")


def test_schedule_of_a_load_and_a_multiply() -> None:
    found = search(load_and_multiply(), (0, 1), None, Budget())
    assert found is not None
    assert (found.schedule, found.is_proven) == (Schedule(40, (0, 100), (0, 1), (4,)), True)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] if name in SLOW else []) for name in BODIES]
)
def test_documented_interval_is_found_and_proven(name: str) -> None:
    body, interval = BODIES[name]
    problem = body()
    rounded = quantized(problem)
    # One tile reaches its interval only with roles of its own choice.
    roles = None if name == "attention-one-tile" else rule_roles(rounded)
    found = search(rounded, roles, None, Budget(improve=0.1))
    assert found is not None
    assert verify(problem, found.schedule) == []
    assert (found.schedule.interval, found.is_proven) == (interval, True)


@pytest.mark.parametrize("seed", range(16))
def test_least_interval_of_random_problems_is_that_of_brute_force(seed: int) -> None:
    problem = random_problem(seed)
    try:
        least = bound(problem).interval
    except ProblemError:
        return
    found = search(problem, None, 2 * least, Budget(improve=0.0))
    if found is None:
        return
    assert found.is_proven
    assert verify(problem, found.schedule) == []
    if len(problem.operations) == 3 and found.schedule.interval <= 48:
        assert least_interval(problem, None, found.schedule.interval) == found.schedule.interval


def test_same_schedule_in_every_run() -> None:
    problem = quantized(BODIES["attention-hopper-2x64"][0]())
    roles = rule_roles(problem)
    first, second = (search(problem, roles, None, Budget(improve=0.05)) for _ in range(2))
    assert first == second


def test_interval_at_the_upper_limit_is_not_searched() -> None:
    assert search(load_and_multiply(), (0, 1), 40, Budget()) is None


def test_problem_without_schedule_ends_the_search() -> None:
    """Two roles of 12 warps each, of which only 16 are allowed."""
    operations = tuple(Operation(name, kind, 8, warps=12) for name, kind in (("a", Kind.ISSUE), ("b", Kind.TILE)))
    assert search(Problem("p", operations), None, None, Budget()) is None
