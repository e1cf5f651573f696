"""Scalar conditions of the counter of a loop in many wordings, most of which change in one iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from elements import ELEMENTS, INTEGERS, unsigned, wrapped
from program_text import Value
from random_integers import DIVISIONS, PREDICATES

if TYPE_CHECKING:
    from random_values import Builder


@dataclass(frozen=True)
class Counter:
    """The counter of a loop, and the numbers that it has."""

    value: Value
    numbers: np.ndarray

    @staticmethod
    def of(value: Value, numbers: Sequence[int]) -> Counter:
        bits = ELEMENTS[value.element].bits
        array = np.array([wrapped(number, bits) for number in numbers], object)
        return Counter(value, array.astype(ELEMENTS[value.element].dtype))


def counter_condition(build: Builder) -> Value:
    """One to three comparisons of the counter of a loop around the current block, joined by `andi` and `ori`."""
    counter = build.source.choice([*build.counters, build.counters[-1]])
    condition = _comparison(build, counter)
    for _ in range(build.source.choice((0, 0, 0, 1, 1, 2))):
        name, function = build.source.choice((("andi", np.logical_and), ("ori", np.logical_or)))
        condition = build.binary(name, condition, _comparison(build, counter), function)
    return condition


def _comparison(build: Builder, counter: Counter) -> Value:
    """A number that is computed from the counter, compared with one that it has in an iteration, or with one near."""
    source = build.source
    value, numbers = counter.value, counter.numbers
    for _ in range(source.choice((0, 1, 1, 2, 2, 3))):
        value, numbers = _step(build, value, numbers)
    near = int(source.choice(numbers.tolist())) + source.choice((0, 0, 1, -1)) if len(numbers) else 0
    other = _scalar(build, value.element, near)
    # The first two are equality and its opposite.
    name = source.choice(list(PREDICATES)[2 if source.random() < 0.8 else 0 :])
    function, is_signed = PREDICATES[name], source.random() < 0.75
    compare = function if is_signed else lambda a, b: function(unsigned(a), unsigned(b))
    operands = [value, other] if source.random() < 0.7 else [other, value]
    text = f"cmpi {name} {{0}}, {{1}}, {'signed' if is_signed else 'unsigned'} : {value.type} -> tile<i1>"
    return build.compute(text, build.value("i1", ()), operands, compare)


def _step(build: Builder, value: Value, numbers: np.ndarray) -> tuple[Value, np.ndarray]:
    """An operation on a number of the counter and another number, and its results."""
    source, element = build.source, value.element
    bits, dtype = ELEMENTS[element].bits, ELEMENTS[element].dtype
    kind = source.choice(("add", "multiply", "divide") * 2 + ("shift", "resize", "extreme", "neg"))
    if kind == "neg":
        return _computed(build, "negi {0}", element, [value], np.negative, numbers)
    if kind == "resize":
        other = source.choice([each for each in INTEGERS if each != element])
        if ELEMENTS[other].bits < bits:
            cut = lambda a: a.astype(ELEMENTS[other].dtype)  # noqa: E731
            return _computed(build, "trunci {0}", other, [value], cut, numbers)
        is_signed = source.random() < 0.6
        wide = lambda a: (a if is_signed else unsigned(a)).astype(ELEMENTS[other].dtype)  # noqa: E731
        return _computed(build, f"exti {{0}} {'signed' if is_signed else 'unsigned'}", other, [value], wide, numbers)
    if kind == "shift":
        amount, is_left = source.randrange(min(bits, 8)), source.random() < 0.5
        if is_left or source.random() < 0.7:
            name, function = ("shli {0}, {1}", np.left_shift) if is_left else ("shri {0}, {1} signed", np.right_shift)
        else:
            name, function = "shri {0}, {1} unsigned", lambda a, b: np.right_shift(unsigned(a), unsigned(b)).view(dtype)
        return _computed(build, name, element, [value, build.constant(element, amount)], function, numbers, amount)
    if kind == "divide":
        name, modifier, function = source.choice(DIVISIONS[:4])
        number = source.choice((1, 2, 3, 4, 7, 8, 100))
        operands = [value, _scalar(build, element, number)]
        return _computed(build, f"{name} {{0}}, {{1}}{modifier}", element, operands, function, numbers, number)
    if kind == "extreme":
        name, function = source.choice((("mini", np.minimum), ("maxi", np.maximum)))
        name = f"{name} {{0}}, {{1}} signed"
        number = int(source.choice(numbers.tolist())) if len(numbers) else 0
    elif kind == "multiply":
        name, function = "muli {0}, {1}", np.multiply
        number = source.choice((2, 3, 4, 64, -1, -2, -7, 2 ** (bits - 3), 2 ** (bits - 2) + 1))
    else:
        name, function = source.choice((("addi {0}, {1}", np.add), ("subi {0}, {1}", np.subtract)))
        number = source.choice((1, -1, 3, -5, 100, 2 ** (bits - 1) - 3, -(2 ** (bits - 1))))
    number = wrapped(number, bits)
    other = _scalar(build, element, number)
    if source.random() < 0.4:
        swapped = lambda a, b: function(b, a)  # noqa: E731
        name = name.replace("{0}, {1}", "{1}, {0}")
        return _computed(build, name, element, [value, other], swapped, numbers, number)
    return _computed(build, name, element, [value, other], function, numbers, number)


def _computed(
    build: Builder,
    text: str,
    element: str,
    operands: list[Value],
    function: Callable,
    numbers: np.ndarray,
    *others: int,
) -> tuple[Value, np.ndarray]:
    result = build.value(element, ())
    types = result.type if operands[0].element == element else f"{operands[0].type} -> {result.type}"
    value = build.compute(f"{text} : {types}", result, operands, function)
    with np.errstate(all="ignore"):
        found = function(numbers, *(np.full_like(numbers, other) for other in others))
    return value, np.asarray(found).astype(ELEMENTS[element].dtype)


def _scalar(build: Builder, element: str, number: int) -> Value:
    """A number as a constant or an argument."""
    define = build.constant if build.source.random() < 0.6 else build.argument
    return define(element, wrapped(number, ELEMENTS[element].bits))
