"""Random floating-point operations, and conversions to floats.

Each function takes (builder, element, shape, depth, bound) and returns a value or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from elements import ARITHMETIC_FLOATS, ELEMENTS, INTEGERS, LARGEST_BOUND
from program_text import Shape, Value, larger_bound

if TYPE_CHECKING:
    from random_values import Builder


def floating(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element not in ARITHMETIC_FLOATS:
        return None
    if bound is not None:
        return _bounded_float(build, element, shape, depth, bound)
    left = build.random_value(element, shape, depth)
    kind = build.source.randrange(8)
    if kind == 0:
        return _unary_float(build, left)
    if kind == 1:
        divisor = build.constant(element, build.source.choice((3.0, -7.0, 0.5)), shape)
        return build.binary("divf", left, divisor, np.divide)
    right = build.random_value(element, shape, depth)
    bounds = None if left.bound is None or right.bound is None else (left.bound, right.bound)
    if kind <= 3:
        name, function = build.source.choice((("addf", np.add), ("subf", np.subtract)))
        return build.binary(name, left, right, function, bounds and sum(bounds))
    if kind <= 5:
        return build.binary("mulf", left, right, np.multiply, bounds and bounds[0] * bounds[1])
    if kind == 6:
        return _minimum_or_maximum(build, left, right, bounds and max(bounds))
    return _fused(build, element, shape, depth)


def _minimum_or_maximum(build: Builder, left: Value, right: Value, bound: int | None) -> Value:
    build.sums = True  # the minimum of +0 and -0 may be either zero
    name, quiet, strict = build.source.choice((("minf", np.fmin, np.minimum), ("maxf", np.fmax, np.maximum)))
    if build.source.random() < 0.5:
        return build.binary(name, left, right, quiet, bound)
    return build.binary(name, left, right, strict, bound, " propagate_nan")


def _unary_float(build: Builder, value: Value) -> Value:
    kinds = [("negf", np.negative), ("absf", np.abs), ("floor", np.floor), ("ceil", np.ceil)]
    name, function = build.source.choice(kinds)
    result = build.value(value.element, value.shape, value.bound)
    if build.source.random() < 0.2 and value.element in ("f32", "f64"):
        magnitude = build.compute(
            f"absf {{0}} : {value.type}", build.value(value.element, value.shape, value.bound), [value], np.abs
        )
        root = build.value(value.element, value.shape)
        return build.compute(f"sqrt {{0}} : {root.type}", root, [magnitude], np.sqrt)
    return build.compute(f"{name} {{0}} : {result.type}", result, [value], function)


def _fused(build: Builder, element: str, shape: Shape, depth: int) -> Value:
    """fma of operands whose exact result is a value of the type."""
    a, b, c = (build.random_value(element, shape, depth, LARGEST_BOUND) for _ in range(3))
    assert a.bound is not None and b.bound is not None and c.bound is not None
    result = build.value(element, shape, a.bound * b.bound + c.bound)
    text = f"fma {{0}}, {{1}}, {{2}} : {result.type}"
    return build.compute(text, result, [a, b, c], lambda x, y, z: x * y + z)


def _bounded_float(build: Builder, element: str, shape: Shape, depth: int, bound: int) -> Value | None:
    kind = build.source.randrange(4)
    if kind == 0 and bound >= 2:
        left, right = (build.random_value(element, shape, depth, bound // 2) for _ in range(2))
        name, function = build.source.choice((("addf", np.add), ("subf", np.subtract)))
        return build.binary(name, left, right, function, (left.bound or 0) + (right.bound or 0))
    if kind == 1:
        left = build.random_value(element, shape, depth, bound)
        right = build.random_value(element, shape, depth, 1)
        return build.binary("mulf", left, right, np.multiply, (left.bound or 0) * (right.bound or 0))
    if kind == 2:
        left, right = build.random_value(element, shape, depth, bound), build.random_value(element, shape, depth, bound)
        return _minimum_or_maximum(build, left, right, larger_bound(left, right))
    value = build.random_value(element, shape, depth, bound)
    result = build.value(element, shape, value.bound)
    name, function = build.source.choice((("negf", np.negative), ("absf", np.abs)))
    return build.compute(f"{name} {{0}} : {result.type}", result, [value], function)


def float_converted(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    others = [name for name, other in ELEMENTS.items() if other.is_float and name != element]
    other = build.source.choice(others)
    exact = min(ELEMENTS[element].exact, ELEMENTS[other].exact)
    value = build.random_value(other, shape, depth, exact if bound is None else min(exact, bound))
    result = build.value(element, shape, value.bound)
    return build.compute(f"ftof {{0}} : {value.type} -> {result.type}", result, [value], _to_float(element))


def _to_float(element: str) -> Callable[[np.ndarray], np.ndarray]:
    dtype = ELEMENTS[element].dtype
    return lambda array: array.astype(np.float64).astype(np.float32).astype(dtype)


def float_of_bits(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """A bitcast of any bits, including NaN; floats are never bitcast, because the bits of a NaN are unspecified."""
    same = [name for name in INTEGERS if ELEMENTS[name].bits == ELEMENTS[element].bits]
    if bound is not None or element == "tf32":
        return None
    value = build.random_value(same[0], shape, depth)
    result = build.value(element, shape)
    dtype = ELEMENTS[element].dtype
    text = f"bitcast {{0}} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: np.ascontiguousarray(array).view(dtype))


def float_from_integer(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element == "tf32":
        return None
    maximum = min(bound if bound is not None else LARGEST_BOUND, LARGEST_BOUND, ELEMENTS[element].exact)
    mask = (1 << (maximum + 1).bit_length() - 1) - 1
    if mask == 0:
        return None
    value = build.masked(build.random_value(build.source.choice(INTEGERS), shape, depth), mask)
    result = build.value(element, shape, mask)
    signedness = build.source.choice(("signed", "unsigned"))
    return build.compute(
        f"itof {{0}} {signedness} : {value.type} -> {result.type}", result, [value], _to_float(element)
    )
