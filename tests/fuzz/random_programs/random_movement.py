"""Values whose elements are elements of other tiles, at other indices or selected by a condition.

Each function takes (builder, element, shape, depth, bound) and returns a value or None.
"""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from program_text import Shape, Value, larger_bound
from random_conditions import counter_condition
from random_narrow import is_possible

if TYPE_CHECKING:
    from random_values import Builder


def moved(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """The elements of another tile at other indices."""
    kind = build.source.choice(("permute", "reshape", "broadcast", "cat", "extract"))
    rank = len(shape)
    if kind == "permute" and rank >= 2:
        order = list(range(rank))
        build.source.shuffle(order)
        inner = [0] * rank
        for dim, source in enumerate(order):
            inner[source] = shape[dim]
        return build.permute(build.random_value(element, tuple(inner), depth, bound), order)
    if kind == "reshape":
        return build.reshape(build.random_value(element, reshaped(build.source, shape), depth, bound), shape)
    if kind == "broadcast" and rank:
        narrow = tuple(1 if build.source.random() < 0.5 else extent for extent in shape)
        return (
            None
            if narrow == shape or not is_possible(element, narrow)
            else build.broadcast(build.random_value(element, narrow, depth, bound), shape)
        )
    if kind == "cat" and rank:
        axis = build.source.randrange(rank)
        if shape[axis] < 2:
            return None
        half = tuple(extent // 2 if dim == axis else extent for dim, extent in enumerate(shape))
        if not is_possible(element, half):
            return None
        left, right = build.random_value(element, half, depth, bound), build.random_value(element, half, depth, bound)
        result = build.value(element, shape, larger_bound(left, right))
        text = f"cat {{0}}, {{1}} dim = {axis} : {left.type}, {right.type} -> {result.type}"
        return build.compute(text, result, [left, right], lambda a, b: np.concatenate([a, b], axis))
    if kind == "extract" and rank and prod(shape) <= 2048:
        return _extracted(build, element, shape, depth, bound)
    return None


def _extracted(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value:
    factors = [1] * len(shape)
    factors[build.source.randrange(len(shape))] = build.source.choice((2, 4))
    larger = build.random_value(element, tuple(e * t for e, t in zip(shape, factors, strict=True)), depth, bound)
    indices = []
    for count in factors:
        if count == 1 or build.source.random() < 0.5:
            indices.append(build.constant("i32", build.source.randrange(count)))
        else:
            indices.append(build.masked(build.random_value("i32", (), 0), count - 1))
    result = build.value(element, shape, larger.bound)
    index_list = ", ".join(f"{{{number + 1}}}" for number in range(len(indices)))
    text = f"extract {{0}}[{index_list}] : {larger.type} -> {result.type}"

    def function(array: np.ndarray, *at: np.ndarray) -> np.ndarray:
        return array[tuple(slice(int(i) * e, int(i) * e + e) for i, e in zip(at, shape, strict=True))]

    return build.compute(text, result, [larger, *indices], function)


def reshaped(source: random.Random, shape: Shape) -> Shape:
    """Another shape with the same number of elements."""
    extents = list(shape)
    for _ in range(source.randrange(1, 3)):
        kind = source.randrange(3)
        if kind == 0 and len(extents) >= 2:
            at = source.randrange(len(extents) - 1)
            extents[at : at + 2] = [extents[at] * extents[at + 1]]
        elif kind == 1 and len(extents) < 4:
            extents.insert(source.randrange(len(extents) + 1), 1)
        elif extents and len(extents) < 4:
            at = source.randrange(len(extents))
            if extents[at] >= 2:
                part = source.choice([p for p in (2, 4, 8) if extents[at] % p == 0])
                extents[at : at + 1] = source.choice([[part, extents[at] // part], [extents[at] // part, part]])
    return tuple(extents)


def selected(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element == "f4E2M1FN":
        return None
    if build.counters and build.source.random() < 0.4:
        condition = build.splat_of(counter_condition(build), shape)
        if build.source.random() < 0.3:
            condition = build.binary("andi", condition, build.random_value("i1", shape, depth), np.logical_and)
    else:
        condition = build.random_value("i1", shape, depth)
    left, right = build.random_value(element, shape, depth, bound), build.random_value(element, shape, depth, bound)
    result = build.value(element, shape, larger_bound(left, right))
    text = f"select {{0}}, {{1}}, {{2}} : {condition.type}, {result.type}"
    return build.compute(text, result, [condition, left, right], np.where)
