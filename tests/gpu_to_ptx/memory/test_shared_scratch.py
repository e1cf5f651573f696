"""Accesses to shared scratch are aligned and read what was written, for all element types and random layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from reductions import reduction_text, segments, yields
from simulated import elementwise, kernel, load_tile, run, store_tile, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, unflatten

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "f16": np.float16,
    "i32": np.int32,
    "f32": np.float32,
    "i64": np.int64,
    "f64": np.float64,
}
SHAPES = [(1, 8), (2, 64), (16, 16), (8, 256), (64, 1)]
SEEDS = range(2)


def random_layout(random: np.random.Generator, shape: tuple[int, ...]) -> LinearLayout:
    """A random permutation of the index bits, some of them replicated, over registers, lanes and four warps."""
    bits = int(np.prod(shape)).bit_length() - 1
    columns = [1 << int(bit) for bit in random.permutation(bits)]
    columns += [0] * max(0, 8 - bits)
    if bits > 2:
        columns[0] ^= columns[1]
    registers = len(columns) - 7
    order = [unflatten(columns[i], shape) for i in random.permutation(len(columns))]
    return LinearLayout(tuple(order[:registers]), tuple(order[registers : registers + 5]), tuple(order[-2:]), shape)


def numbers(random: np.random.Generator, element: str, shape: tuple[int, ...]) -> np.ndarray:
    return random.integers(0, 2 if element == "i1" else 100, shape).astype(DTYPES[element])


# After an i8 or i1 operand the next one starts at an unaligned address unless it is padded.
TUPLES = [("i8", "i32"), ("i1", "f64"), ("i8", "f16"), ("f16", "i8", "i64"), ("i1", "i8", "i16", "f32"), ("f64", "i8")]


def largest_of_each(elements: tuple[str, ...]) -> str:
    lines = []
    for i, element in enumerate(elements):
        name = "arith.ori" if element == "i1" else "arith.maximumf" if element[0] == "f" else "arith.maxsi"
        lines.append(f"%s{i} = {name} %e{i}, %acc{i} : {element}")
    return "\n".join([*lines, yields(", ".join(f"%s{i}" for i in range(len(elements))), list(elements))])


def run_maximum(
    name: str, elements: tuple[str, ...], layout: LinearLayout, dimension: int, random
) -> tuple[list, list]:
    """Inputs and results of a reduction or scan that computes the maximum of each operand along a dimension."""
    result = layout.drop(dimension) if name == "reduce" else layout
    count = len(elements)
    types, result_types = ([tile(element, one) for element in elements] for one in (layout, result))
    operands = ", ".join(f"%x{i}" for i in range(count))
    attributes = ", reverse = false" if name == "scan" else ""
    text = kernel(
        ", ".join([f"%a{i}: i64" for i in range(count)] + [f"%o{i}: i64" for i in range(count)]),
        "\n".join(
            [
                *(load_tile(f"%x{i}", types[i], f"%a{i}", layout.shape) for i in range(count)),
                reduction_text(
                    name,
                    f"%y:{count}",
                    operands,
                    types,
                    result_types,
                    list(elements),
                    largest_of_each(elements),
                    dimension,
                    attributes,
                ),
                *(store_tile(f"%y#{i}", result_types[i], f"%o{i}", result.shape) for i in range(count)),
            ]
        ),
    )
    inputs = [numbers(random, element, layout.shape) for element in elements]
    outputs = [np.zeros(result.shape, DTYPES[element]) for element in elements]
    run(text, [*inputs, *outputs])
    return inputs, outputs


@pytest.mark.parametrize("elements", TUPLES, ids="-".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_reductions_of_several_operands(elements, seed):
    random = np.random.default_rng(seed)
    for shape, dimension in itertools.product(SHAPES, (0, 1)):
        inputs, outputs = run_maximum("reduce", elements, random_layout(random, shape), dimension, random)
        assert all(np.array_equal(x.max(axis=dimension), y) for x, y in zip(inputs, outputs, strict=True))


@pytest.mark.parametrize("elements", TUPLES, ids="-".join)
def test_scans_of_several_operands(elements):
    random = np.random.default_rng(5)
    for shape, dimension in itertools.product(SHAPES, (0, 1)):
        inputs, outputs = run_maximum("scan", elements, random_layout(random, shape), dimension, random)
        exact = [np.maximum.accumulate(x, axis=dimension) for x in inputs]
        assert all(np.array_equal(x, y) for x, y in zip(exact, outputs, strict=True))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_layout_conversions(element, seed):
    random = np.random.default_rng(seed)
    for shape in SHAPES:
        source, target = random_layout(random, shape), random_layout(random, shape)
        body = f'%y = "tile_gpu.convert_layout"(%x0) : ({tile(element, source)}) -> {tile(element, target)}'
        x, y = numbers(random, element, shape), np.zeros(shape, DTYPES[element])
        run(elementwise(body, [(element, source)], (element, target)), [x, y])
        assert np.array_equal(x, y)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("dimension", [0, 1])
def test_cat(element, dimension):
    random = np.random.default_rng(6)
    for shape in SHAPES:
        whole_shape = tuple(2 * e if d == dimension else e for d, e in enumerate(shape))
        part, whole = random_layout(random, shape), random_layout(random, whole_shape)
        own = tile(element, part)
        cat = f'%y = "tile_gpu.cat"(%x0, %x1) {{dimension = {dimension} : i32}}'
        a, b = numbers(random, element, shape), numbers(random, element, shape)
        y = np.zeros(whole_shape, DTYPES[element])
        text = elementwise(f"{cat} : ({own}, {own}) -> {tile(element, whole)}", [(element, part)] * 2, (element, whole))
        run(text, [a, b, y])
        assert np.array_equal(y, np.concatenate([a, b], dimension))


@pytest.mark.parametrize("element", DTYPES)
def test_extract_with_dynamic_indices(element):
    random = np.random.default_rng(7)
    for shape, cut in itertools.product(SHAPES, ((1, 2), (2, 1), (1, 8))):
        if any(extent % count for extent, count in zip(shape, cut, strict=True)):
            continue
        part_shape = tuple(extent // count for extent, count in zip(shape, cut, strict=True))
        whole, part = random_layout(random, shape), blocked(part_shape, 4, 1, 8)
        own = tile(element, whole), tile(element, part)
        text = kernel(
            "%a: i64, %b: i64, %i: i32, %j: i32",
            f"""{load_tile("%x", own[0], "%a", shape)}
            %y = "tile_gpu.extract"(%x, %i, %j) {{operandSegmentSizes = {segments(3)[:-1]}, 0>}}
              : ({own[0]}, i32, i32) -> {own[1]}
            {store_tile("%y", own[1], "%b", part_shape)}""",
        )
        x, y = numbers(random, element, shape), np.zeros(part_shape, DTYPES[element])
        indices = [count - 1 for count in cut]
        run(text, [x, y, *indices])
        rows, columns = (slice(i * e, (i + 1) * e) for i, e in zip(indices, part_shape, strict=True))
        assert np.array_equal(y, x[rows, columns])
