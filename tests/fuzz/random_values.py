"""Draws values on demand: a tile of a type and shape, from what is in scope or from new operations below it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from elements import ARITHMETIC_FLOATS, ELEMENTS, INTEGERS, high_product, unsigned
from program_text import Block, Environment, Parameter, Shape, Step, Value, tile_type

LARGEST_BOUND = 8


class Builder:
    """Grows one program: the current block, the values in scope, and the parameters."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.arrays = np.random.default_rng(seed)
        self.parameters: list[Parameter] = []
        self.blocks: list[Block] = [Block(end="return")]
        self.scopes: list[list[Value]] = [[]]
        self.grid = self.source.choice((1, 1, 2, 3))
        self.sums = False
        self._names = 0

    # What there is.

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
        """`text` holds {0}, {1}, .. for the operands' names; the function takes their arrays."""
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

    # Drawing.

    def shape_near(self, shape: Shape) -> Shape:
        return self.source.choice([shape, shape[::-1]])

    def want(self, element: str, shape: Shape, depth: int, bound: int | None = None) -> Value:
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
        makers = [_moved, _moved, _moved, _selected]
        if shape and prod(shape) <= 2048:
            makers.append(_reduced)
        if shape:
            makers.append(_scanned)
        makers += _OF_KIND["float" if ELEMENTS[element].is_float else "i1" if element == "i1" else "integer"]
        for _ in range(8):
            made = self.source.choice(makers)(self, element, shape, depth - 1, bound)
            if made is not None:
                assert made.element == element and made.shape == shape and _within(made, bound), (made, bound)
                return made
        return self._leaf(element, shape, bound)

    def _leaf(self, element: str, shape: Shape, bound: int | None) -> Value:
        from random_memory import gathered, loaded

        kind = self.source.randrange(10)
        if not shape:
            return self._scalar(element, bound)
        if kind < 2:
            return self._splat(element, shape, bound)
        if kind == 2 and element in INTEGERS:
            return self.spread(element, shape)
        return (gathered if kind == 3 else loaded)(self, element, shape, bound)

    def _splat(self, element: str, shape: Shape, bound: int | None) -> Value:
        if element == "i1":
            return self.constant(element, self.source.random() < 0.5, shape)
        if not ELEMENTS[element].is_float:
            bits = ELEMENTS[element].bits
            extreme = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, -1, 0, 1]
            return self.constant(element, self.source.choice([*extreme, self.source.randrange(-9, 10)]), shape)
        most = min(LARGEST_BOUND, bound if bound is not None else LARGEST_BOUND)
        number = self.source.randrange(-most, most + 1)
        return self.constant(element, float(number), shape, abs(number))

    def _scalar(self, element: str, bound: int | None) -> Value:
        from random_memory import gathered

        kind = self.source.randrange(4)
        if element == "i32" and kind == 0:
            return self.block_number()
        if element in INTEGERS and kind == 1 and ELEMENTS[element].bits >= 32:
            number = self.source.randrange(-20, 100)
            name = self.parameter(tile_type(element), number)
            result = self.value(element, ())
            array = np.full((), number, ELEMENTS[element].dtype)
            # The parameter's own name is that of a value: a sum with zero gives it one of ours.
            zero = self.constant(element, 0)
            return self.compute(f"addi {name}, {{0}} : {result.type}", result, [zero], lambda _: array)
        if kind == 2:
            return gathered(self, element, (), bound)
        return self._splat(element, (), bound)

    def block_number(self) -> Value:
        x, y, z = (self.value("i32", ()) for _ in range(3))

        def run(environment: Environment) -> None:
            environment[x] = np.array(environment.block, np.int32)
            environment[y] = environment[z] = np.array(0, np.int32)

        self.add(Step(f"{x.name}, {y.name}, {z.name} = get_tile_block_id : tile<i32>", run, [x, y, z]))
        return x

    def spread(self, element: str, shape: Shape) -> Value:
        """A ramp along one dimension."""
        axis = self.source.randrange(len(shape))
        count = min(shape[axis], 128)
        if shape[axis] != count:
            return self._splat(element, shape, None)
        ramp = self.value(element, (count,))
        made = np.arange(count).astype(ELEMENTS[element].dtype)
        self.compute(f"iota : {ramp.type}", ramp, [], lambda: made)
        lone = tuple(count if dim == axis else 1 for dim in range(len(shape)))
        return self.broadcast(self.reshape(ramp, lone), shape)

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
        """A scalar in every element."""
        return self.broadcast(self.reshape(scalar, (1,) * len(shape)), shape) if shape else scalar

    def permute(self, value: Value, order: Sequence[int]) -> Value:
        result = self.value(value.element, tuple(value.shape[dim] for dim in order), value.bound)
        text = f"permute {{0}} {list(order)} : {value.type} -> {result.type}"
        return self.compute(text, result, [value], lambda array: np.transpose(array, order))

    def binary(
        self, name: str, left: Value, right: Value, function: Callable, bound: int | None = None, words: str = ""
    ) -> Value:
        result = self.value(left.element, left.shape, bound)
        return self.compute(f"{name} {{0}}, {{1}}{words} : {result.type}", result, [left, right], function)

    def masked(self, value: Value, mask: int) -> Value:
        """The integer's low bits."""
        low = self.constant(value.element, mask, value.shape)
        return self.binary("andi", value, low, np.bitwise_and)


