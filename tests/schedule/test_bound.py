"""The bound is the greatest of the units, the roles and the recurrences, and states which one it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from expert_bodies import BODIES, attention_blackwell
from small_problems import load_and_multiply

from tilec.lowering.schedule.bound import Bound, bound
from tilec.lowering.schedule.ladder import rule_roles
from tilec.lowering.schedule.parts import Edge, Kind, Limits, Memory, Operation, ProblemError, Use
from tilec.lowering.schedule.problem import Problem, quantized


def test_bound_of_a_unit_is_the_sum_of_its_work() -> None:
    found = bound(load_and_multiply())
    assert (found.interval, found.reason) == (40, "unit tc")


def test_ring_with_few_slots_is_a_recurrence() -> None:
    """From the start of the load to the end of the multiply: 80 + 20 + 60 clocks, in four slots 40 clocks each."""
    problem = load_and_multiply()
    assert bound(problem).interval == 40
    for slots, interval in ((1, 160), (2, 80), (3, 56)):
        memory = Limits((Memory("shared", 1000 * slots),))
        found = bound(replace(problem, limits=memory))
        assert (found.interval, found.reason) == (interval, "recurrence load -> multiply -> load")


def test_carried_value_is_a_recurrence() -> None:
    """A value of the last iteration but one, 100 clocks later: 50 clocks per iteration, rounded up to 52."""
    problem = Problem("p", (Operation("a", Kind.TILE, 8),), (Edge("a", "a", 100, distance=2),))
    assert bound(problem).interval == 52


def test_bound_of_operations_that_take_no_time() -> None:
    assert bound(Problem("p", (Operation("a", Kind.TILE, 0),))) == Bound(0, "no unit")


def test_bound_of_one_long_operation() -> None:
    units = (Use("x", 8), Use("y", 20))
    operations = (Operation("a", Kind.TILE, 24), Operation("b", Kind.TILE, 4, units))
    assert bound(Problem("p", operations)).reason == "duration of a"
    operations = (Operation("a", Kind.TILE, 8, (Use("x", 40),)), Operation("b", Kind.TILE, 4, units))
    assert bound(Problem("p", operations)) == Bound(48, "unit x")


def test_operations_that_share_a_role_are_added_up() -> None:
    operations = tuple(Operation(name, Kind.TILE, 40) for name in "abc")
    problem = Problem("p", operations, (Edge("a", "b", 4, is_same=True),))
    assert (bound(problem).interval, bound(problem).reason) == (80, "instructions of the role of a")
    assert bound(problem, (0, 0, 0)).interval == 120


def test_cycle_without_distance_has_no_interval() -> None:
    operations = tuple(Operation(name, Kind.TILE, 4) for name in "ab")
    problem = Problem("p", operations, (Edge("a", "b", 4), Edge("b", "a", 4)))
    with pytest.raises(ProblemError, match="no interval satisfies the recurrence .*a"):
        bound(problem)


def test_buffers_that_do_not_fit_are_refused() -> None:
    problem = replace(load_and_multiply(), limits=Limits((Memory("shared", 999),)))
    with pytest.raises(ProblemError, match="the buffers need at least 1000 of the memory 'shared', which has 999"):
        bound(problem)


# The intervals of the documented schedules. The one of one tile by rule is 1464: its softmax role has no idle clock.
BOUNDS = {name: interval for name, (_, interval) in BODIES.items()} | {
    # The tensor cores would allow 2048, but the order of the multiplies of a tile does not.
    "attention-hopper-2x64-serial": 2048,
}


@pytest.mark.parametrize("name", BODIES)
def test_bound_of_documented_bodies(name: str) -> None:
    assert bound(quantized(BODIES[name][0]())).interval == BOUNDS[name]


def test_bound_of_one_tile_with_roles_by_rule() -> None:
    problem = quantized(attention_blackwell("p", 1))
    found = bound(problem, rule_roles(problem))
    assert (found.interval, found.reason) == (1464, "instructions of the role of read0")


def test_bound_of_two_tiles_without_crossing_between_roles_is_the_work_of_the_units() -> None:
    """The way through barriers and the slot that scores and weights share make 2864; the units alone 2048."""
    problem = quantized(attention_blackwell("p", 2))
    memories = tuple(replace(memory, capacity=1 << 20) for memory in problem.limits.memories)
    wide = replace(problem, limits=replace(problem.limits, memories=memories))
    assert bound(wide).interval == 2048
    assert bound(wide).reason == "unit tc"
    assert bound(problem).reason.startswith("recurrence ")
