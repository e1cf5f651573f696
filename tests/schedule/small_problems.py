"""Small scheduling problems: worked by hand, at random, and their least interval by brute force."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

from tilec.lowering.schedule.list_schedule import ring_depths
from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, RegisterValue, Use
from tilec.lowering.schedule.problem import QUANTUM, Problem
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.verify import verify

Q = QUANTUM


def load_and_multiply() -> Problem:
    """A load of 20 clocks on one unit, and a multiply of 40 on another, 100 clocks after it."""
    return Problem(
        "load-and-multiply",
        (
            Operation("load", Kind.STREAM, 4, (Use("tma", 20),)),
            Operation("multiply", Kind.ISSUE, 8, (Use("tc", 40),)),
        ),
        (Edge("load", "multiply", 80, cross=20),),
        (Buffer("a", "load", (BufferUse("multiply", 60),), "shared", 1000),),
        limits=Limits((Memory("shared", 4000),)),
    )


def random_problem(seed: int) -> Problem:
    """Three or four operations on two units, with edges, a buffer and a register value."""
    choose = random.Random(seed)
    count = choose.choice((3, 4))
    operations = tuple(
        Operation(
            f"op{number}",
            Kind.STREAM if number == 0 else Kind.TILE,
            Q * choose.randint(1, 3),
            (Use(choose.choice("xy"), Q * choose.randint(1, 3)),),
            warps=1 if number == 0 else 4,
        )
        for number in range(count)
    )
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count) if a == b - 1 or choose.random() < 0.3]
    edges = [Edge(f"op{a}", f"op{b}", Q * choose.randint(1, 4), cross=Q * choose.randint(0, 2)) for a, b in pairs]
    if choose.random() < 0.6:
        edges.append(Edge(f"op{count - 1}", "op1", Q * choose.randint(1, 3), distance=1, cross=Q))
    buffer = Buffer("ring", "op0", (BufferUse("op1", Q * choose.randint(1, 3)),), "shared", 10)
    value = RegisterValue("value", "op1", (BufferUse(f"op{count - 1}", Q),), 8)
    limits = Limits((Memory("shared", 10 * choose.randint(1, 3)),), roles=choose.choice((2, 3)), warps=9)
    return Problem(f"random-{seed}", operations, tuple(edges), (buffer,), (value,), limits)


def least_interval(problem: Problem, roles: tuple[int, ...] | None, most: int) -> int | None:
    """The least interval up to `most`, found by trying every start and every role; None if none is legal."""
    count = len(problem.operations)
    choices = [roles] if roles is not None else _numberings(count)
    for interval in range(Q, most + Q, Q):
        for role in choices:
            # A schedule may be moved as a whole, and the first operation is before all others.
            for rest in itertools.product(range(0, 3 * interval, Q), repeat=count - 1):
                start = (0, *rest)
                depths = ring_depths(problem, interval, start)
                if depths and not verify(problem, Schedule(interval, start, role, depths)):
                    return interval
    return None


def _numberings(count: int) -> list[tuple[int, ...]]:
    """The partitions of the operations into roles, numbered by first use."""
    found: list[tuple[int, ...]] = [(0,)]
    for _ in range(count - 1):
        found = [(*row, role) for row in found for role in range(max(row) + 2)]
    return found


def without(problem: Problem, field: str, position: int) -> Problem:
    """The problem without one edge, buffer or register value."""
    parts = getattr(problem, field)
    return replace(problem, **{field: parts[:position] + parts[position + 1 :]})
