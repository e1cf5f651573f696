"""Random integer and logical operations, comparisons, and conversions to integers.

Each function takes (builder, element, shape, depth, bound) and returns a value or None.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from elements import ARITHMETIC_FLOATS, ELEMENTS, INTEGERS, LARGEST_BOUND, high_product, unsigned
from program_text import Shape, Value

if TYPE_CHECKING:
    from random_values import Builder


_INTEGER_OPERATIONS: dict[str, Callable] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "mulhii": high_product,
}
PREDICATES: dict[str, Callable] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
}
# Divisions by positive divisors.
DIVISIONS: list[tuple[str, str, Callable]] = [
    ("divi", " signed rounding<negative_inf>", np.floor_divide),
    ("divi", " signed rounding<positive_inf>", lambda a, b: -np.floor_divide(-a.astype(object), b.astype(object))),
    ("divi", " signed", lambda a, b: a // b + ((a % b != 0) & (a < 0))),
    ("divi", " unsigned", lambda a, b: (unsigned(a) // unsigned(b)).view(a.dtype)),
    ("remi", " signed", np.fmod),
    ("remi", " unsigned", lambda a, b: (unsigned(a) % unsigned(b)).view(a.dtype)),
]


def integer(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    left = build.random_value(element, shape, depth)
    kind = build.source.randrange(6)
    if kind == 0:
        name, function = build.source.choice((("negi", np.negative), ("absi", np.abs)))
        result = build.value(element, shape)
        return build.compute(f"{name} {{0}} : {result.type}", result, [left], function)
    right = build.random_value(element, shape, depth)
    if kind == 1:
        return _shifted(build, left, build.masked(right, ELEMENTS[element].bits - 1))
    if kind == 2:
        one = build.constant(element, 1, shape)
        return _divided(build, left, build.binary("ori", build.masked(right, 7), one, np.bitwise_or))
    if kind == 3:
        name, function = build.source.choice((("mini", np.minimum), ("maxi", np.maximum)))
        return build.binary(name, left, right, *_signed(build.source, function, left))
    name = build.source.choice(list(_INTEGER_OPERATIONS))
    return build.binary(name, left, right, _INTEGER_OPERATIONS[name])


def _signed(source: random.Random, function: Callable, like: Value) -> tuple[Callable, None, str]:
    """The function on signed or unsigned integers, without a bound, and the keyword of the signedness."""
    if source.random() < 0.5:
        return function, None, " signed"
    dtype = ELEMENTS[like.element].dtype

    def of_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(function(unsigned(a), unsigned(b))).astype(f"u{dtype.itemsize}").view(dtype)

    return of_bits, None, " unsigned"


def _shifted(build: Builder, left: Value, amount: Value) -> Value:
    kind = build.source.randrange(3)
    if kind == 0:
        return build.binary("shli", left, amount, np.left_shift)
    if kind == 1:
        return build.binary("shri", left, amount, np.right_shift, None, " signed")
    dtype = ELEMENTS[left.element].dtype
    return build.binary(
        "shri", left, amount, lambda a, b: np.right_shift(unsigned(a), unsigned(b)).view(dtype), None, " unsigned"
    )


def _divided(build: Builder, left: Value, right: Value) -> Value:
    """A division by a positive divisor."""
    name, modifier, function = build.source.choice(DIVISIONS)
    return build.binary(name, left, right, function, None, modifier)


def integer_converted(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    other = build.source.choice([e for e in ("i1", *INTEGERS) if e != element])
    value = build.random_value(other, shape, depth)
    result = build.value(element, shape)
    dtype = ELEMENTS[element].dtype
    if ELEMENTS[other].bits > ELEMENTS[element].bits:
        truncate = (lambda a: a & 1 != 0) if element == "i1" else (lambda a: a.astype(dtype))
        return build.compute(f"trunci {{0}} : {value.type} -> {result.type}", result, [value], truncate)
    signed = build.source.random() < 0.5
    text = f"exti {{0}} {'signed' if signed else 'unsigned'} : {value.type} -> {result.type}"
    if other == "i1":
        return build.compute(text, result, [value], lambda a: -a.astype(dtype) if signed else a.astype(dtype))
    return build.compute(text, result, [value], lambda a: (a if signed else unsigned(a)).astype(dtype))


def integer_from_float(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element == "i1":
        return None
    other = build.source.choice(("f16", "bf16", "f32", "f64"))
    value = build.random_value(other, shape, depth, LARGEST_BOUND)
    result = build.value(element, shape)
    text = f"ftoi {{0}} signed : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda a: a.astype(np.float64).astype(np.int64))


def compared(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    result = build.value("i1", shape)
    name = build.source.choice(list(PREDICATES))
    function = PREDICATES[name]
    if build.source.random() < 0.6:
        kind = build.source.choice(INTEGERS)
        left, right = build.random_value(kind, shape, depth), build.random_value(kind, shape, depth)
        signed = build.source.random() < 0.5
        signedness = "signed" if signed else "unsigned"
        compare_bits = function if signed else lambda a, b: function(unsigned(a), unsigned(b))
        text = f"cmpi {name} {{0}}, {{1}}, {signedness} : {left.type} -> {result.type}"
        return build.compute(text, result, [left, right], compare_bits)
    kind = build.source.choice(ARITHMETIC_FLOATS)
    left, right = build.random_value(kind, shape, depth), build.random_value(kind, shape, depth)
    ordered = build.source.random() < 0.5

    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        nan = np.isnan(a) | np.isnan(b)
        return function(a, b) & ~nan if ordered else function(a, b) | nan

    text = f"cmpf {name} {'ordered' if ordered else 'unordered'} {{0}}, {{1}} : {left.type} -> {result.type}"
    return build.compute(text, result, [left, right], compare)


def logical(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    left, right = build.random_value("i1", shape, depth), build.random_value("i1", shape, depth)
    name = build.source.choice(("andi", "ori", "xori"))
    return build.binary(name, left, right, _INTEGER_OPERATIONS[name])
