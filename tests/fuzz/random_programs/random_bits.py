"""Floats from integers that are bits of words: chains of shifts, masks, sums, conversions and moves of the elements.

Each function takes (builder, element, shape, depth, bound) and returns a value or None.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from elements import ELEMENTS, unsigned, wrapped
from program_text import Shape, Value
from random_memory import loaded, store
from random_movement import reshaped
from random_narrow import cut, extended

if TYPE_CHECKING:
    from random_values import Builder

_WORDS = ("i8", "i8", "i16", "i32", "i32")
_FLOATS = ("f16", "bf16", "f32")


def store_bits(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    """Stores floats of which each thread has several: they are converted in pairs."""
    for _ in range(3):
        shape = build.source.choice(((512,), (16, 32), (8, 128), (64, 16)))
        number = float_of_word_bits(build, build.source.choice(_FLOATS), shape, 0, None)
        assert number is not None
        store(build, number, slot, slots)


def float_of_word_bits(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """The float of a signed or an unsigned integer; with a bound, of some of its low bits."""
    if element not in _FLOATS:
        return None
    number = _chain(build, build.source.choice(_WORDS), shape, build.source.randrange(1, 8))
    is_signed = build.source.random() < 0.5
    if bound is not None:
        bits = min(bound + 1, ELEMENTS[element].exact, 128).bit_length() - 1
        if not bits:
            return None
        number = build.masked(number, (1 << bits) - 1)
        if is_signed and build.source.random() < 0.5:
            number = _sum(build, number, -(1 << bits - 1))
        bound = (1 << bits) - 1
    result = build.value(element, shape, bound)
    text = f"itof {{0}} {'signed' if is_signed else 'unsigned'} : {number.type} -> {result.type}"
    return build.compute(text, result, [number], lambda a: _rounded(element, a if is_signed else unsigned(a)))


def _rounded(element: str, numbers: np.ndarray) -> np.ndarray:
    """Integers of up to 32 bits as floats, rounded once; numpy converts to bf16 with two roundings."""
    numbers = numbers.astype(np.int64)
    if element == "bf16":
        dropped = np.maximum(0, np.frexp(numbers.astype(np.float64))[1] - 8)
        numbers = np.round(np.ldexp(numbers.astype(np.float64), -dropped)) * 2.0**dropped
    return numbers.astype(np.float64).astype(ELEMENTS[element].dtype)


def _chain(build: Builder, element: str, shape: Shape, steps: int) -> Value:
    source = build.source
    if steps <= 0:
        if element == "i16":
            return _resized(build, element, shape, 0)
        return loaded(build, element, shape, None) if shape else build.random_value(element, shape, 0)
    kind = source.choice(("shift", "part", "resize", "resize", "mask", "centered") * 2 + ("sum", "move", "shift"))
    if kind == "move":
        return _moved(build, element, shape, steps)
    if kind == "resize":
        return _resized(build, element, shape, steps)
    number = _chain(build, element, shape, steps - 1)
    bits = ELEMENTS[element].bits
    if kind == "centered":
        kept = min(bits, source.choice((4, 8, 8)))
        return _sum(build, build.masked(number, wrapped((1 << kept) - 1, bits)), -(1 << kept - 1))
    if kind == "part":
        # Some bits and their sign, from any position.
        kept = min(bits, source.choice((4, 8, 8, source.randrange(1, bits + 1))))
        above, unsigned_part = source.randrange(bits - kept + 1), source.random() < 0.3
        number = build.binary("shli", number, build.constant(element, above, shape), np.left_shift)
        name, function = (" unsigned", _logical_shift) if unsigned_part else (" signed", np.right_shift)
        return build.binary("shri", number, build.constant(element, bits - kept, shape), function, None, name)
    if kind == "sum":
        return _sum(build, number, source.choice((1, 8, -8, 100, 120, source.randrange(-140, 140))))
    if kind == "mask":
        low = (1 << min(bits, source.choice((4, 7, 8, 8, source.randrange(1, bits + 1))))) - 1
        return build.masked(number, wrapped(source.choice((low, low, low, source.getrandbits(bits))), bits))
    name, function = source.choice(
        (("shli", np.left_shift), ("shri signed", np.right_shift), ("shri unsigned", _logical_shift))
    )
    name, _, modifier = name.partition(" ")
    return build.binary(name, number, _amounts(build, element, shape), function, None, f" {modifier}".rstrip())


def _amounts(build: Builder, element: str, shape: Shape) -> Value:
    """One amount for all elements, or the number of an element times the bits of a part."""
    source, bits = build.source, ELEMENTS[element].bits
    part = source.choice((1, 2, 4, 8))
    if not shape or source.random() < 0.7 or bits <= part:
        return build.constant(element, source.choice((4, source.randrange(bits))), shape)
    number = build.masked(build.increasing(element, shape), bits // part - 1)
    return build.binary("muli", number, build.constant(element, part, shape), np.multiply)


def _sum(build: Builder, number: Value, added: int) -> Value:
    bits = ELEMENTS[number.element].bits
    constant = build.constant(number.element, wrapped(added, bits), number.shape)
    name, function = build.source.choice((("addi", np.add), ("addi", np.add), ("subi", np.subtract)))
    return build.binary(name, number, constant, function)


def _logical_shift(numbers: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    return np.right_shift(unsigned(numbers), unsigned(amounts)).view(numbers.dtype)


def _resized(build: Builder, element: str, shape: Shape, steps: int) -> Value:
    """An integer of another size, extended or truncated to this one; sometimes of 4 bits."""
    if steps > 0 and build.source.random() < 0.2:
        return extended(build, cut(build, _chain(build, element, shape, steps - 1)), element)
    others = ("i8", "i16", "i32") if steps > 0 else ("i8", "i32")
    other = build.source.choice([each for each in others if each != element])
    number = _chain(build, other, shape, steps - 1)
    result, dtype = build.value(element, shape), ELEMENTS[element].dtype
    if ELEMENTS[other].bits > ELEMENTS[element].bits:
        return build.compute(
            f"trunci {{0}} : {number.type} -> {result.type}", result, [number], lambda a: a.astype(dtype)
        )
    is_signed = build.source.random() < 0.5
    text = f"exti {{0}} {'signed' if is_signed else 'unsigned'} : {number.type} -> {result.type}"
    return build.compute(text, result, [number], lambda a: (a if is_signed else unsigned(a)).astype(dtype))


def _moved(build: Builder, element: str, shape: Shape, steps: int) -> Value:
    """The elements at other indices, or joined with those of another chain."""
    source = build.source
    kind = source.choice(("permute", "reshape", "cat", "cat", "extract"))
    wide = [axis for axis, extent in enumerate(shape) if extent > 1]
    if kind == "permute" and len(shape) > 1:
        order = source.sample(range(len(shape)), len(shape))
        inner = tuple(shape[order.index(axis)] for axis in range(len(shape)))
        return build.permute(_chain(build, element, inner, steps - 1), order)
    if kind == "cat" and wide:
        axis = source.choice(wide)
        half = tuple(extent // 2 if dim == axis else extent for dim, extent in enumerate(shape))
        # Parts of the same words, as the nibbles of bytes, in half of the cases.
        left = _chain(build, element, half, steps - 1)
        is_other = source.random() < 0.5
        right = _chain(build, element, half, source.randrange(steps)) if is_other else _shifted(build, left)
        result = build.value(element, shape)
        text = f"cat {{0}}, {{1}} dim = {axis} : {left.type}, {right.type} -> {result.type}"
        return build.compute(text, result, [left, right], lambda a, b: np.concatenate([a, b], axis))
    if kind == "extract" and shape and prod(shape) <= 2048:
        axis, count = source.randrange(len(shape)), source.choice((2, 4))
        whole = tuple(extent * count if dim == axis else extent for dim, extent in enumerate(shape))
        larger, at = _chain(build, element, whole, steps - 1), source.randrange(count)
        indices = [build.constant("i32", at if dim == axis else 0) for dim in range(len(shape))]
        result = build.value(element, shape)
        names = ", ".join(f"{{{number + 1}}}" for number in range(len(indices)))
        text = f"extract {{0}}[{names}] : {larger.type} -> {result.type}"
        region = tuple(slice(at * e, at * e + e) if dim == axis else slice(None) for dim, e in enumerate(shape))
        return build.compute(text, result, [larger, *indices], lambda array, *_: array[region])
    return build.reshape(_chain(build, element, reshaped(source, shape), steps - 1), shape)


def _shifted(build: Builder, number: Value) -> Value:
    """Other bits of the same words."""
    amount = build.constant(number.element, build.source.choice((1, 3, 4, 4)), number.shape)
    return build.binary("shri", number, amount, np.right_shift, None, " signed")
