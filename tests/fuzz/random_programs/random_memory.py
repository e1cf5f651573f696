"""Random loads and stores: through views with static and dynamic extents, and through pointers with masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from elements import ELEMENTS, LARGEST_BOUND, NARROW
from program_text import Environment, Shape, Step, Value, tile_type
from random_narrow import constant_of_code, is_stored_in_pairs, storable, store_pairs

if TYPE_CHECKING:
    from random_values import Builder

PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}
# The initial value of outputs, so that unwritten elements are detected.
SENTINEL = 5


def random_array(build: Builder, element: str, shape: Shape, bound: int | None) -> np.ndarray:
    """Integers of all sizes; floats that are small integers, without a bound also fractions."""
    kind = ELEMENTS[element]
    if element == "i1":
        return build.arrays.integers(0, 2, shape).astype(np.bool_)
    if element in NARROW:
        return build.arrays.integers(0, 256, shape).astype(np.uint8).view(kind.dtype)
    if not kind.is_float:
        raw = build.arrays.integers(-(2**63), 2**63 - 1, shape, dtype=np.int64).astype(kind.dtype)
        small = build.arrays.integers(-9, 100, shape).astype(kind.dtype)
        return np.where(build.arrays.integers(0, 2, shape) == 0, raw, small)
    if bound is None and element not in ("tf32", "f8E4M3FN", "f8E5M2"):
        return (build.arrays.standard_normal(shape) * 3).astype(kind.dtype)
    maximum = min(bound if bound is not None else LARGEST_BOUND, LARGEST_BOUND)
    return build.arrays.integers(-maximum, maximum + 1, shape).astype(np.float32).astype(kind.dtype)


def float_bound(element: str, bound: int | None) -> int | None:
    """The bound of the elements of `random_array`."""
    if bound is None and element not in ("tf32", "f8E4M3FN", "f8E5M2"):
        return None
    return min(bound if bound is not None else LARGEST_BOUND, LARGEST_BOUND)


@dataclass
class View:
    """A tile view; dimension i of the tile is dimension order[i] of the tensor, with a step of steps[i]."""

    name: str
    type: str
    tile: Shape
    steps: Shape
    order: tuple[int, ...]
    extents: Shape
    operands: Sequence[Value]

    def counts(self) -> list[int]:
        return [-(-self.extents[dim] // step) for dim, step in zip(self.order, self.steps, strict=True)]


def make_view(
    build: Builder, base: str, element: str, tile: Shape, extents: Shape, strides: Shape, order: Sequence[int],
    steps: Shape, padding: str = "", sparse: int | None = None,
) -> View:  # fmt: skip
    """Adds a view with random dynamic extents and strides, with and without assumptions."""
    source = build.source
    pointer = base
    if source.random() < 0.7:
        pointer = build.name()
        kind = tile_type(f"ptr<{element}>")
        build.add(_line(f"{pointer} = assume div_by<{source.choice((16, 128))}>, {base} : {kind}"))
    width = source.choice(("i32", "i64"))
    dynamic = source.random() < 0.5
    operands: list[list[str]] = [[], []]
    types: list[list[str]] = [[], []]
    for number, values in enumerate((extents, strides)):
        for value in values:
            innermost = number == 1 and value == 1
            if dynamic and not innermost and source.random() < 0.7:
                operands[number].append(_dynamic(build, width, value, number == 1))
                types[number].append("?")
            else:
                operands[number].append(str(value))
                types[number].append(str(value))
    has_dynamic = "?" in types[0] + types[1]
    sizes = "".join(f"{extent}x" for extent in types[0])
    tensor = f"tensor_view<{sizes}{element}, strides=[{','.join(types[1])}]>"
    name, view = build.name(), build.name()
    lists = f"shape = [{', '.join(operands[0])}], strides = [{', '.join(operands[1])}]"
    build.add(
        _line(f"{name} = make_tensor_view {pointer}, {lists} :{f' tile<{width}> ->' if has_dynamic else ''} {tensor}")
    )
    fields = [f"tile=({'x'.join(map(str, tile))})"]
    kind = "partition_view" if steps == tile and source.random() < 0.9 else "strided_view"
    if sparse is not None:
        kind = "gather_scatter_view"
    if kind == "strided_view":
        fields.append(f"traversal_strides=[{','.join(map(str, steps))}]")
    fields += [f"padding_value = {padding}"] * bool(padding)
    fields.append(tensor)
    if tuple(order) != tuple(range(len(order))):
        fields.append(f"dim_map=[{', '.join(map(str, order))}]")
    if sparse is not None:
        fields.append(f"sparse_dim={sparse}")
    type = f"{kind}<{', '.join(fields)}>"
    build.add(_line(f"{view} = make_{kind} {name} : {type}"))
    return View(view, type, tile, steps, tuple(order), extents, [])


def _line(text: str) -> Step:
    """A line without a tile result; it is not moved or removed."""
    return Step(text, lambda _environment: None, effect=True)


def _dynamic(build: Builder, width: str, value: int, assumed: bool) -> str:
    name = build.parameter(tile_type(width), value)
    largest = value & -value
    if assumed and largest > 1 and build.source.random() < 0.7:
        with_assumption = build.name()
        build.add(_line(f"{with_assumption} = assume div_by<{largest}>, {name} : {tile_type(width)}"))
        return with_assumption
    return name


def loaded(build: Builder, element: str, shape: Shape, bound: int | None) -> Value:
    """A tile loaded from an array through a view; it may be partly outside, with padded rows or column-major."""
    source = build.source
    rank = len(shape)
    order = list(range(rank))
    if rank > 1 and source.random() < 0.2:
        source.shuffle(order)
    steps = shape
    if source.random() < 0.15:
        steps = tuple(max(1, extent * source.choice((1, 2, 4)) // 2) for extent in shape)
    counts = [source.choice((1, 1, 2)) for _ in shape]
    extents = [0] * rank
    ragged = source.random() < 0.35
    for axis, dim in enumerate(order):
        extents[dim] = (counts[axis] - 1) * steps[axis] + shape[axis]
        if ragged and source.random() < 0.5:
            extents[dim] = max(1, extents[dim] - source.randrange(shape[axis]))
    layout = list(range(rank))
    if rank > 1 and source.random() < 0.3:
        source.shuffle(layout)
    array, strides = strided_array(build, element, tuple(extents), layout, bound)
    base = build.parameter(tile_type(f"ptr<{element}>"), array)
    padding, fill = random_padding(build, element, bound)
    view = make_view(build, base, element, shape, tuple(extents), strides, order, steps, padding)
    index = _index(build, view)
    unknown = bound is None and padding != "zero"
    result = build.value(element, shape, None if unknown else float_bound(element, bound))
    token = build.name()
    names = ", ".join(value.name for value in index)
    at = "i32" if not index else index[0].element
    text = f"{result.name}, {token} = load_view_tko weak {view.name}[{names}] : "
    text += f"{view.type}, tile<{at}> -> {result.type}, token"

    def run(environment: Environment) -> None:
        offsets = np.zeros(tuple(extents), np.int64)
        for stride, positions in zip(strides, np.indices(tuple(extents)), strict=True):
            offsets += stride * positions
        tensor = environment.memory[base][offsets]
        environment[result] = _tile(tensor, view, [int(environment[i]) for i in index], fill)

    build.add(Step(text, run, [result], index))
    return result


def strided_array(
    build: Builder, element: str, extents: Shape, layout: Sequence[int], bound: int | None
) -> tuple[np.ndarray, Shape]:
    """A flat array that contains a tensor, and its strides; dimension layout[-1] is contiguous, rows may have a gap."""
    gap = build.source.choice((0, 0, 0, 8, 1))
    strides, stride = [0] * len(extents), 1
    for number, dim in enumerate(reversed(layout)):
        strides[dim] = stride
        stride *= extents[dim]
        if number == 0:
            stride = -(-stride // 16) * 16 if build.source.random() < 0.5 else stride
            stride += gap
    return random_array(build, element, (stride,), bound), tuple(strides)


def random_padding(build: Builder, element: str, bound: int | None) -> tuple[str, float]:
    """A padding; elements outside of a view without a padding would be undefined. Zero has no bits set."""
    if element in NARROW:
        return "zero", np.zeros((), np.uint8).view(ELEMENTS[element].dtype)
    if not ELEMENTS[element].is_float or bound is not None or element in ("f8E4M3FN", "f8E5M2", "tf32"):
        return "zero", 0
    return build.source.choice(list(PADDINGS.items()))


def _index(build: Builder, view: View) -> list[Value]:
    """Indices of a tile in the index space of the view."""
    element = build.source.choice(("i32", "i32", "i64"))
    indices = []
    for count in view.counts():
        if count in (1, 2, 4) and count > 1 and build.source.random() < 0.5:
            indices.append(build.masked(build.random_value(element, (), 1), count - 1))
        else:
            indices.append(build.constant(element, build.source.randrange(count)))
    return indices


def _tile(tensor: np.ndarray, view: View, index: Sequence[int], fill: float) -> np.ndarray:
    transposed = np.transpose(tensor, view.order)
    result = np.full(view.tile, fill, tensor.dtype)
    starts = [number * step for number, step in zip(index, view.steps, strict=True)]
    part = transposed[tuple(slice(s, s + e) for s, e in zip(starts, view.tile, strict=True))]
    result[tuple(slice(0, extent) for extent in part.shape)] = part
    return result


def gathered(build: Builder, element: str, shape: Shape, bound: int | None) -> Value:
    """Elements of an array at computed offsets, some of them masked."""
    count = build.source.choice((1, 16, 64))
    array = random_array(build, element, (count,), bound)
    base = build.parameter(tile_type(f"ptr<{element}>"), array)
    offset = build.source.choice(("i32", "i64"))
    at = build.masked(build.random_value(offset, shape, 1), count - 1)
    pointers = pointer_tile(build, base, element, at)
    result, token = build.value(element, shape, float_bound(element, bound)), build.name()
    pointer_type = tile_type(f"ptr<{element}>", shape)
    if build.source.random() < 0.4:
        text = f"{result.name}, {token} = load_ptr_tko weak {pointers} : {pointer_type} -> {result.type}, token"
        build.add(Step(text, lambda env: env.__setitem__(result, env.memory[base][env[at]]), [result], [at]))
        return result
    mask = build.random_value("i1", shape, 1)
    fill = _filled(build, element, shape)
    text = f"{result.name}, {token} = load_ptr_tko weak {pointers}, {mask.name}, {fill.name} : "
    text += f"{pointer_type}, {mask.type}, {fill.type} -> {result.type}, token"

    def run(environment: Environment) -> None:
        environment[result] = np.where(environment[mask], environment.memory[base][environment[at]], environment[fill])

    build.add(Step(text, run, [result], [at, mask, fill]))
    return result


def _filled(build: Builder, element: str, shape: Shape) -> Value:
    """The padding of masked elements."""
    if element in NARROW:
        return constant_of_code(build, element, 3, shape)
    number = False if element == "i1" else 1.0 if ELEMENTS[element].is_float else -1
    return build.constant(element, number, shape)


def pointer_tile(build: Builder, base: str, element: str, at: Value) -> str:
    """The name of a tile of pointers to base[at]."""
    kind, shape = f"ptr<{element}>", at.shape
    name, ones = base, (1,) * len(shape)
    if shape:
        name = build.name()
        build.add(_line(f"{name} = reshape {base} : {tile_type(kind)} -> {tile_type(kind, ones)}"))
        if shape != ones:
            broadcast_name = build.name()
            build.add(
                _line(f"{broadcast_name} = broadcast {name} : {tile_type(kind, ones)} -> {tile_type(kind, shape)}")
            )
            name = broadcast_name
    result = build.name()
    type = tile_type(kind, shape)
    build.add(
        Step(f"{result} = offset {name}, {at.name} : {type}, {at.type} -> {type}", lambda _e: None, (), [at], True)
    )
    return result


def store(build: Builder, value: Value, slot: Value | None = None, slots: int = 1) -> None:
    """Stores a value to a new array, at the number of the block, and in loops at `slot` of `slots`."""
    if is_stored_in_pairs(build, value):
        store_pairs(build, value, _output_index(build, slot, slots), build.grid * slots)
        return
    value = storable(build, value)
    if not value.shape or build.source.random() < 0.3:
        _store_by_pointer(build, value, slot, slots)
    else:
        _store_by_view(build, value, slot, slots)


def _output_index(build: Builder, slot: Value | None, slots: int) -> Value:
    """The part of an output that a block writes."""
    block = build.block_number()
    if slot is None:
        return block
    factor = build.constant("i32", slots)
    return build.binary("addi", build.binary("muli", block, factor, np.multiply), slot, np.add)


def _store_by_view(build: Builder, value: Value, slot: Value | None, slots: int) -> None:
    output_index = _output_index(build, slot, slots)
    shape, element = value.shape, value.element
    extents = (build.grid * slots * shape[0], *shape[1:])
    ragged = build.source.random() < 0.3
    if ragged:
        extents = (extents[0], *(max(1, e - build.source.randrange(e)) for e in extents[1:]))
    strides = tuple(prod(extents[dim + 1 :]) for dim in range(len(extents)))
    array = np.full(extents, SENTINEL, np.float32).astype(ELEMENTS[element].dtype)
    base = build.parameter(tile_type(f"ptr<{element}>"), array, output=True)
    view = make_view(build, base, element, shape, extents, strides, range(len(shape)), shape)
    index = [output_index, *(build.constant("i32", 0) for _ in shape[1:])]
    token = build.name()
    names = ", ".join(each.name for each in index)
    text = f"{token} = store_view_tko weak {value.name}, {view.name}[{names}] : "
    text += f"{value.type}, {view.type}, tile<i32> -> token"

    def run(environment: Environment) -> None:
        start = int(environment[output_index]) * shape[0]
        part = environment[value][tuple(slice(0, extent) for extent in (shape[0], *extents[1:]))]
        environment.memory[base][start : start + shape[0]] = part

    build.add(Step(text, run, (), [value, *index], True))


def _store_by_pointer(build: Builder, value: Value, slot: Value | None, slots: int) -> None:
    output_index = _output_index(build, slot, slots)
    count, element = prod(value.shape), value.element
    array = np.full((build.grid * slots * count,), SENTINEL, np.float32).astype(ELEMENTS[element].dtype)
    base = build.parameter(tile_type(f"ptr<{element}>"), array, output=True)
    size = build.constant("i32", count)
    at = build.binary("muli", output_index, size, np.multiply)
    if value.shape:
        ramp = build.value("i32", (count,))
        numbers = np.arange(count, dtype=np.int32)
        build.compute(f"iota : {ramp.type}", ramp, [], lambda: numbers)
        ramp = build.reshape(ramp, value.shape)
        at = build.binary("addi", build.splat_of(at, value.shape), ramp, np.add)
    pointers = pointer_tile(build, base, element, at)
    token = build.name()
    pointer_type = tile_type(f"ptr<{element}>", value.shape)
    if build.source.random() < 0.5:
        text = f"{token} = store_ptr_tko weak {pointers}, {value.name} : {pointer_type}, {value.type} -> token"

        def run(environment: Environment) -> None:
            environment.memory[base][environment[at]] = environment[value]

        build.add(Step(text, run, (), [value, at], True))
        return
    mask = build.random_value("i1", value.shape, 1)
    text = f"{token} = store_ptr_tko weak {pointers}, {value.name}, {mask.name} : "
    text += f"{pointer_type}, {value.type}, {mask.type} -> token"

    def run_masked(environment: Environment) -> None:
        selected = environment[mask]
        environment.memory[base][environment[at][selected]] = environment[value][selected]

    build.add(Step(text, run_masked, (), [value, at, mask], True))
