"""The steady state of loops: intervals of roles in program order, beside intervals counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from expert_bodies import BODIES
from small_problems import random_problem

from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, Use
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.steady_state import steady_state
from tilec.lowering.schedule.verify import verify

LOAD = Operation("load", Kind.STREAM, 30, (Use("tma", 200),))
MMA = Operation("mma", Kind.ISSUE, 50, (Use("tc", 500),))
LATENCY, CROSS = 700, 90


def gemm() -> Problem:
    edges = (Edge("load", "mma", LATENCY, cross=CROSS),)
    buffers = (Buffer("a", "load", (BufferUse("mma", 600),), "shared", 1),)
    return Problem("gemm", (LOAD, MMA), edges, buffers, limits=Limits((Memory("shared", 8),)))


@pytest.mark.parametrize(
    ("slots", "interval"),
    [
        # A slot is in use from the load to the end of the multiply: 700 + 90 + 600 clocks.
        (1, 1390),
        (2, 695),
        # Then the tensor core is always busy.
        (3, 500),
        (8, 500),
    ],
)
def test_slots_hide_the_latency_of_loads(slots: int, interval: int) -> None:
    schedule = steady_state(gemm(), (0, 1), (0, 0), (slots,))
    assert schedule is not None
    assert schedule.interval == interval
    assert schedule.depth == (slots,)


def test_alternating_intervals_end_the_execution() -> None:
    """Two slots alternate between 500 clocks of the tensor core and 890; all iterations would take minutes."""
    schedule = steady_state(gemm(), (0, 1), (0, 0), (2,), iterations=10_000_000)
    assert schedule is not None
    assert schedule.interval == (500 + 890) / 2


def test_steady_state_is_a_legal_schedule() -> None:
    problem = gemm()
    schedule = steady_state(problem, (0, 1), (0, 0), (3,))
    assert schedule is not None
    assert verify(problem, schedule) == []


def test_one_role_waits_for_each_result() -> None:
    """Each iteration waits for its load; the unit of the load does not hold up the role."""
    problem = Problem("copy", (LOAD, Operation("store", Kind.TILE, 40)), (Edge("load", "store", LATENCY),))
    schedule = steady_state(problem, (0, 0), (0, 0), ())
    assert schedule is not None
    assert schedule.interval == LATENCY + 40


def test_short_loads_occupy_their_unit_too() -> None:
    """A load of 30 clocks is issued as fast as it is executed, but waits for the load of 200 clocks before it."""
    short = Operation("short", Kind.STREAM, 30, (Use("tma", 30),))
    schedule = steady_state(Problem("loads", (LOAD, short), ()), (0, 0), (0, 0), ())
    assert schedule is not None
    assert schedule.interval == 200 + 30


def test_loads_of_threads_wait_for_those_of_tma() -> None:
    """Math frees the slot of a stream; the next load waits for that stream, and takes 100 clocks."""
    stream = Operation("stream", Kind.STREAM, 30, (Use("l2", 300),))
    load = Operation("load", Kind.TILE, 40, (Use("l2", 20),))
    math = Operation("math", Kind.TILE, 50)
    ring = Buffer("ring", "stream", (BufferUse("math", 50),), "shared", 1)
    edges = (Edge("load", "math", 100), Edge("stream", "math", 0))
    problem = Problem("both", (stream, load, math), edges, (ring,), limits=Limits((Memory("shared", 2),)))
    schedule = steady_state(problem, (0, 1, 1), (0, 0, 0), (2,))
    assert schedule is not None
    assert schedule.interval == 300 + 100 + 50


@pytest.mark.parametrize("seed", range(200))
def test_no_interval_is_below_the_work_of_a_unit(seed: int) -> None:
    problem = random_problem(seed)
    units = ("tma", "smem")
    operations = tuple(
        replace(operation, uses=tuple(replace(use, unit=units["xy".index(use.unit)]) for use in operation.uses))
        for operation in problem.operations
    )
    roles = tuple(min(number, 1) for number in range(len(operations)))
    schedule = steady_state(replace(problem, operations=operations), roles, [0] * len(roles), [1])
    assert schedule is not None
    for unit in units:
        work = sum(use.busy for operation in operations for use in operation.uses if use.unit == unit)
        assert schedule.interval >= work


def test_operations_ahead_hide_latencies() -> None:
    """s of the next iteration is multiplied while threads compute p: 300 clocks of threads, or 200 of each multiply."""
    s, o = (Operation(name, Kind.ISSUE, 10, (Use("tc", 200),)) for name in "so")
    p = Operation("p", Kind.TILE, 300)
    problem = Problem("chain", (s, p, o), (Edge("s", "p", 200), Edge("p", "o", 300)))
    alone, ahead = (steady_state(problem, (0, 1, 0), (count, 0, 0), ()) for count in (0, 1))
    assert alone is not None and ahead is not None
    # In program order the next s follows o, and o follows p: 200 + 300 + 200 clocks.
    assert (alone.interval, ahead.interval) == (700, 400)


def two_roles_with_exponentials(uses: tuple[Use, ...]) -> Problem:
    """In each of two roles 100 clocks of its own, then 200 clocks of some unit."""
    operations = (
        (Operation(f"own{n}", Kind.TILE, 100), Operation(f"exponential{n}", Kind.TILE, 200, uses)) for n in range(2)
    )
    return Problem("two", tuple(operation for of_role in operations for operation in of_role))


@pytest.mark.parametrize(
    ("use", "interval"),
    [
        # The instructions of both roles alternate, so that each has half of the clocks: 100 + 2 * 200.
        (Use("mufu", 200), 500),
        # Three quarters of the clocks each: 100 + 200 * 2 * 3 / 4.
        (Use("mufu", 150), 400),
        # Half of them each: no role waits.
        (Use("mufu", 100), 300),
    ],
)
def test_roles_that_start_together_slow_each_other_down(use: Use, interval: int) -> None:
    schedule = steady_state(two_roles_with_exponentials((use,)), (0, 0, 1, 1), (0, 0, 0, 0), ())
    assert schedule is not None
    assert schedule.interval == interval


def test_multiplies_are_served_in_the_order_of_arrival() -> None:
    """Two roles with 300 clocks of their own for each multiply of 200: the tensor core separates them, and is hidden.

    The second role gets the result of its first multiply 200 clocks later than the first role, and stays behind it.
    """
    multiplies = [Operation(f"multiply{n}", Kind.ISSUE, 10, (Use("tc", 200),)) for n in range(2)]
    own = [Operation(f"own{n}", Kind.TILE, 300, (Use("mufu", 200),)) for n in range(2)]
    edges = (Edge("multiply0", "own0", 200), Edge("multiply1", "own1", 200))
    problem = Problem("two", (multiplies[0], own[0], multiplies[1], own[1]), edges)
    schedule = steady_state(problem, (0, 0, 1, 1), (0, 0, 0, 0), ())
    assert schedule is not None
    # Only 100 clocks of the exponentials overlap, in which both need two thirds of the unit: 4 / 3 of the clocks.
    assert 500 <= schedule.interval <= 500 + 2 * 100 // 3 + 1


def test_roles_that_wait_for_each_other_have_no_interval() -> None:
    problem = Problem("knot", (LOAD, MMA), (Edge("load", "mma", 1), Edge("mma", "load", 1)))
    assert steady_state(problem, (0, 1), (0, 0), ()) is None


@pytest.mark.parametrize("name", ["gemm-pair", "gemm-128x256"])
def test_documented_multiplies_reach_their_interval_in_program_order(name: str) -> None:
    body, interval = BODIES[name]
    problem = body()
    roles = tuple(0 if operation.kind == Kind.STREAM else 1 for operation in problem.operations)
    schedule = steady_state(problem, roles, [0] * len(roles), [4] * len(problem.buffers))
    assert schedule is not None
    assert schedule.interval <= interval
