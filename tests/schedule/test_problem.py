"""Different scheduling problems have different texts; inconsistent problems are refused with the reason."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from expert_bodies import BODIES
from small_problems import load_and_multiply, random_problem

from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Operation, ProblemError, RegisterValue, Use
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.problem_text import write_problem


def test_text_of_a_problem() -> None:
    assert write_problem(load_and_multiply()) == (
        "problem load-and-multiply\n"
        "limits roles=6 warps=16 registers=65536 thread_registers=255 base_registers=40 producer_registers=24\n"
        "memory shared capacity=4000\n"
        "operation load stream duration=4 warps=1 uses=tma:20\n"
        "operation multiply issue duration=8 warps=1 uses=tc:40\n"
        "edge load multiply latency=80 cross=20\n"
        "buffer a source=load memory=shared size=1000 uses=multiply:60\n"
    )


def every_field() -> Problem:
    """A problem in which each field of each part has a value that is not its default."""
    base = load_and_multiply()
    operation = Operation("p", Kind.TILE, 8, (Use("alu", 4), Use("tc", 4)), 4, is_rare=True, role="compute")
    return replace(
        base,
        operations=(*base.operations, operation),
        edges=(*base.edges, Edge("p", "p", 8, distance=1, cross=4, moved_kb=2, is_same=True)),
        buffers=(
            *base.buffers,
            Buffer("b", "p", (BufferUse("p", 4, 1),), "shared", 10, overlay="a"),
        ),
        registers=(RegisterValue("v", "p", (BufferUse("p", 8, 1),), 32, delay=4),),
    )


def changed(part: Any) -> Iterator[Any]:
    """Copies of a part of a problem: each changes one field of the part, or of a part inside."""
    if isinstance(part, bool):
        yield not part
    elif isinstance(part, int):
        yield part + 4
    elif isinstance(part, Kind):
        yield from (kind for kind in Kind if kind != part)
    elif isinstance(part, str):
        yield part + "x"
    elif isinstance(part, tuple):
        yield part[:-1]
        for number, inner in enumerate(part):
            yield from ((*part[:number], other, *part[number + 1 :]) for other in changed(inner))
    else:
        for field in fields(part):
            yield from (_with(part, field.name, other) for other in changed(getattr(part, field.name)))


def _with(part: Any, name: str, value: Any) -> Any:
    """A copy of a part without the checks of a problem."""
    made = copy.copy(part)
    object.__setattr__(made, name, value)
    return made


def test_texts_of_different_problems_differ() -> None:
    """The text is a key of the cache: a field that is not in it would give a problem the schedule of another."""
    problem = every_field()
    others = list(changed(problem))
    assert len(others) > 50
    texts = [write_problem(other) for other in (problem, *others)]
    assert len(set(texts)) == len(texts)


def test_texts_of_random_and_documented_problems_differ() -> None:
    problems = [random_problem(seed) for seed in range(50)] + [BODIES[name][0]() for name in BODIES]
    different = [problem for number, problem in enumerate(problems) if problem not in problems[:number]]
    assert len({write_problem(problem) for problem in different}) == len(different)


REFUSED_PROBLEMS = {
    "problem 'p': expected at least one operation": lambda base: Problem("p", ()),
    "operation 'load' is defined twice": lambda base: replace(base, operations=base.operations * 2),
    "operation 'a b': expected a name without blanks": lambda base: Problem("p", (Operation("a b", Kind.TILE, 4),)),
    "edge 'load' to 'x': unknown operation 'x'": lambda base: replace(base, edges=(Edge("load", "x", 4),)),
    "edge 'load' to 'multiply': expected non-negative numbers, got -4": lambda base: replace(
        base, edges=(Edge("load", "multiply", -4),)
    ),
    "edge 'load' to 'multiply': operations of different classes cannot have the same role": lambda base: replace(
        base, edges=(Edge("load", "multiply", 4, is_same=True),)
    ),
    "operation 'x': uses the unit 'tc' twice": lambda base: Problem(
        "p", (Operation("x", Kind.TILE, 4, (Use("tc", 4), Use("tc", 8))),)
    ),
    "operation 'x': expected at least one warp, got 0": lambda base: Problem(
        "p", (Operation("x", Kind.TILE, 4, warps=0),)
    ),
    "buffer 'b': unknown memory 'tensor'": lambda base: _with_buffer(base, memory="tensor"),
    "buffer 'b': expected at least one use": lambda base: _with_buffer(base, uses=()),
    "buffer 'b': unknown overlay 'x'": lambda base: _with_buffer(base, overlay="x"),
    "buffer 'b': does not fit in a slot of 'a'": lambda base: _with_buffer(base, overlay="a", size=2000),
    "buffer 'c': the overlay 'b' must be a ring": lambda base: _with_buffer(
        _with_buffer(base, overlay="a"), name="c", overlay="b"
    ),
    "buffer 'b': 'a' has another overlay": lambda base: _with_buffer(
        _with_buffer(base, overlay="a"), name="c", overlay="a"
    ),
    "register value 'v' is defined twice": lambda base: replace(base, registers=(_value(), _value())),
    "register value 'v': expected non-negative numbers, got -1": lambda base: replace(base, registers=(_value(-1),)),
    "register value 'v': unknown operation 'x'": lambda base: replace(base, registers=(_value(user="x"),)),
}


def _with_buffer(base: Problem, **changes: object) -> Problem:
    buffer = Buffer("b", "load", (BufferUse("multiply", 4),), "shared", 10)
    return replace(base, buffers=(*base.buffers, replace(buffer, **changes)))


def _value(count: int = 4, user: str = "multiply") -> RegisterValue:
    return RegisterValue("v", "load", (BufferUse(user, 4),), count)


@pytest.mark.parametrize("message", REFUSED_PROBLEMS)
def test_inconsistent_problem_is_refused(message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        REFUSED_PROBLEMS[message](load_and_multiply())
    assert str(caught.value) == message
