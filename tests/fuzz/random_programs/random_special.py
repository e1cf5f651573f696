"""Quotients and exponentials of tiles with infinities, NaN, zeros, subnormal and extreme numbers at any positions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from elements import ELEMENTS
from program_text import Environment, Shape, Step, Value, tile_type
from random_memory import make_view, store

if TYPE_CHECKING:
    from random_values import Builder

# Each thread has several elements.
_SHAPES: tuple[Shape, ...] = ((64, 64), (128, 64), (64, 32), (32, 128), (8, 4, 64), (2048,), (4096,), (1024,), (8, 16))
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)


def store_special(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    """Stores quotients by divisors that rows, columns or all elements share, or exponentials of integers."""
    shape = build.source.choice(_SHAPES)
    result = _exponentials(build, shape) if build.source.random() < 0.35 else _quotients(build, shape)
    store(build, result, slot, slots)


def _quotients(build: Builder, shape: Shape) -> Value:
    source = build.source
    element = source.choice(("f32", "f32", "f32", "f32", "f16", "bf16", "f64"))
    dividends = _loaded(build, element, shape, _numbers(build, element, shape))
    kind = source.choice(("shared", "shared", "shared", "constant", "own"))
    if kind == "constant":
        divisors = build.constant(element, source.choice((3.0, 0.75, 1.0, 200.0, 0.0001220703125, -0.3125)), shape)
    else:
        kept = shape if kind == "own" else source.choice(_shared_shapes(shape))
        divisors = build.broadcast(_loaded(build, element, kept, _numbers(build, element, kept)), shape)
    result = build.binary("divf", dividends, divisors, np.divide)
    if element == "f32" and source.random() < 0.3:
        narrow = build.value(source.choice(("f16", "bf16")), shape)
        dtype = ELEMENTS[narrow.element].dtype
        text = f"ftof {{0}} : {result.type} -> {narrow.type}"
        return build.compute(text, narrow, [result], lambda array: array.astype(dtype))
    return result


def _shared_shapes(shape: Shape) -> list[Shape]:
    """The shapes of divisors that all elements, or those of a row or a column, share."""
    shared = [tuple(1 for _ in shape)]
    return shared + [tuple(e if dim == axis else 1 for dim, e in enumerate(shape)) for axis in range(len(shape))]


def _exponentials(build: Builder, shape: Shape) -> Value:
    """2**x of integers and special numbers, for which all methods of computing it are exact."""
    source = build.source
    low, high = source.choice(((-20, 5), (-126, 127), (-126, 127), (-160, 135), (-300, 300)))
    numbers = build.arrays.integers(low, high + 1, shape).astype(np.float32)
    for _ in range(source.choice((0, 0, 1, 3))):
        numbers.flat[source.randrange(numbers.size)] = source.choice((*_SPECIAL, -127.0, -149.0, -150.0, 128.0))
    exponents, minimum = _loaded(build, "f32", shape, numbers), None
    flushes = source.random() < 0.5

    def powers(array: np.ndarray) -> np.ndarray:
        exact = np.exp2(array.astype(np.float64)).astype(np.float32)
        return np.where(exact < 2.0**-126, np.float32(0), exact) if flushes else exact

    text = f"exp2 {{0}}{' flush_to_zero' if flushes else ''} : {exponents.type}"
    # Six exponentials take longer than the loads of an iteration.
    for added in range(source.choice((1, 1, 6)) if len(build.blocks) > 1 else 1):
        sums = exponents
        if added:
            sums = build.binary("addf", exponents, build.constant("f32", float(added), shape), np.add)
        power = build.compute(text, build.value("f32", shape), [sums], powers)
        if minimum is not None:
            power = build.binary("minf", minimum, power, np.minimum, None, " propagate_nan")
        minimum = power
    assert minimum is not None
    return minimum


def _numbers(build: Builder, element: str, shape: Shape) -> np.ndarray:
    """Numbers of similar or of all magnitudes, with special ones at random positions of some tiles."""
    source, dtype = build.source, ELEMENTS[element].dtype
    spread, center = source.choice((1, 3, 12)), 0
    if element != "f16":
        # All near the limits of exact quotients, or of normal numbers.
        center = source.choice((0, 0, 0, 0, -20, 20, -100, 100, 120, -126, -140))
    signs = build.arrays.choice((-1.0, 1.0), shape) if source.random() < 0.5 else 1.0
    exponents = build.arrays.integers(center - spread, center + spread + 1, shape)
    numbers = signs * np.ldexp(build.arrays.uniform(1, 2, shape), exponents)
    if source.random() < 0.4:
        numbers = np.where(build.arrays.integers(0, 8, shape) == 0, build.arrays.choice((0.0, -0.0), shape), numbers)
    limits = np.array([2.0**-20, 2.0**20, 2.0**-100, 2.0**100]) * source.choice((1, 1 - 2.0**-24, 1 + 2.0**-23))
    extreme = [*_SPECIAL, *limits, *(sign * np.finfo(np.float32).max for sign in (1, -1)), 2.0**-126, 2.0**-149, -1e-40]
    for _ in range(source.choice((0, 0, 0, 1, 1, 2, 20))):
        numbers.flat[source.randrange(numbers.size)] = source.choice(extreme)
    with np.errstate(all="ignore"):
        return numbers.astype(np.float32).astype(dtype)


def _loaded(build: Builder, element: str, shape: Shape, array: np.ndarray) -> Value:
    base = build.parameter(tile_type(f"ptr<{element}>"), array.reshape(-1))
    strides = tuple(prod(shape[dim + 1 :]) for dim in range(len(shape)))
    view = make_view(build, base, element, shape, shape, strides, range(len(shape)), shape, "zero")
    zero, result, token = build.constant("i32", 0), build.value(element, shape), build.name()
    indices = ", ".join(zero.name for _ in shape)
    text = f"{result.name}, {token} = load_view_tko weak {view.name}[{indices}] : {view.type}, tile<i32> -> "
    text += f"{result.type}, token"

    def run(environment: Environment) -> None:
        environment[result] = environment.memory[base].reshape(shape)

    build.add(Step(text, run, [result], [zero]))
    return result
