"""The list schedule obeys every rule, is not below the bound, and reaches it where one class of roles is busy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from expert_bodies import BODIES
from small_problems import least_interval, load_and_multiply, random_problem

from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.ladder import rule_roles
from tilec.lowering.schedule.list_schedule import list_schedule, schedule_at, sequential
from tilec.lowering.schedule.parts import Limits, Memory, ProblemError
from tilec.lowering.schedule.problem import QUANTUM, quantized
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.verify import verify


def test_schedule_of_a_load_and_a_multiply() -> None:
    problem = load_and_multiply()
    schedule = list_schedule(problem, (0, 1))
    # The multiply of iteration 0 starts when its operand has arrived, 2.5 intervals later; four slots are in flight.
    assert schedule == Schedule(40, (0, 100), (0, 1), (4,))


@pytest.mark.parametrize("name", BODIES)
def test_documented_bodies(name: str) -> None:
    problem = BODIES[name][0]()
    rounded = quantized(problem)
    roles = rule_roles(rounded)
    schedule = list_schedule(rounded, roles)
    assert schedule is not None
    assert verify(problem, schedule) == []
    assert schedule.interval >= bound(rounded, roles).interval
    assert schedule == list_schedule(rounded, roles)


@pytest.mark.parametrize("name", ["gemm-pair", "gemm-128x256", "softmax-32kb-sm_100a", "attention-hopper-3x64"])
def test_bound_is_reached(name: str) -> None:
    problem = quantized(BODIES[name][0]())
    schedule = list_schedule(problem, rule_roles(problem))
    assert schedule is not None
    assert schedule.interval == bound(problem).interval


def test_no_schedule_is_missed_between_two_attempts() -> None:
    """Bodies for which no attempt succeeds at the bound: one a clock of the quantum below fails, too."""
    longer = 0
    for name in BODIES:
        problem = quantized(BODIES[name][0]())
        roles = rule_roles(problem)
        schedule = list_schedule(problem, roles)
        assert schedule is not None
        if schedule.interval > bound(problem, roles).interval:
            longer += 1
            assert schedule_at(problem, roles, schedule.interval - QUANTUM) is None
    assert longer >= 2


def test_random_problems() -> None:
    """bound <= least interval by brute force <= list schedule."""
    compared = 0
    for seed in range(12):
        problem = random_problem(seed)
        roles = rule_roles(problem)
        schedule = list_schedule(problem, roles)
        if schedule is None or verify(problem, schedule):
            continue
        compared += 1
        least = least_interval(problem, roles, schedule.interval) if len(problem.operations) == 3 else None
        assert bound(problem, roles).interval <= (least or schedule.interval) <= schedule.interval
    assert compared >= 8


def test_sequential_schedule_is_legal() -> None:
    problem = load_and_multiply()
    schedule = sequential(problem, (0, 1))
    assert schedule is not None
    assert (schedule.interval, schedule.start, verify(problem, schedule)) == (160, (0, 100), [])


def test_sequential_schedule_needs_the_memory_of_one_iteration() -> None:
    schedules = [
        sequential(replace(load_and_multiply(), limits=Limits((Memory("shared", size),))), (0, 1))
        for size in (1000, 4000)
    ]
    assert [schedule and schedule.depth for schedule in schedules] == [(1,), (1,)]
    with pytest.raises(ProblemError, match="at least 1000 of the memory 'shared', which has 999"):
        sequential(replace(load_and_multiply(), limits=Limits((Memory("shared", 999),))), (0, 1))
