"""Random programs of Tile IR: loops with bounds at the limits of their types, branches, multiplies and stores."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
from compiler_settings import random_omissions
from elements import ELEMENTS, INTEGERS, NARROW, wrapped
from program_text import Block, EarlyExit, Environment, Program, Region, Shape, Step, Value, tile_type
from random_bits import store_bits
from random_conditions import Counter, counter_condition
from random_memory import make_view, random_array, store
from random_narrow import is_possible
from random_reductions import MULTIPLIES, multiplied
from random_special import store_special
from random_values import Builder

STORED = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", *NARROW)
# Types that kernels use are more frequent.
WEIGHTS = (1, 3, 2, 4, 2, 4, 3, 4, 1, 1, 1, 1, 1, 2, 1, 1)
MAXIMUM_ITERATIONS = 4


def random_program(seed: int) -> Program:
    """The program of a seed."""
    build = Builder(seed)
    source = build.source
    for _ in range(source.choice((1, 1, 2, 3))):
        kinds = (*[_store_value, _for] * 2, _if, _loop, _multiply, _multiply_in_loop)
        (source.choice((store_special, store_bits)) if source.random() < 0.15 else source.choice(kinds))(build, 2)
    without = random_omissions(Random(f"omissions {seed}"))
    return Program(build.parameters, build.blocks[0], build.grid, random_hints(build), build.sums, without)


def random_hints(build: Builder) -> dict[str, bool | int]:
    """Random options of the lowering."""
    hints: dict[str, bool | int] = {}
    for name in ("roles", "pipeline", "tma"):
        if build.source.random() < 0.2:
            hints[name] = False
    if build.source.random() < 0.1:
        hints["warps"] = build.source.choice((4, 8))
    return hints


def _element(build: Builder) -> str:
    return build.source.choices(STORED, WEIGHTS)[0]


def _shape(build: Builder) -> Shape:
    rank = build.source.choice((1, 1, 2, 2, 2, 3))
    while True:
        shape = tuple(build.source.choice((1, 2, 4, 8, 16, 32, 32, 64, 64, 128)) for _ in range(rank))
        if int(np.prod(shape)) <= 4096:
            return shape


def _store_value(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    element, shape = _element(build), _shape(build)
    shape = shape if is_possible(element, shape) else (2,)
    store(build, build.random_value(element, shape, build.source.choice((2, 3, 4))), slot, slots)


def _statement(build: Builder, depth: int, slot: Value | None, slots: int) -> None:
    if depth > 0 and build.source.random() < 0.4:
        build.source.choice((_for, _if, _loop))(build, depth - 1, slot, slots)
    elif build.source.random() < 0.08:
        store_special(build, depth, slot, slots)
    else:
        _store_value(build, depth, slot, slots)


class Inside:
    """A context in which steps are added to a new block, with a new scope; the block of a `for` has a counter."""

    def __init__(
        self, build: Builder, end: str, values: list[Value] = [], counter: Counter | None = None  # noqa: B006
    ) -> None:
        self._build, self.block, self._values = build, Block(end=end), values
        self._counters = [] if counter is None else [counter]

    def __enter__(self) -> Block:
        self._build.blocks.append(self.block)
        self._build.scopes.append(list(self._values))
        self._build.counters += self._counters
        return self.block

    def __exit__(self, *_: object) -> None:
        self._build.blocks.pop()
        self._build.scopes.pop()
        del self._build.counters[len(self._build.counters) - len(self._counters) :]


def _carried(build: Builder) -> list[Value]:
    """Initial values of a loop: integers of any size, and floats."""
    values = []
    for _ in range(build.source.choice((0, 1, 1, 2))):
        element = build.source.choice(("i8", "i16", "i32", "i64", "i1", "f16", "f32", "bf16", *NARROW))
        shape = build.source.choice(((), _shape(build)))
        values.append(build.random_value(element, shape if is_possible(element, shape) else (4,), 1))
    return values


def new_values(build: Builder, values: list[Value]) -> list[Value]:
    """New values of the same types, without bounds."""
    return [build.value(value.element, value.shape) for value in values]


def slots_in_loop(build: Builder, counter: Value, slot: Value | None, slots: int) -> tuple[Value, int]:
    """The slot of the stores of an iteration, and the number of slots."""
    if slot is None:
        return counter, MAXIMUM_ITERATIONS
    factor = build.constant("i32", MAXIMUM_ITERATIONS)
    return build.binary(
        "addi", build.binary("muli", slot, factor, np.multiply), counter, np.add
    ), slots * MAXIMUM_ITERATIONS


def _for(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    source = build.source
    element, iterations = source.choice(INTEGERS), source.randrange(MAXIMUM_ITERATIONS + 1)
    is_unsigned = source.random() < 0.4
    bounds = loop_bounds(build, element, is_unsigned, iterations)
    lower, upper, step = (scalar_of(build, element, number) for number in bounds)
    initial = [build.constant("i32", 0), *_carried(build)]
    counter = build.value(element, ())
    inner = new_values(build, initial)
    with Inside(build, "continue", [counter, *inner], Counter.of(counter, range(*bounds))) as block:
        inner_slot, inner_slots = slots_in_loop(build, inner[0], slot, slots)
        for _ in range(source.choice((0, 1, 1, 2))):
            _statement(build, depth, inner_slot, inner_slots)
        block.operands = [incremented(build, inner[0]), *(build.random_value(v.element, v.shape, 2) for v in inner[1:])]
    results = new_values(build, initial)
    add_for(build, block, is_unsigned, (lower, upper, step), counter, initial, inner, results)
    for value in results[1:]:
        if source.random() < 0.7:
            store(build, value, slot, slots)


def incremented(build: Builder, value: Value) -> Value:
    return build.binary("addi", value, build.constant("i32", 1), np.add)


def loop_bounds(build: Builder, element: str, is_unsigned: bool, iterations: int) -> tuple[int, int, int]:
    """Lower bound, upper bound and step of a loop with `iterations` iterations, whose counter does not overflow."""
    bits = ELEMENTS[element].bits
    minimum, maximum = (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    source = build.source
    step = source.choice((1, 1, 1, 2, 3, 7))
    if iterations == 0:
        lower = source.choice((minimum, 0, maximum, maximum - 1, 3))
        return lower, source.choice((minimum, lower, max(minimum, lower - 3))), step
    span = (iterations - 1) * step
    # The last value is lower + span; one more step must not overflow.
    starts = [0, 1, 5, minimum, maximum - span - step, maximum - span - step - 1]
    middle = 2 ** (bits - 1)
    starts += [middle - 1, middle - 2, middle] if is_unsigned else [-1, -step, minimum + 1]
    lower = source.choice([start for start in starts if minimum <= start <= maximum - span - step])
    return lower, min(maximum, lower + span + source.randrange(1, step + 1)), step


def scalar_of(build: Builder, element: str, number: int) -> Value:
    """A number as a constant, an argument, or a load."""
    signed = wrapped(number, ELEMENTS[element].bits)
    kind = build.source.randrange(4)
    if kind == 0:
        array = np.full((1,), signed, ELEMENTS[element].dtype)
        base = build.parameter(tile_type(f"ptr<{element}>"), array)
        result, token = build.value(element, ()), build.name()
        pointer = tile_type(f"ptr<{element}>")
        text = f"{result.name}, {token} = load_ptr_tko weak {base} : {pointer} -> {result.type}, token"
        build.add(Step(text, lambda env: env.__setitem__(result, env.memory[base][0].reshape(())), [result]))
        return result
    if kind == 1:
        return build.argument(element, signed)
    return build.constant(element, signed)


def _assignments(inner: list[Value], outer: list[Value]) -> str:
    return ", ".join(f"{one.name} = {other.name}" for one, other in zip(inner, outer, strict=True))


def types_of(values: list[Value]) -> str:
    return ", ".join(value.type for value in values)


def result_names(build: Builder, results: list[Value]) -> str:
    """The left side of an operation; several results share one name in the text."""
    return ", ".join(value.name for value in results)


def add_for(
    build: Builder,
    block: Block,
    is_unsigned: bool,
    bounds: tuple[Value, Value, Value],
    counter: Value,
    initial: list[Value],
    inner: list[Value],
    results: list[Value],
) -> None:
    lower, upper, step = bounds
    head = f"{result_names(build, results)} = for {'unsigned ' if is_unsigned else ''}{counter.name} in "
    head += f"({lower.name} to {upper.name}, step {step.name}) : {counter.type} "
    head += f"iter_values({_assignments(inner, initial)}) -> ({types_of(results)})"
    dtype = ELEMENTS[counter.element].dtype

    def run(environment: Environment) -> None:
        wrapped = 2 ** (8 * dtype.itemsize)
        first, last, by = (int(environment[bound]) for bound in bounds)
        if is_unsigned:
            first, last, by = first % wrapped, last % wrapped, by % wrapped
        carried = [environment[value] for value in initial]
        for number in range(first, last, by):
            bits = np.array(number % wrapped, object).astype(f"u{dtype.itemsize}")
            environment[counter] = bits.view(dtype)
            for value, array in zip(inner, carried, strict=True):
                environment[value] = array
            try:
                carried = block.run(environment)
            except EarlyExit as early:
                if early.kind == "return":
                    raise
                carried = early.arrays
        for value, array in zip(results, carried, strict=True):
            environment[value] = array

    build.add(Region(head, [block], run, results, [*bounds, *initial], True))


def _condition(build: Builder) -> Value:
    if build.counters and build.source.random() < 0.5:
        return counter_condition(build)
    return build.random_value("i1", (), 2)


def _if(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    condition = _condition(build)
    results = new_values(build, _carried(build))
    blocks = []
    for _ in range(2):
        with Inside(build, "yield") as block:
            for _ in range(build.source.choice((0, 1))):
                _statement(build, depth - 1, slot, slots)
            block.operands = [build.random_value(value.element, value.shape, 2) for value in results]
        blocks.append(block)
    left = f"{result_names(build, results)} = " if results else ""
    right = f" -> ({types_of(results)})" if results else ""

    def run(environment: Environment) -> None:
        arrays = blocks[0 if environment[condition] else 1].run(environment)
        for value, array in zip(results, arrays, strict=True):
            environment[value] = array

    build.add(Region(f"{left}if {condition.name}{right}", blocks, run, results, [condition], True, "else"))
    for value in results:
        store(build, value, slot, slots)


def _loop(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    """A loop that breaks after a number of iterations or on a condition, and sometimes continues early."""
    source = build.source
    initial = [build.constant("i32", 0), *_carried(build)]
    inner, results = new_values(build, initial), new_values(build, initial)
    maximum = scalar_of(build, "i32", source.randrange(MAXIMUM_ITERATIONS))
    with Inside(build, "continue", inner) as block:
        _add_exit(build, "break", limit_reached(build, inner[0], maximum), inner)
        inner_slot, inner_slots = slots_in_loop(build, inner[0], slot, slots)
        if source.random() < 0.5:
            _store_value(build, depth, inner_slot, inner_slots)
        after = incremented(build, inner[0])
        if source.random() < 0.4:
            _add_exit(build, "continue", _condition(build), inner, after)
        if source.random() < 0.4:
            _add_exit(build, "break", _condition(build), inner, after)
        if source.random() < 0.4:
            _statement(build, depth - 1, inner_slot, inner_slots)
        block.operands = [after, *(build.random_value(value.element, value.shape, 2) for value in inner[1:])]

    add_loop(build, block, initial, inner, results)
    for value in results[1:]:
        store(build, value, slot, slots)


def add_loop(build: Builder, block: Block, initial: list[Value], inner: list[Value], results: list[Value]) -> None:
    def run(environment: Environment) -> None:
        carried = [environment[value] for value in initial]
        while True:
            for value, array in zip(inner, carried, strict=True):
                environment[value] = array
            try:
                carried = block.run(environment)
            except EarlyExit as early:
                if early.kind == "return":
                    raise
                carried = early.arrays
                if early.kind == "break":
                    break
        for value, array in zip(results, carried, strict=True):
            environment[value] = array

    head = f"{result_names(build, results)} = loop iter_values({_assignments(inner, initial)})"
    head += f" : {types_of(inner)} -> {types_of(results)}"
    build.add(Region(head, [block], run, results, initial, True))


def limit_reached(build: Builder, counter: Value, maximum: Value) -> Value:
    result = build.value("i1", ())
    text = "cmpi greater_than_or_equal {0}, {1}, signed : tile<i32> -> tile<i1>"
    return build.compute(text, result, [counter, maximum], np.greater_equal)


def _add_exit(build: Builder, kind: str, condition: Value, inner: list[Value], after: Value | None = None) -> None:
    """An if with a break or continue, whose operands have the types of the carried values."""
    with Inside(build, kind) as block:
        block.leaves = True
        first = inner[0] if after is None else after
        block.operands = [first, *(build.random_value(value.element, value.shape, 1) for value in inner[1:])]

    def run(environment: Environment) -> None:
        if environment[condition]:
            block.run(environment)

    build.add(Region(f"if {condition.name}", [block], run, (), [condition], True))


def _sizes(build: Builder) -> tuple[int, int, int]:
    source = build.source
    if source.random() < 0.5:
        return source.choice((64, 128)), source.choice((16, 32, 64)), source.choice((16, 32, 64))
    return tuple(source.choice((1, 4, 8, 16, 32)) for _ in range(3))  # type: ignore[return-value]


def _operand(build: Builder, element: str, shape: Shape, bound: int) -> Value:
    """An operand of a multiply: a load, a transposed load, or a computed value."""
    kind = build.source.randrange(5)
    if kind < 2:
        return build._leaf(element, shape, bound)
    if kind == 2:
        return build.permute(build._leaf(element, shape[::-1], bound), [1, 0])
    if element == "tf32" and kind == 3:
        value = build.random_value("f32", shape, 1, bound)
        result = build.value("tf32", shape, value.bound)
        return build.compute(f"ftof {{0}} : {value.type} -> {result.type}", result, [value], lambda array: array)
    return build.random_value(element, shape, 2, bound)


def _multiply(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    """A multiply whose result may be an operand of the next multiply."""
    kind = build.source.choice(MULTIPLIES)
    rows, columns, inner = _sizes(build)
    left, right = _operand(build, kind[0], (rows, inner), kind[2]), _operand(build, kind[0], (inner, columns), kind[2])
    start = build.random_value(kind[1], (rows, columns), 1, kind[2])
    total = inner * kind[2] * kind[2] + kind[2]
    result = multiplied(build, kind, left, right, start, total)
    for _ in range(build.source.choice((0, 0, 1, 2))):
        result = multiplied(build, kind, left, right, result, min(2 * total, ELEMENTS[kind[1]].exact))
        total *= 2
    store(build, _finished(build, result), slot, slots)


def _finished(build: Builder, result: Value) -> Value:
    """The result, or a value computed from it."""
    if build.source.random() < 0.5:
        return result
    if build.source.random() < 0.5:
        return build.permute(result, [1, 0])
    other = build.random_value(result.element, result.shape, 1)
    return build.binary("addf" if ELEMENTS[result.element].is_float else "addi", result, other, np.add)


def _multiply_in_loop(build: Builder, depth: int, slot: Value | None = None, slots: int = 1) -> None:
    """Multiplies that accumulate in a loop over K, or with other operands."""
    source = build.source
    kind = source.choice(MULTIPLIES)
    rows, columns, inner_extent = _sizes(build)
    element = source.choice(INTEGERS)
    is_unsigned, iterations = source.random() < 0.3, source.randrange(MAXIMUM_ITERATIONS + 1)
    numbers = loop_bounds(build, element, is_unsigned, iterations)
    is_counted = source.random() < 0.5
    if is_counted:
        # Addresses depend on the counter alone.
        element, numbers = "i32", (0, iterations, 1)
    scalar = build.constant if is_counted and source.random() < 0.6 else partial(scalar_of, build)
    bounds = tuple(scalar(element, number) for number in numbers)
    initial = [build.constant("i32", 0), build.random_value(kind[1], (rows, columns), 1, kind[2])]
    counter, inner = build.value(element, ()), new_values(build, initial)
    total = MAXIMUM_ITERATIONS * inner_extent * kind[2] * kind[2] + kind[2]
    with Inside(build, "continue", [counter, *inner], Counter.of(counter, range(*numbers))) as block:
        number = counter if is_counted else inner[0]
        left = _along_k(build, kind[0], (rows, inner_extent), kind[2], number, 1)
        right = _along_k(build, kind[0], (inner_extent, columns), kind[2], number, 0)
        result = multiplied(build, kind, left, right, inner[1], total)
        if source.random() < 0.2:
            inner_slot, inner_slots = slots_in_loop(build, inner[0], slot, slots)
            _store_value(build, 0, inner_slot, inner_slots)
        block.operands = [incremented(build, inner[0]), result]
    ends = [build.value("i32", ()), build.value(kind[1], (rows, columns), total)]
    add_for(build, block, is_unsigned, bounds, counter, initial, inner, ends)  # type: ignore[arg-type]
    store(build, _finished(build, ends[1]), slot, slots)


def _along_k(build: Builder, element: str, shape: Shape, bound: int, counter: Value, axis: int) -> Value:
    """An operand in a loop over K: usually a load of the tile of the iteration, like in a matrix multiply.

    Both indices of a tile on the diagonal are the counter. The last tile may be partly outside, and is converted if
    threads load it in another type.
    """
    source = build.source
    if source.random() < 0.3:
        return _operand(build, element, shape, bound)
    is_diagonal = shape[0] == shape[1] and source.random() < 0.4
    counted = (True, True) if is_diagonal else tuple(dim == axis for dim in range(2))
    tiles = [MAXIMUM_ITERATIONS if is_counted else 1 for is_counted in counted]
    extents = [extent * count for extent, count in zip(shape, tiles, strict=True)]
    if source.random() < 0.6:
        dim = source.choice([*range(2), *[dim for dim in range(2) if counted[dim]] * 2])
        extents[dim] -= source.randrange(shape[dim])
    is_converted = ELEMENTS[element].is_float and ELEMENTS[element].bits < 32 and source.random() < 0.3
    stored = "f32" if is_converted else element
    columns = source.random() < 0.4
    strides = (1, extents[0]) if columns else (extents[1], 1)
    array = random_array(build, stored, (extents[0] * extents[1],), bound)
    base = build.parameter(tile_type(f"ptr<{stored}>"), array)
    view = make_view(build, base, stored, shape, tuple(extents), strides, (0, 1), shape, "zero")
    zero = build.constant("i32", 0)
    index = [counter if is_counted else zero for is_counted in counted]
    result, token = build.value(stored, shape, bound), build.name()
    text = f"{result.name}, {token} = load_view_tko weak {view.name}[{index[0].name}, {index[1].name}] : "
    text += f"{view.type}, tile<i32> -> {result.type}, token"

    def run(environment: Environment) -> None:
        array = environment.memory[base]
        tensor = array.reshape(extents[::-1]).T if columns else array.reshape(extents)
        tile = np.zeros(shape, tensor.dtype)
        starts = [int(environment[one]) * extent for one, extent in zip(index, shape, strict=True)]
        part = tensor[starts[0] : starts[0] + shape[0], starts[1] : starts[1] + shape[1]]
        tile[: part.shape[0], : part.shape[1]] = part
        environment[result] = tile

    build.add(Step(text, run, [result], index))
    if not is_converted:
        return result
    operand = build.value(element, shape, bound)
    dtype = ELEMENTS[element].dtype
    text = f"ftof {{0}} : {result.type} -> {operand.type}"
    return build.compute(text, operand, [result], lambda array: array.astype(dtype))
