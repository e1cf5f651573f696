"""Each constraint of the exact scheduler: a problem that only this constraint makes slower or impossible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from small_problems import load_and_multiply, random_problem, without

from tilec.lowering.schedule.exact import Budget, search, solver_name
from tilec.lowering.schedule.parts import (
    Buffer,
    BufferUse,
    Edge,
    Kind,
    Limits,
    Memory,
    Operation,
    ProblemError,
    RegisterValue,
    Use,
)
from tilec.lowering.schedule.problem import Problem

pytestmark = pytest.mark.skipif(solver_name() is None, reason="needs the extra 'schedule'")


def tiles(*names: str, duration: int = 20, unit: str = "") -> tuple[Operation, ...]:
    uses = (Use(unit, duration),) if unit else ()
    return tuple(Operation(name, Kind.TILE, duration, uses, 4) for name in names)


def interval(problem: Problem, roles: tuple[int, ...] | None = None, most: int = 200) -> int | None:
    """The least interval below `most`; None if there is none."""
    try:
        found = search(problem, roles, most, Budget(probe=2.0, search=8.0, improve=0.0))
    except ProblemError:
        return None
    return found.schedule.interval if found else None


def buffers(*entries: Buffer, capacity: int) -> dict[str, object]:
    return {"buffers": entries, "limits": Limits((Memory("shared", capacity),))}


def ring(name: str, source: str, user: str, **changes: object) -> Buffer:
    return replace(Buffer(name, source, (BufferUse(user, 20),), "shared", 100), **changes)


A_TO_B = Edge("a", "b", 20)
# The problem, its interval, a change that removes one constraint, and the interval then.
CASES: dict[str, tuple[Problem, int | None, Callable[[Problem], Problem], int | None]] = {
    "unit": (
        Problem("p", tiles("a", "b", unit="x")),
        40,
        lambda p: replace(p, operations=tiles("a", "b")),
        20,
    ),
    "warps": (
        Problem("p", tiles("a", "b"), limits=Limits(warps=4)),
        40,
        lambda p: replace(p, limits=Limits(warps=8)),
        20,
    ),
    "number of roles": (
        Problem("p", tiles("a", "b"), limits=Limits(roles=1)),
        40,
        lambda p: replace(p, limits=Limits(roles=2)),
        20,
    ),
    "same role": (
        Problem("p", tiles("a", "b"), (replace(A_TO_B, is_same=True),)),
        40,
        lambda p: replace(p, edges=(A_TO_B,)),
        20,
    ),
    "role that the user wrote": (
        Problem("p", tuple(replace(operation, role="x") for operation in tiles("a", "b"))),
        40,
        lambda p: replace(p, operations=tiles("a", "b")),
        20,
    ),
    "cross latency of a carried value": (
        Problem("p", tiles("a", "b"), (replace(A_TO_B, cross=100), Edge("b", "a", 20, 1, cross=100))),
        40,
        lambda p: replace(p, edges=(A_TO_B, Edge("b", "a", 20, 2))),
        20,
    ),
    "classes of roles": (
        # Load and multiply cannot share the one role.
        replace(load_and_multiply(), limits=Limits((Memory("shared", 4000),), roles=1)),
        None,
        lambda p: replace(
            p, operations=tuple(replace(operation, kind=Kind.TILE) for operation in p.operations), buffers=()
        ),
        40,
    ),
    "capacity of a memory": (
        Problem("p", tiles("a", "b"), (A_TO_B,), **buffers(ring("x", "a", "b"), capacity=100)),  # type: ignore[arg-type]
        40,
        lambda p: replace(p, limits=Limits((Memory("shared", 200),))),
        20,
    ),
    "slot shared by an overlay": (
        Problem(
            "p",
            tiles("a", "b"),
            (A_TO_B,),
            **buffers(ring("x", "a", "a"), ring("y", "b", "b", overlay="x"), capacity=199),  # type: ignore[arg-type]
        ),
        40,
        lambda p: replace(p, limits=Limits((Memory("shared", 200),))),
        20,
    ),
    "life of a register value": (
        Problem(
            "p",
            tiles("a", "b"),
            (replace(A_TO_B, latency=60, is_same=True),),
            registers=(RegisterValue("v", "a", (BufferUse("b", 20),), 8),),
        ),
        80,
        lambda p: replace(p, registers=()),
        40,
    ),
    "registers of a thread": (
        Problem(
            "p",
            tiles("a", "b"),
            (replace(A_TO_B, latency=40, is_same=True),),
            registers=(
                RegisterValue("v", "a", (BufferUse("a", 40),), 150),
                RegisterValue("w", "b", (BufferUse("b", 40),), 150),
            ),
        ),
        80,
        lambda p: replace(p, registers=p.registers[:1]),
        40,
    ),
    "registers of the SM": (
        Problem(
            "p",
            tiles("a", "b"),
            registers=(
                RegisterValue("v", "a", (BufferUse("a", 20),), 150),
                RegisterValue("w", "b", (BufferUse("b", 20),), 150),
            ),
            limits=Limits(registers=40000),
        ),
        40,
        lambda p: replace(p, limits=Limits()),
        20,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_only_this_constraint_makes_the_problem_slower(name: str) -> None:
    problem, constrained, remove, free = CASES[name]
    assert interval(problem) == constrained
    assert interval(remove(problem)) == free


@pytest.mark.parametrize("seed", range(6))
def test_removing_a_constraint_never_raises_the_interval(seed: int) -> None:
    problem = random_problem(seed)
    least = interval(problem)
    for field in ("edges", "buffers", "registers"):
        for position in range(len(getattr(problem, field))):
            fewer = interval(without(problem, field, position))
            assert least is None or (fewer is not None and fewer <= least), (field, position)
