"""Operations on shapes: iota, broadcast, reshape, transpose, cat, extract, insert and splat."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from simulated import elementwise, kernel, load_tile, ptx_of, run, store_tile, tile

from tilec.errors import CompileError, UnsupportedError
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.blocks import repeated
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.lowering.layout.wgmma import wgmma_accumulator

LAYOUT = blocked((16, 32), 4, 1, 2)


def result_of(
    body: str, inputs: list[tuple[np.ndarray, LinearLayout]], layout: LinearLayout, element: str = "f32"
) -> np.ndarray:
    y = np.zeros(layout.shape, np.float32 if element == "f32" else np.int64)
    run(elementwise(body, [(element, one) for _, one in inputs], (element, layout)), [*(x for x, _ in inputs), y])
    return y


def ramp(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("size", [1, 64, 128])
def test_iota(element, size):
    layout = blocked((size,), 4, 0, 2)
    dtype = np.dtype(f"i{int(element[1:]) // 8}")
    y = np.zeros(size, dtype)
    text = f'%y = "tile_gpu.iota"() : () -> {tile(element, layout)}'
    run(elementwise(text, [], (element, layout)), [y])
    assert np.array_equal(y, np.arange(size).astype(dtype))


def test_iota_of_a_layout_with_overlapping_bases():
    layout = parse_layout("register=(3)(64) lane=(1)(4)(8)(16)(32) warp=(0)(0) shape=128")
    y = np.zeros(128, np.int32)
    run(elementwise(f'%y = "tile_gpu.iota"() : () -> {tile("i32", layout)}', [], ("i32", layout)), [y])
    assert np.array_equal(y, np.arange(128))


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("layout", [LAYOUT, wgmma_accumulator((64, 16), 4)])
def test_broadcast(dimension, layout):
    thin = layout.project(dimension)
    body = f'%y = "tile_gpu.broadcast"(%x0) : ({tile("f32", thin)}) -> {tile("f32", layout)}'
    x = ramp(thin.shape)
    assert np.array_equal(result_of(body, [(x, thin)], layout), np.broadcast_to(x, layout.shape))


@pytest.mark.parametrize("shape", [(512,), (32, 16), (4, 4, 32), (1, 16, 32)])
def test_reshape_moves_no_data(shape):
    result = LAYOUT.reshape(shape)
    body = f'%y = "tile_gpu.reshape"(%x0) : ({tile("f32", LAYOUT)}) -> {tile("f32", result)}'
    x = ramp(LAYOUT.shape)
    assert np.array_equal(result_of(body, [(x, LAYOUT)], result), x.reshape(shape))
    text = ptx_of(elementwise(body, [("f32", LAYOUT)], ("f32", result)))
    assert "shfl" not in text and "shared" not in text


@pytest.mark.parametrize("permutation", [(0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_transpose(permutation):
    layout = blocked((4, 8, 16), 4, 2, 2)
    result = layout.transpose(permutation)
    array = ", ".join(map(str, permutation))
    body = (
        f'%y = "tile_gpu.transpose"(%x0) {{permutation = array<i32: {array}>}} '
        f": ({tile('f32', layout)}) -> {tile('f32', result)}"
    )
    x = ramp(layout.shape)
    assert np.array_equal(result_of(body, [(x, layout)], result), x.transpose(permutation))


PARTS = {
    "same_threads": parse_layout("register=(0,1)(8,0) lane=(0,2)(0,4)(0,8)(0,16)(1,0) warp=(2,0)(4,0) shape=16x32"),
    "other_threads": blocked((16, 32), 4, 0, 4),
}
WHOLES = {
    0: parse_layout("register=(0,1)(8,0)(16,0) lane=(0,2)(0,4)(0,8)(0,16)(1,0) warp=(2,0)(4,0) shape=32x32"),
    1: parse_layout("register=(0,1)(0,32)(8,0) lane=(0,2)(0,4)(0,8)(0,16)(1,0) warp=(2,0)(4,0) shape=16x64"),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dimension", WHOLES)
def test_cat(name, dimension):
    part, whole = PARTS[name], WHOLES[dimension]
    own = tile("f32", part)
    body = f'%y = "tile_gpu.cat"(%x0, %x1) {{dimension = {dimension} : i32}} : ({own}, {own}) -> {tile("f32", whole)}'
    a, b = ramp(part.shape), -ramp(part.shape)
    assert np.array_equal(result_of(body, [(a, part), (b, part)], whole), np.concatenate([a, b], dimension))
    text = ptx_of(elementwise(body, [("f32", part)] * 2, ("f32", whole)))
    assert ("bar.sync" in text) == (name == "other_threads")


def indexed(name: str, operands: str, tiles: list[str], count: int, result: str) -> str:
    """An operation on tiles with `count` indices after them."""
    segments = ", ".join(["1"] * (len(tiles) + count) + ["0"] * (32 - count))
    types = ", ".join([*tiles, *["i32"] * count])
    return f'"tile_gpu.{name}"({operands}) {{operandSegmentSizes = array<i32: {segments}>}} : ({types}) -> {result}'


def extract(operands: str, count: int, source: str, result: str) -> str:
    return indexed("extract", operands, [source], count, result)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dimension", WHOLES)
@pytest.mark.parametrize("index", [0, 1])
def test_extract_with_constant_indices(name, dimension, index):
    part, whole = PARTS[name], WHOLES[dimension]
    operands = "%x0, %index, %zero" if dimension == 0 else "%x0, %zero, %index"
    body = f"""%zero = arith.constant 0 : i32
        %index = arith.constant {index} : i32
        %y = {extract(operands, 2, tile("f32", whole), tile("f32", part))}"""
    x = ramp(whole.shape)
    assert np.array_equal(result_of(body, [(x, whole)], part), np.split(x, 2, dimension)[index])


def test_extract_permutes_registers():
    whole, part = blocked((64,), 4), parse_layout("register=(4)(1) lane=(2)(8)(16)(0)(0) warp=(0)(0) shape=32")
    index = "%i = arith.constant 1 : i32\n%y = " + extract("%x0, %i", 1, tile("f32", whole), tile("f32", part))
    x = ramp((64,))
    assert np.array_equal(result_of(index, [(x, whole)], part), x[32:])


def test_reshape_to_another_layout_is_refused():
    source, result = blocked((16, 32), 4, 1, 2), blocked((512,), 4, 0, 4)
    body = f'%y = "tile_gpu.reshape"(%x0) : ({tile("f32", source)}) -> {tile("f32", result)}'
    with pytest.raises(UnsupportedError, match="'tile_gpu.reshape': expected the result in layout"):
        ptx_of(elementwise(body, [("f32", source)], ("f32", result)))


def test_conversion_from_a_layout_that_misses_elements_is_refused():
    source = parse_layout("register=none lane=(1)(2)(4)(8)(16) warp=(0)(0) shape=64")
    body = f'%y = "tile_gpu.convert_layout"(%x0) : ({tile("f32", source)}) -> {tile("f32", blocked((64,), 4))}'
    with pytest.raises(CompileError, match="'tile_gpu.convert_layout': no conversion from"):
        ptx_of(elementwise(body, [("f32", source)], ("f32", blocked((64,), 4))))


# A grid of 2x4 parts: by registers in the same threads, through shared memory in the layout of other threads.
GRID = repeated(PARTS["same_threads"], (32, 128))


def with_indices(body: str, tiles: list[LinearLayout], result: LinearLayout, element: str = "f32") -> str:
    """A kernel of two indices, %i and %j, that loads %x0, %x1.. and stores %y."""
    names = "abcd"
    loads = [load_tile(f"%x{n}", tile(element, layout), f"%{names[n]}", layout.shape) for n, layout in enumerate(tiles)]
    arguments = ", ".join(f"%{name}: i64" for name in names[: len(tiles) + 1])
    stored = store_tile("%y", tile(element, result), f"%{names[len(tiles)]}", result.shape)
    return kernel(f"{arguments}, %i: i32, %j: i32", "\n".join([*loads, body, stored]))


@pytest.mark.parametrize("name", PARTS)
def test_extract_at_indices_known_at_run_time(name):
    part = PARTS[name]
    text = with_indices("%y = " + extract("%x0, %i, %j", 2, tile("f32", GRID), tile("f32", part)), [GRID], part)
    assert ("bar.sync" in ptx_of(text)) == (name == "other_threads")
    x = ramp(GRID.shape)
    for i, j in itertools.product(range(2), range(4)):
        y = np.zeros(part.shape, np.float32)
        run(text, [x, y, i, j])
        assert np.array_equal(y, x[16 * i : 16 * i + 16, 32 * j : 32 * j + 32])


def inserted(x: np.ndarray, part: np.ndarray, i: int, j: int) -> np.ndarray:
    found = x.copy()
    found[16 * i : 16 * i + 16, 32 * j : 32 * j + 32] = part
    return found


@pytest.mark.parametrize("name", PARTS)
def test_insert_at_indices_known_at_run_time(name):
    part = PARTS[name]
    tiles = [tile("f32", part), tile("f32", GRID)]
    text = with_indices("%y = " + indexed("insert", "%x0, %x1, %i, %j", tiles, 2, tiles[1]), [part, GRID], GRID)
    assert ("bar.sync" in ptx_of(text)) == (name == "other_threads")
    a, x = -ramp(part.shape), ramp(GRID.shape)
    for i, j in itertools.product(range(2), range(4)):
        y = np.zeros(GRID.shape, np.float32)
        run(text, [a, x, y, i, j])
        assert np.array_equal(y, inserted(x, a, i, j))


@pytest.mark.parametrize("name", PARTS)
def test_insert_at_a_constant_column_selects_rows_at_run_time(name):
    part = PARTS[name]
    tiles = [tile("f32", part), tile("f32", GRID)]
    body = "%three = arith.constant 3 : i32\n%y = " + indexed("insert", "%x0, %x1, %i, %three", tiles, 2, tiles[1])
    text = with_indices(body, [part, GRID], GRID)
    if name == "same_threads":
        # One predicate per row of parts, one selection per register of the column.
        assert ptx_of(text).count("selp") == 2 * part.register_count
    a, x = -ramp(part.shape), ramp(GRID.shape)
    for i in range(2):
        y = np.zeros(GRID.shape, np.float32)
        run(text, [a, x, y, i, 0])
        assert np.array_equal(y, inserted(x, a, i, 3))


def test_insert_of_a_tile_whose_elements_several_threads_hold():
    """A thread that repeats an element of the part stores it once; all threads then load the new element."""
    whole, part = blocked((64,), 4), blocked((2,), 4)
    tiles = [tile("f32", part), tile("f32", whole)]
    text = kernel(
        "%a: i64, %b: i64, %c: i64, %i: i32",
        f"""{load_tile("%p", tiles[0], "%a", (2,))}
        {load_tile("%x", tiles[1], "%b", (64,))}
        %y = {indexed("insert", "%p, %x, %i", tiles, 1, tiles[1])}
        {store_tile("%y", tiles[1], "%c", (64,))}""",
    )
    x, y = ramp((64,)), np.zeros(64, np.float32)
    run(text, [np.float32([-1, -2]), x, y, 30])
    assert np.array_equal(y, np.concatenate([x[:60], [-1, -2], x[62:]]))


@pytest.mark.parametrize("index", [0, 5, 7])
def test_extract_with_dynamic_indices(index):
    whole, part = blocked((64,), 4), blocked((8,), 4)
    text = kernel(
        "%a: i64, %b: i64, %i: i32",
        f"""{load_tile("%x", tile("f32", whole), "%a", (64,))}
        %y = {extract("%x, %i", 1, tile("f32", whole), tile("f32", part))}
        {store_tile("%y", tile("f32", part), "%b", (8,))}""",
    )
    x, y = ramp((64,)), np.zeros(8, np.float32)
    run(text, [x, y, index])
    assert np.array_equal(y, x[8 * index : 8 * index + 8])


def test_extract_of_a_scalar():
    layout = blocked((64,), 4)
    own = tile("f32", layout)
    text = kernel(
        "%a: i64, %b: i64, %i: i32",
        f"""{load_tile("%x", own, "%a", (64,))}
        %s = {extract("%x, %i", 1, own, "f32")}
        %y = "tile_gpu.splat"(%s) : (f32) -> {own}
        {store_tile("%y", own, "%b", (64,))}""",
    )
    x, y = ramp((64,)), np.zeros(64, np.float32)
    run(text, [x, y, 41])
    assert (y == 41).all()
