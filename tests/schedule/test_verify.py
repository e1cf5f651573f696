"""The verifier reports each rule that a schedule breaks: every number of a legal schedule is changed, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from small_problems import load_and_multiply

from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, RegisterValue, Use
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.verify import verify

LEGAL = Schedule(40, (0, 100), (0, 1), (4,))


def test_legal_schedule() -> None:
    assert verify(load_and_multiply(), LEGAL) == []


ILLEGAL = {
    "'multiply' starts at 96, 'load' is ready at 100": replace(LEGAL, start=(0, 96)),
    "the unit 'tc' is used by more than it can do at one time": replace(LEGAL, interval=36, depth=(5,)),
    "a slot of 'a' is filled at 120, its last use ends at 160": replace(LEGAL, depth=(3,)),
    "the buffer 'a' has no slot": replace(LEGAL, depth=(0,)),
    "the buffers need 5000 of the memory 'shared', which has 4000": replace(LEGAL, depth=(5,)),
    "the role of 'load' mixes classes: issue, stream": replace(LEGAL, role=(0, 0)),
    "the schedule is one of another problem": replace(LEGAL, start=(0,)),
    "the interval is 0": replace(LEGAL, interval=0),
    "a number is negative": replace(LEGAL, start=(-4, 100)),
}


@pytest.mark.parametrize("message", ILLEGAL)
def test_illegal_schedule(message: str) -> None:
    assert message in verify(load_and_multiply(), ILLEGAL[message])


def _tile(name: str, duration: int = 20, warps: int = 4, role: str = "", uses: tuple[Use, ...] = ()) -> Operation:
    return Operation(name, Kind.TILE, duration, uses, warps, role=role)


def _pair(**parts: object) -> Problem:
    return Problem("pair", (_tile("a"), _tile("b")), **parts)  # type: ignore[arg-type]


def _buffers(*buffers: Buffer, capacity: int) -> Problem:
    return _pair(buffers=buffers, limits=Limits((Memory("shared", capacity),)))


def _buffer(name: str, source: str, user: str, **changes: object) -> Buffer:
    return replace(Buffer(name, source, (BufferUse(user, 20),), "shared", 100), **changes)


# A problem, a legal schedule of it, and what makes it illegal.
PAIRS: dict[str, tuple[Problem, Schedule, Callable[[Schedule], Schedule], str]] = {
    "role stream": (
        _pair(),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, start=(0, 56)),
        "two operations of the role of 'a' are issued at one time",
    ),
    "role stream longer than the interval": (
        _pair(),
        Schedule(20, (0, 20), (0, 1), ()),
        lambda legal: replace(legal, interval=16),
        "two operations of the role of 'a' are issued at one time",
    ),
    "same role": (
        _pair(edges=(Edge("a", "b", 20, is_same=True),)),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, role=(0, 1)),
        "'a' and 'b' must have the same role",
    ),
    "cross latency": (
        _pair(edges=(Edge("a", "b", 20, cross=30),)),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, role=(0, 1)),
        "'b' starts at 20, 'a' is ready at 50",
    ),
    "distance": (
        _pair(edges=(Edge("b", "a", 30, distance=1),)),
        Schedule(60, (0, 30), (0, 0), ()),
        lambda legal: replace(legal, interval=56),
        "'a' starts at 56, 'b' is ready at 60",
    ),
    "number of roles": (
        _pair(limits=Limits(roles=1)),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, role=(0, 1)),
        "2 roles, the limit is 1",
    ),
    "warps": (
        _pair(limits=Limits(warps=7)),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, role=(0, 1)),
        "the roles have 8 warps, the limit is 7",
    ),
    "role that the user wrote": (
        Problem("p", (_tile("a", role="softmax"), _tile("b", role="softmax"))),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, role=(0, 1)),
        "'b' is not in the role 'softmax'",
    ),
    "use in a later iteration": (
        _buffers(_buffer("x", "a", "b", uses=(BufferUse("b", 20, 2),)), capacity=400),
        Schedule(40, (0, 20), (0, 0), (3,)),
        lambda legal: replace(legal, depth=(1,)),
        "the buffer 'x' has fewer slots than its uses reach back",
    ),
    "slot shared by an overlay": (
        _buffers(_buffer("x", "a", "b"), _buffer("y", "b", "b", overlay="x"), capacity=200),
        Schedule(40, (0, 20), (0, 0), (1, 0)),
        lambda legal: replace(legal, start=(0, 60)),
        "a slot of 'x' is filled at 40, its last use ends at 80",
    ),
    "overlay in memory of its own": (
        _buffers(_buffer("x", "a", "b"), _buffer("y", "b", "b", overlay="x"), capacity=199),
        Schedule(40, (0, 20), (0, 0), (1, 0)),
        lambda legal: replace(legal, depth=(1, 1)),
        "the buffers need 200 of the memory 'shared', which has 199",
    ),
    "shared unit": (
        Problem("p", tuple(_tile(name, uses=(Use("issue", 20),)) for name in "ab")),
        Schedule(40, (0, 20), (0, 1), ()),
        lambda legal: replace(legal, start=(0, 16)),
        "the unit 'issue' is used by more than it can do at one time",
    ),
    "life of a register value": (
        _pair(registers=(RegisterValue("v", "a", (BufferUse("b", 20),), 16),)),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, start=(0, 60)),
        "the register value 'v' lives 80 clocks, longer than an interval",
    ),
    "registers of a thread": (
        _pair(registers=tuple(RegisterValue(f"v{n}", n, (BufferUse(n, 20),), 200) for n in "ab")),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, interval=30, start=(0, 20)),
        "a role needs 440 registers per thread, the limit is 255",
    ),
    "registers of the SM": (
        _pair(
            limits=Limits(registers=40000),
            registers=tuple(RegisterValue(f"v{n}", n, (BufferUse(n, 20),), 150) for n in "ab"),
        ),
        Schedule(40, (0, 20), (0, 0), ()),
        lambda legal: replace(legal, role=(0, 1)),
        "the roles need 48640 registers, the SM has 40000",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rule_is_checked(name: str) -> None:
    problem, legal, broken, message = PAIRS[name]
    assert verify(problem, legal) == []
    assert message in verify(problem, broken(legal))
