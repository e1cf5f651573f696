"""Random programs of nested loops and branches that break, continue or return at any point and carry values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
from compiler_settings import random_omissions
from elements import INTEGERS
from program_text import Environment, Program, Region, Shape, Value
from random_conditions import Counter, counter_condition
from random_memory import store
from random_program import (
    MAXIMUM_ITERATIONS,
    Inside,
    add_for,
    add_loop,
    incremented,
    limit_reached,
    loop_bounds,
    new_values,
    random_hints,
    result_names,
    scalar_of,
    slots_in_loop,
    types_of,
)
from random_reductions import multiplied
from random_values import Builder

# Values that every statement may change, in addition to the i32 that conditions read.
STATE: tuple[tuple[str, Shape], ...] = (("i64", ()), ("i8", (16,)), ("i32", (32,)), ("f16", (8, 16)), ("i1", (64,)))
# A sum of products; every sum in a program is an integer below 2^24.
MULTIPLY, ACCUMULATOR, DEPTH = ("f16", "f32", 1), ("f32", (64, 32)), 16
SUM_BOUND = 1 << 23
MAXIMUM_NESTING = 3


@dataclass(frozen=True)
class _Scope:
    """The scope of a statement: its possible exits and the slot of its stores; a `for` does not contain a return."""

    exits: tuple[str, ...] = ("return",)
    # The number of the next iteration, which break and continue carry.
    following: Value | None = None
    slot: Value | None = None
    slots: int = 1
    nested: int = MAXIMUM_NESTING


def random_exits(seed: int) -> Program:
    """The program of a seed."""
    build = Builder(seed)
    source = build.source
    kinds: list[tuple[str, Shape]] = [("i32", ()), *source.sample(STATE, source.randrange(3))]
    if source.random() < 0.3:
        kinds.append(ACCUMULATOR)
    state = [
        build.random_value(element, shape, 1, 8 if (element, shape) == ACCUMULATOR else None)
        for element, shape in kinds
    ]
    for _ in range(source.choice((2, 3, 4))):
        state = _compound(build, state, _Scope())
    for value in state:
        store(build, value)
    without = random_omissions(Random(f"omissions {seed}"))
    return Program(build.parameters, build.blocks[0], build.grid, random_hints(build), build.sums, without)


def _statements(build: Builder, state: list[Value], scope: _Scope) -> list[Value]:
    for _ in range(build.source.choice((1, 1, 2, 3))):
        simple = scope.nested == 0 or build.source.random() < 0.4
        state = (_changed if simple else _compound)(build, state, scope)
    return state


def _compound(build: Builder, state: list[Value], scope: _Scope) -> list[Value]:
    inner = replace(scope, nested=scope.nested - 1)
    return build.source.choice((_if, _if, _if, _for, _loop))(build, state, inner)


def _changed(build: Builder, state: list[Value], scope: _Scope) -> list[Value]:
    """Changes or stores one value of the state."""
    at = build.source.randrange(len(state))
    old = state[at]
    if build.source.random() < 0.15:
        store(build, old, scope.slot, scope.slots)
        return state
    return [*state[:at], _next(build, old), *state[at + 1 :]]


def _next(build: Builder, old: Value) -> Value:
    if (old.element, old.shape) == ACCUMULATOR:
        rows, columns = old.shape
        left, right = (
            build.random_value(MULTIPLY[0], shape, 1, MULTIPLY[2]) for shape in ((rows, DEPTH), (DEPTH, columns))
        )
        return multiplied(build, MULTIPLY, left, right, old, SUM_BOUND)
    if old.element not in INTEGERS:
        return build.random_value(old.element, old.shape, 2)
    three = build.constant(old.element, 3, old.shape)
    product = build.binary("muli", old, three, np.multiply)
    return build.binary("addi", product, build.random_value(old.element, old.shape, 1), np.add)


def _condition(build: Builder, state: list[Value]) -> Value:
    """A condition on bits of the first value of the state, true in about half of the cases."""
    if build.counters and build.source.random() < 0.3:
        return counter_condition(build)
    if build.source.random() < 0.2:
        return build.random_value("i1", (), 2)
    mask = build.source.choice((1, 2, 3, 4, 6))
    bits, zero = build.masked(state[0], mask), build.constant("i32", 0)
    text = f"cmpi {build.source.choice(('equal', 'not_equal'))} {{0}}, {{1}}, signed : tile<i32> -> tile<i1>"
    return build.compute(text, build.value("i1", ()), [bits, zero], np.equal if " equal" in text else np.not_equal)


def _if(build: Builder, state: list[Value], scope: _Scope) -> list[Value]:
    """An if whose branches change the state and yield, or exit; a branch that yields has the state or no values."""
    source = build.source
    condition = _condition(build, state)
    results = new_values(build, state) if source.random() < 0.8 else []
    only_then = not results and source.random() < 0.5
    blocks = []
    for _ in range(1 if only_then else 2):
        with Inside(build, "yield") as block:
            inner = _statements(build, list(state), scope) if source.random() < 0.9 else list(state)
            leaves = source.random() < 0.3
            # At least one branch yields, because the results need a value.
            if leaves and not any(other.leaves for other in blocks):
                block.end, block.leaves = source.choice(scope.exits), True
                block.operands = [scope.following, *inner] if scope.following and block.end != "return" else []
            else:
                block.operands = inner if results else []
        blocks.append(block)

    def run(environment: Environment) -> None:
        arrays: list[np.ndarray] = []
        if environment[condition]:
            arrays = blocks[0].run(environment)
        elif not only_then:
            arrays = blocks[1].run(environment)
        for value, array in zip(results, arrays, strict=True):
            environment[value] = array

    left = f"{result_names(build, results)} = " if results else ""
    right = f" -> ({types_of(results)})" if results else ""
    build.add(Region(f"{left}if {condition.name}{right}", blocks, run, results, [condition], True, "else"))
    return results or state


def _for(build: Builder, state: list[Value], scope: _Scope) -> list[Value]:
    source = build.source
    element, is_unsigned, iterations = (
        source.choice(INTEGERS),
        source.random() < 0.4,
        source.randrange(MAXIMUM_ITERATIONS + 1),
    )
    bounds = loop_bounds(build, element, is_unsigned, iterations)
    lower, upper, step = (scalar_of(build, element, number) for number in bounds)
    initial = [build.constant("i32", 0), *state]
    counter, inner, results = build.value(element, ()), new_values(build, initial), new_values(build, initial)
    with Inside(build, "continue", [counter, *inner], Counter.of(counter, range(*bounds))) as block:
        following = incremented(build, inner[0])
        slot, slots = slots_in_loop(build, inner[0], scope.slot, scope.slots)
        body = _Scope(("continue",), following, slot, slots, scope.nested)
        block.operands = [following, *_statements(build, inner[1:], body)]
    add_for(build, block, is_unsigned, (lower, upper, step), counter, initial, inner, results)
    return results[1:]


def _loop(build: Builder, state: list[Value], scope: _Scope) -> list[Value]:
    """A loop with a limit on the number of iterations."""
    initial = [build.constant("i32", 0), *state]
    inner, results = new_values(build, initial), new_values(build, initial)
    maximum = scalar_of(build, "i32", build.source.randrange(MAXIMUM_ITERATIONS + 1))
    with Inside(build, "continue", inner) as block:
        condition = limit_reached(build, inner[0], maximum)
        with Inside(build, "break") as last:
            last.leaves, last.operands = True, list(inner)

        def leave(environment: Environment) -> None:
            if environment[condition]:
                last.run(environment)

        build.add(Region(f"if {condition.name}", [last], leave, (), [condition], True))
        following = incremented(build, inner[0])
        slot, slots = slots_in_loop(build, inner[0], scope.slot, scope.slots)
        exits = ("break", "continue", *(["return"] if "return" in scope.exits else []))
        body = _Scope(exits, following, slot, slots, scope.nested)
        block.operands = [following, *_statements(build, inner[1:], body)]
    add_loop(build, block, initial, inner, results)
    return results[1:]