def _within(value: Value, bound: int | None) -> bool:
    return bound is None or not ELEMENTS[value.element].is_float or (value.bound is not None and value.bound <= bound)


# One function per kind of value: each takes (builder, element, shape, depth, bound) and gives a value or None.


def _leaf_value(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    return build._leaf(element, shape, bound)


def _moved(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """The elements of another tile at other indices."""
    kind = build.source.choice(("permute", "reshape", "broadcast", "cat", "extract"))
    rank = len(shape)
    if kind == "permute" and rank >= 2:
        order = list(range(rank))
        build.source.shuffle(order)
        inner = [0] * rank
        for dim, source in enumerate(order):
            inner[source] = shape[dim]
        return build.permute(build.want(element, tuple(inner), depth, bound), order)
    if kind == "reshape":
        return build.reshape(build.want(element, _reshaped(build.source, shape), depth, bound), shape)
    if kind == "broadcast" and rank:
        narrow = tuple(1 if build.source.random() < 0.5 else extent for extent in shape)
        return None if narrow == shape else build.broadcast(build.want(element, narrow, depth, bound), shape)
    if kind == "cat" and rank:
        axis = build.source.randrange(rank)
        if shape[axis] < 2:
            return None
        half = tuple(extent // 2 if dim == axis else extent for dim, extent in enumerate(shape))
        left, right = build.want(element, half, depth, bound), build.want(element, half, depth, bound)
        result = build.value(element, shape, _larger(left, right))
        text = f"cat {{0}}, {{1}} dim = {axis} : {left.type}, {right.type} -> {result.type}"
        return build.compute(text, result, [left, right], lambda a, b: np.concatenate([a, b], axis))
    if kind == "extract" and rank and prod(shape) <= 2048:
        return _extracted(build, element, shape, depth, bound)
    return None


def _extracted(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value:
    times = [1] * len(shape)
    times[build.source.randrange(len(shape))] = build.source.choice((2, 4))
    whole = build.want(element, tuple(e * t for e, t in zip(shape, times, strict=True)), depth, bound)
    indices = []
    for count in times:
        if count == 1 or build.source.random() < 0.5:
            indices.append(build.constant("i32", build.source.randrange(count)))
        else:
            indices.append(build.masked(build.want("i32", (), 0), count - 1))
    result = build.value(element, shape, whole.bound)
    places = ", ".join(f"{{{number + 1}}}" for number in range(len(indices)))
    text = f"extract {{0}}[{places}] : {whole.type} -> {result.type}"

    def function(array: np.ndarray, *at: np.ndarray) -> np.ndarray:
        return array[tuple(slice(int(i) * e, int(i) * e + e) for i, e in zip(at, shape, strict=True))]

    return build.compute(text, result, [whole, *indices], function)


def _reshaped(source: random.Random, shape: Shape) -> Shape:
    """Another shape of as many elements."""
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


def _larger(left: Value, right: Value) -> int | None:
    return None if left.bound is None or right.bound is None else max(left.bound, right.bound)


def _selected(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    condition = build.want("i1", shape, depth)
    left, right = build.want(element, shape, depth, bound), build.want(element, shape, depth, bound)
    result = build.value(element, shape, _larger(left, right))
    text = f"select {{0}}, {{1}}, {{2}} : {condition.type}, {result.type}"
    return build.compute(text, result, [condition, left, right], np.where)


_INTEGER_OPERATIONS: dict[str, Callable] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "mulhii": high_product,
}
_PREDICATES: dict[str, Callable] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
}


def _integer(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    left = build.want(element, shape, depth)
    kind = build.source.randrange(6)
    if kind == 0:
        name, function = build.source.choice((("negi", np.negative), ("absi", np.abs)))
        result = build.value(element, shape)
        return build.compute(f"{name} {{0}} : {result.type}", result, [left], function)
    right = build.want(element, shape, depth)
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
    """The function on signed or unsigned integers, without a bound, and the word that says which."""
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
    """By a positive divisor."""
    dtype = ELEMENTS[left.element].dtype
    kind = build.source.randrange(6)
    if kind == 0:
        return build.binary("divi", left, right, np.floor_divide, None, " signed rounding<negative_inf>")
    if kind == 1:
        ceiling = lambda a, b: -np.floor_divide(-a.astype(object), b.astype(object))  # noqa: E731
        return build.binary("divi", left, right, ceiling, None, " signed rounding<positive_inf>")
    if kind == 2:
        return build.binary("divi", left, right, lambda a, b: a // b + ((a % b != 0) & (a < 0)), None, " signed")
    if kind == 3:
        return build.binary(
            "divi", left, right, lambda a, b: (unsigned(a) // unsigned(b)).view(dtype), None, " unsigned"
        )
    if kind == 4:
        return build.binary("remi", left, right, np.fmod, None, " signed")
    return build.binary("remi", left, right, lambda a, b: (unsigned(a) % unsigned(b)).view(dtype), None, " unsigned")


def _integer_converted(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    other = build.source.choice([e for e in ("i1", *INTEGERS) if e != element])
    value = build.want(other, shape, depth)
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


def _integer_from_float(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element == "i1":
        return None
    other = build.source.choice(("f16", "bf16", "f32", "f64"))
    value = build.want(other, shape, depth, LARGEST_BOUND)
    result = build.value(element, shape)
    text = f"ftoi {{0}} signed : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda a: a.astype(np.float64).astype(np.int64))


def _compared(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    result = build.value("i1", shape)
    name = build.source.choice(list(_PREDICATES))
    function = _PREDICATES[name]
    if build.source.random() < 0.6:
        kind = build.source.choice(INTEGERS)
        left, right = build.want(kind, shape, depth), build.want(kind, shape, depth)
        signed = build.source.random() < 0.5
        word = "signed" if signed else "unsigned"
        chosen = function if signed else lambda a, b: function(unsigned(a), unsigned(b))
        text = f"cmpi {name} {{0}}, {{1}}, {word} : {left.type} -> {result.type}"
        return build.compute(text, result, [left, right], chosen)
    kind = build.source.choice(ARITHMETIC_FLOATS)
    left, right = build.want(kind, shape, depth), build.want(kind, shape, depth)
    ordered = build.source.random() < 0.5

    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        nan = np.isnan(a) | np.isnan(b)
        return function(a, b) & ~nan if ordered else function(a, b) | nan

    text = f"cmpf {name} {'ordered' if ordered else 'unordered'} {{0}}, {{1}} : {left.type} -> {result.type}"
    return build.compute(text, result, [left, right], compare)


def _logical(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    left, right = build.want("i1", shape, depth), build.want("i1", shape, depth)
    name = build.source.choice(("andi", "ori", "xori"))
    return build.binary(name, left, right, _INTEGER_OPERATIONS[name])


def _float(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element not in ARITHMETIC_FLOATS:
        return None
    if bound is not None:
        return _bounded_float(build, element, shape, depth, bound)
    left = build.want(element, shape, depth)
    kind = build.source.randrange(8)
    if kind == 0:
        return _float_of_one(build, left)
    if kind == 1:
        divisor = build.constant(element, build.source.choice((3.0, -7.0, 0.5)), shape)
        return build.binary("divf", left, divisor, np.divide)
    right = build.want(element, shape, depth)
    bounds = None if left.bound is None or right.bound is None else (left.bound, right.bound)
    if kind <= 3:
        name, function = build.source.choice((("addf", np.add), ("subf", np.subtract)))
        return build.binary(name, left, right, function, bounds and sum(bounds))
    if kind <= 5:
        return build.binary("mulf", left, right, np.multiply, bounds and bounds[0] * bounds[1])
    if kind == 6:
        return _least_or_most(build, left, right, bounds and max(bounds))
    return _fused(build, element, shape, depth)


def _least_or_most(build: Builder, left: Value, right: Value, bound: int | None) -> Value:
    build.sums = True  # of +0 and -0 either may be the smaller
    name, quiet, strict = build.source.choice((("minf", np.fmin, np.minimum), ("maxf", np.fmax, np.maximum)))
    if build.source.random() < 0.5:
        return build.binary(name, left, right, quiet, bound)
    return build.binary(name, left, right, strict, bound, " propagate_nan")


def _float_of_one(build: Builder, value: Value) -> Value:
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
    a, b, c = (build.want(element, shape, depth, LARGEST_BOUND) for _ in range(3))
    assert a.bound is not None and b.bound is not None and c.bound is not None
    result = build.value(element, shape, a.bound * b.bound + c.bound)
    text = f"fma {{0}}, {{1}}, {{2}} : {result.type}"
    return build.compute(text, result, [a, b, c], lambda x, y, z: x * y + z)


def _bounded_float(build: Builder, element: str, shape: Shape, depth: int, bound: int) -> Value | None:
    kind = build.source.randrange(4)
    if kind == 0 and bound >= 2:
        left, right = (build.want(element, shape, depth, bound // 2) for _ in range(2))
        name, function = build.source.choice((("addf", np.add), ("subf", np.subtract)))
        return build.binary(name, left, right, function, (left.bound or 0) + (right.bound or 0))
    if kind == 1:
        left = build.want(element, shape, depth, bound)
        right = build.want(element, shape, depth, 1)
        return build.binary("mulf", left, right, np.multiply, (left.bound or 0) * (right.bound or 0))
    if kind == 2:
        left, right = build.want(element, shape, depth, bound), build.want(element, shape, depth, bound)
        return _least_or_most(build, left, right, _larger(left, right))
    value = build.want(element, shape, depth, bound)
    result = build.value(element, shape, value.bound)
    name, function = build.source.choice((("negf", np.negative), ("absf", np.abs)))
    return build.compute(f"{name} {{0}} : {result.type}", result, [value], function)


def _float_converted(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    others = [name for name, other in ELEMENTS.items() if other.is_float and name != element]
    exact = ELEMENTS[element].exact
    value = build.want(build.source.choice(others), shape, depth, min(exact, bound if bound is not None else exact))
    result = build.value(element, shape, value.bound)
    return build.compute(f"ftof {{0}} : {value.type} -> {result.type}", result, [value], _to_float(element))


def _to_float(element: str) -> Callable[[np.ndarray], np.ndarray]:
    dtype = ELEMENTS[element].dtype
    return lambda array: array.astype(np.float64).astype(np.float32).astype(dtype)


def _float_of_bits(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """Any bits, NaN among them: the other direction would show the bits of a NaN, which are not specified."""
    same = [name for name in INTEGERS if ELEMENTS[name].bits == ELEMENTS[element].bits]
    if bound is not None or element == "tf32":
        return None
    value = build.want(same[0], shape, depth)
    result = build.value(element, shape)
    dtype = ELEMENTS[element].dtype
    text = f"bitcast {{0}} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: np.ascontiguousarray(array).view(dtype))


def _float_from_integer(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    if element == "tf32":
        return None
    most = min(bound if bound is not None else LARGEST_BOUND, LARGEST_BOUND, ELEMENTS[element].exact)
    mask = (1 << (most + 1).bit_length() - 1) - 1
    if mask == 0:
        return None
    value = build.masked(build.want(build.source.choice(INTEGERS), shape, depth), mask)
    result = build.value(element, shape, mask)
    word = build.source.choice(("signed", "unsigned"))
    return build.compute(f"itof {{0}} {word} : {value.type} -> {result.type}", result, [value], _to_float(element))


def _reduced(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    from random_reductions import reduced

    return reduced(build, element, shape, depth, bound)


def _scanned(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    from random_reductions import scanned

    return scanned(build, element, shape, depth, bound)


_OF_KIND: dict[str, list[Callable[..., Value | None]]] = {
    "integer": [_integer, _integer, _integer, _integer, _integer_converted, _integer_from_float],
    "i1": [_compared, _compared, _compared, _logical, _integer_converted],
    "float": [_float, _float, _float, _float, _float_converted, _float_from_integer, _float_of_bits],
}
