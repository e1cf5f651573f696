"""Generates random values of a type and shape, from the scope or from new operations."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from elements import ELEMENTS, INTEGERS, LARGEST_BOUND, NARROW, PACKED
from program_text import Block, Environment, Parameter, Shape, Step, Value, tile_type
from random_bits import float_of_word_bits
from random_conditions import Counter
from random_floats import float_converted, float_from_integer, float_of_bits, floating
from random_integers import compared, integer, integer_converted, integer_from_float, logical
from random_memory import gathered, loaded
from random_movement import moved, selected
from random_narrow import (
    float_from_narrow,
    integer_from_narrow,
    narrow_constant,
    narrow_from_float,
    narrow_from_narrow,
    packed_leaf,
    repacked,
)
from random_reductions import reduced, scanned
from random_sparse import sparsely_loaded

# The functions that generate a value, by the kind of its element; repeated functions are more frequent.
_OF_KIND: dict[str, list[Callable[..., Value | None]]] = {
    "integer": [*[integer] * 4, integer_converted, integer_from_float, integer_from_narrow, repacked],
    "i1": [compared, compared, compared, logical, integer_converted, repacked],
    "float": [
        *[floating] * 4, *[float_of_word_bits] * 2, float_converted, float_from_integer, float_of_bits,
        float_from_narrow,
    ],
    "narrow": [narrow_from_float, narrow_from_float, narrow_from_narrow, repacked],
}


def _kind(element: str) -> str:
    if element in NARROW:
        return "narrow"
    return "float" if ELEMENTS[element].is_float else "i1" if element == "i1" else "integer"


class Builder:
    """The state of a program under construction: the current block, the values in scope, and the parameters."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.arrays = np.random.default_rng(seed)
        self.parameters: list[Parameter] = []
        self.blocks: list[Block] = [Block(end="return")]
        self.scopes: list[list[Value]] = [[]]
        # The counters of the loops around the current block.
        self.counters: list[Counter] = []
        self.grid = self.source.choice((1, 1, 2, 3))
        self.sums = False
        self._names = 0

    # Names, values and parameters.

    def name(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def value(self, element: str, shape: Shape, bound: int | None = None) -> Value:
        exact = ELEMENTS[element].exact
        return Value(self.name(), element, shape, bound if bound is not None and bound <= exact else None)

    def in_scope(self) -> list[Value]:
        return [value for scope in self.scopes for value in scope]

    def parameter(self, type: str, value: np.ndarray | int, output: bool = False) -> str:
        name = f"%a{len(self.parameters)}"
        self.parameters.append(Parameter(name, type, value, output))
        return name

    # Adding steps.

    def add(self, step: Step) -> Step:
        self.blocks[-1].steps.append(step)
        self.scopes[-1] += step.results
        return step

    def compute(
        self, text: str, result: Value, operands: Sequence[Value], function: Callable[..., np.ndarray], **names: str
    ) -> Value:
        """Adds an operation; `text` has {0}, {1}, .. for the names of operands, and the function takes their arrays."""
        written = text.format(*[operand.name for operand in operands], **names)
        dtype = ELEMENTS[result.element].dtype

        def run(environment: Environment) -> None:
            array = np.asarray(function(*[environment[operand] for operand in operands]))
            environment[result] = np.ascontiguousarray(array.astype(dtype, copy=False)).reshape(result.shape)

        self.add(Step(f"{result.name} = {written}", run, [result], operands))
        return result

    def constant(self, element: str, number: Any, shape: Shape = (), bound: int | None = None) -> Value:
        written = str(number).lower() if element == "i1" else str(number)
        array = np.full(shape, number, ELEMENTS[element].dtype)
        result = self.value(element, shape, bound)
        return self.compute(f"constant <{element}: {written}> : {result.type}", result, [], lambda: array)

    # Random values.

    def shape_near(self, shape: Shape) -> Shape:
        return self.source.choice([shape, shape[::-1]])

    def random_value(self, element: str, shape: Shape, depth: int, bound: int | None = None) -> Value:
        """A value of a type; floats with a `bound` are integers of at most that magnitude."""
        fitting = [
            value
            for value in self.in_scope()
            if value.element == element and value.shape == shape and _within(value, bound)
        ]
        if fitting and self.source.random() < (0.2 if depth else 0.8):
            return self.source.choice(fitting[-8:])
        if depth <= 0:
            return self._leaf(element, shape, bound)
        makers = [moved, moved, moved, selected]
        if shape and prod(shape) <= 2048 and element not in NARROW:
            makers.append(reduced)
        if shape and element not in NARROW:
            makers.append(scanned)
        makers += _OF_KIND[_kind(element)]
        for _ in range(8):
            value = self.source.choice(makers)(self, element, shape, depth - 1, bound)
            if value is not None:
                assert value.element == element and value.shape == shape and _within(value, bound), (value, bound)
                return value
        return self._leaf(element, shape, bound)

    def _leaf(self, element: str, shape: Shape, bound: int | None) -> Value:
        if element in PACKED:
            return packed_leaf(self, element, shape)
        kind = self.source.randrange(10)
        if not shape:
            return self._scalar(element, bound)
        if kind < 2:
            return self._splat(element, shape, bound)
        if kind == 2 and element in INTEGERS:
            return self.increasing(element, shape)
        makers = {3: gathered, 4: gathered if element in NARROW else sparsely_loaded}
        return makers.get(kind, loaded)(self, element, shape, bound)

    def _splat(self, element: str, shape: Shape, bound: int | None) -> Value:
        if element in NARROW:
            return narrow_constant(self, element, shape)
        if element == "i1":
            return self.constant(element, self.source.random() < 0.5, shape)
        if not ELEMENTS[element].is_float:
            bits = ELEMENTS[element].bits
            extreme = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, -1, 0, 1]
            return self.constant(element, self.source.choice([*extreme, self.source.randrange(-9, 10)]), shape)
        maximum = min(LARGEST_BOUND, bound if bound is not None else LARGEST_BOUND)
        number = self.source.randrange(-maximum, maximum + 1)
        return self.constant(element, float(number), shape, abs(number))

    def _scalar(self, element: str, bound: int | None) -> Value:
        kind = self.source.randrange(4)
        if element == "i32" and kind == 0:
            return self.block_number()
        if element in INTEGERS and kind == 1 and ELEMENTS[element].bits >= 32:
            return self.argument(element, self.source.randrange(-20, 100))
        if kind == 2:
            return gathered(self, element, (), bound)
        return self._splat(element, (), bound)

    def argument(self, element: str, number: int) -> Value:
        """A number that is an argument of the kernel."""
        name = self.parameter(tile_type(element), number)
        result = self.value(element, ())
        array = np.full((), number, ELEMENTS[element].dtype)
        # A parameter does not have the name of a value, so a sum with zero defines one.
        zero = self.constant(element, 0)
        return self.compute(f"addi {name}, {{0}} : {result.type}", result, [zero], lambda _: array)

    def block_number(self) -> Value:
        x, y, z = (self.value("i32", ()) for _ in range(3))

        def run(environment: Environment) -> None:
            environment[x] = np.array(environment.block, np.int32)
            environment[y] = environment[z] = np.array(0, np.int32)

        self.add(Step(f"{x.name}, {y.name}, {z.name} = get_tile_block_id : tile<i32>", run, [x, y, z]))
        return x

    def increasing(self, element: str, shape: Shape) -> Value:
        """A tile with increasing elements along one dimension."""
        axis = self.source.randrange(len(shape))
        count = min(shape[axis], 128)
        if shape[axis] != count:
            return self._splat(element, shape, None)
        ramp = self.value(element, (count,))
        numbers = np.arange(count).astype(ELEMENTS[element].dtype)
        self.compute(f"iota : {ramp.type}", ramp, [], lambda: numbers)
        ones = tuple(count if dim == axis else 1 for dim in range(len(shape)))
        return self.broadcast(self.reshape(ramp, ones), shape)

    def reshape(self, value: Value, shape: Shape) -> Value:
        if value.shape == shape:
            return value
        result = self.value(value.element, shape, value.bound)
        return self.compute(
            f"reshape {{0}} : {value.type} -> {result.type}", result, [value], lambda array: array.reshape(shape)
        )

    def broadcast(self, value: Value, shape: Shape) -> Value:
        if value.shape == shape:
            return value
        result = self.value(value.element, shape, value.bound)
        text = f"broadcast {{0}} : {value.type} -> {result.type}"
        return self.compute(text, result, [value], lambda array: np.broadcast_to(array, shape))

    def splat_of(self, scalar: Value, shape: Shape) -> Value:
        """A tile with a scalar in every element."""
        return self.broadcast(self.reshape(scalar, (1,) * len(shape)), shape) if shape else scalar

    def permute(self, value: Value, order: Sequence[int]) -> Value:
        result = self.value(value.element, tuple(value.shape[dim] for dim in order), value.bound)
        text = f"permute {{0}} {list(order)} : {value.type} -> {result.type}"
        return self.compute(text, result, [value], lambda array: np.transpose(array, order))

    def binary(
        self, name: str, left: Value, right: Value, function: Callable, bound: int | None = None, modifier: str = ""
    ) -> Value:
        result = self.value(left.element, left.shape, bound)
        return self.compute(f"{name} {{0}}, {{1}}{modifier} : {result.type}", result, [left, right], function)

    def masked(self, value: Value, mask: int) -> Value:
        """The low bits of an integer."""
        low = self.constant(value.element, mask, value.shape)
        return self.binary("andi", value, low, np.bitwise_and)


def _within(value: Value, bound: int | None) -> bool:
    return bound is None or not ELEMENTS[value.element].is_float or (value.bound is not None and value.bound <= bound)
