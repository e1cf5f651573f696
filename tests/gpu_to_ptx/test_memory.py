"""Views of global memory: vectors, guards, padding, strides, and tiles smaller than the threads."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from simulated import kernel, load_view, ptx_of, run, store_view, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.wgmma import wgmma_accumulator

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
SCALARS = "%one = arith.constant 1 : i32\n%zero = arith.constant 0 : i32"


def numbers(shape, dtype) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) * 37 % 101 % (2 if dtype == np.bool_ else 101)).astype(dtype)


def copy_kernel(element: str, layout: LinearLayout, **options) -> str:
    """Tile block i copies the tile at offset i * rows, column 3 on, of a matrix with dynamic extents and row stride."""
    type = tile(element, layout)
    offsets, extents, strides = ("%o", "%c"), ("%m", "%n"), ("%s", "%one")
    return kernel(
        "%a: i64, %b: i64, %m: i32, %n: i32, %s: i32, %c: i32",
        f"""{SCALARS}
        %rows = arith.constant {layout.shape[0]} : i32
        %id = "tile_gpu.program_id"() {{axis = 0 : i32}} : () -> i32
        %o = arith.muli %id, %rows : i32
        {load_view("%x", type, "%a", offsets, extents, strides, **options)}
        {store_view("%x", type, "%b", offsets, extents, strides, **options)}""",
    )


@pytest.mark.parametrize("element", DTYPES)
def test_vectors_of_every_element_type(element):
    vector = min(16, 16 // np.dtype(DTYPES[element]).itemsize)
    layout = blocked((16, 64), 4, 1, vector)
    a = numbers((40, 64), DTYPES[element])
    b = np.zeros_like(a)
    run(copy_kernel(element, layout, vector=vector, vector_dimension=1), [a, b, 40, 64, 64, 0], grid=(3,))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("element", ["i8", "f16", "f32", "f64"])
@pytest.mark.parametrize("layout", [blocked((16, 64), 4, 0, 4), blocked((8, 8), 4), wgmma_accumulator((64, 32), 4)])
def test_ragged_edges_are_neither_read_nor_written(element, layout):
    """Rows of 70 elements in memory, of which columns 3 to 49 exist; the rest must stay as it is."""
    a = numbers((29, 70), DTYPES[element])
    b = np.full_like(a, 99)
    run(copy_kernel(element, layout), [a, b, 29, 50, 70, 3], grid=(-(-29 // layout.shape[0]),))
    expected = np.full_like(a, 99)
    end = min(50, 3 + layout.shape[1])
    expected[:, 3:end] = a[:, 3:end]
    assert np.array_equal(b, expected)


@pytest.mark.parametrize("padding", ["zero", "neg_zero", "nan", "pos_inf", "neg_inf"])
def test_padding(padding):
    layout = blocked((4, 32), 4)
    type = tile("f32", layout)
    text = kernel(
        "%a: i64, %b: i64, %m: i32, %n: i32, %minus: i32",
        f"""{SCALARS}
        %w = arith.constant 32 : i32
        {load_view("%x", type, "%a", ("%minus", "%zero"), ("%m", "%n"), ("%n", "%one"), padding=padding)}
        {store_view("%x", type, "%b", ("%zero", "%zero"), ("%w", "%w"), ("%w", "%one"))}""",
    )
    a, b = np.ones((2, 20), np.float32), np.zeros((4, 32), np.float32)
    run(text, [a, b, 2, 20, -1])
    values = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}
    expected = np.full((4, 32), values[padding], np.float32)
    expected[1:3, :20] = 1
    assert np.array_equal(b, expected, equal_nan=True)
    assert np.array_equal(np.signbit(b), np.signbit(expected)) or padding == "nan"


def test_three_dimensions_with_a_gap_in_each():
    layout = blocked((2, 8, 16), 4, 1, 2)
    type = tile("f32", layout)
    place = ("%zero",) * 3, ("%d", "%h", "%w"), ("%ds", "%hs", "%ws")
    text = kernel(
        "%a: i64, %b: i64, %d: i32, %h: i32, %w: i32, %ds: i32, %hs: i32, %ws: i32",
        f"{SCALARS}\n{load_view('%x', type, '%a', *place)}\n{store_view('%x', type, '%b', *place)}",
    )
    a = numbers((2, 7, 40), np.float32)
    b = np.zeros_like(a)
    run(text, [a, b, 2, 7, 13, 280, 40, 3])
    expected = np.zeros_like(a)
    expected[:, :, : 13 * 3 : 3] = a[:, :, : 13 * 3 : 3]
    assert np.array_equal(b, expected)


@pytest.mark.parametrize("element", ["f16", "i32", "f64"])
def test_addresses_as_a_tile(element):
    """Gathers element 3 i where i < 40, else takes `other`, and scatters."""
    layout = blocked((64,), 4)
    size = np.dtype(DTYPES[element]).itemsize
    places, type, mask = tile("i64", layout), tile(element, layout), tile("i1", layout)
    other = "7 : i32" if element == "i32" else f"7.0 : {element}"
    segments = "operandSegmentSizes = array<i32: 1, 1, 1>"
    text = kernel(
        "%a: i64, %b: i64",
        f"""
        %i = "tile_gpu.iota"() : () -> {tile("i32", layout)}
        %j = arith.extsi %i : {tile("i32", layout)} to {places}
        %three = arith.constant dense<{3 * size}> : {places}
        %size = arith.constant dense<{size}> : {places}
        %forty = arith.constant dense<40> : {places}
        %from = arith.muli %j, %three : {places}
        %to = arith.muli %j, %size : {places}
        %a0 = "tile_gpu.splat"(%a) : (i64) -> {places}
        %b0 = "tile_gpu.splat"(%b) : (i64) -> {places}
        %pa = arith.addi %a0, %from : {places}
        %pb = arith.addi %b0, %to : {places}
        %in = arith.cmpi slt, %j, %forty : {places}
        %o = arith.constant {other}
        %os = "tile_gpu.splat"(%o) : ({element}) -> {type}
        %x = "tile_gpu.load_global"(%pa, %in, %os) {{vector = 1 : i32, {segments}}}
          : ({places}, {mask}, {type}) -> {type}
        "tile_gpu.store_global"(%pb, %x) {{vector = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>}}
          : ({places}, {type}) -> ()""",
    )
    a, b = numbers(120, DTYPES[element]), np.zeros(64, DTYPES[element])
    run(text, [a, b])
    assert np.array_equal(b, np.where(np.arange(64) < 40, np.resize(a[::3], 64), 7).astype(b.dtype))


def test_instructions_of_a_full_tile():
    """In bounds: one address, immediates, vectors of 16 bytes, no guards."""
    type = tile("f16", blocked((16, 64), 4, 1, 8))
    place = ("%zero", "%zero"), ("%m", "%n"), ("%w", "%one")
    text = kernel(
        "%a: i64, %b: i64, %m: i32, %n: i32",
        f"""{SCALARS}
        %w = arith.constant 64 : i32
        {load_view("%x", type, "%a", *place, vector=8, vector_dimension=1, inbounds=(True, True))}
        {store_view("%x", type, "%b", *place, vector=8, vector_dimension=1, inbounds=(True, True))}""",
    )
    lines = [line.split("//")[0].strip() for line in ptx_of(text).splitlines()]
    assert sum(line.startswith("ld.global.v4.b32") for line in lines) == 1
    assert sum(line.startswith("st.global.v4.b32") for line in lines) == 1
    assert not any(line.startswith(("@", "mov.b32 {", "setp")) for line in lines)
