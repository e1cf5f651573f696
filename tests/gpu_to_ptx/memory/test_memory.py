"""Accesses to views of global memory: vectors, guards, padding, strides, tiles with fewer elements than threads."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from simulated import kernel, load_view, ptx_of, run, store_view, tile

from tilec.errors import CompileError
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
    """Tile block i copies the tile at row i * rows and column %c of a matrix with dynamic extents and row stride."""
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
def test_elements_out_of_bounds_are_not_accessed(element, layout):
    """Rows have 70 elements in memory, the view has columns up to 49, and the copy starts at column 3."""
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


def test_three_strided_dimensions():
    layout = blocked((2, 8, 16), 4, 1, 2)
    type = tile("f32", layout)
    scalars = ("%zero",) * 3, ("%d", "%h", "%w"), ("%ds", "%hs", "%ws")
    text = kernel(
        "%a: i64, %b: i64, %d: i32, %h: i32, %w: i32, %ds: i32, %hs: i32, %ws: i32",
        f"{SCALARS}\n{load_view('%x', type, '%a', *scalars)}\n{store_view('%x', type, '%b', *scalars)}",
    )
    a = numbers((2, 7, 40), np.float32)
    b = np.zeros_like(a)
    run(text, [a, b, 2, 7, 13, 280, 40, 3])
    expected = np.zeros_like(a)
    expected[:, :, : 13 * 3 : 3] = a[:, :, : 13 * 3 : 3]
    assert np.array_equal(b, expected)


@pytest.mark.parametrize("element", ["f16", "i32", "f64"])
def test_tiles_of_addresses(element):
    """Loads element 3 i if i < 40 and `other` if not, and stores through a tile of addresses."""
    layout = blocked((64,), 4)
    size = np.dtype(DTYPES[element]).itemsize
    addresses, type, mask = tile("i64", layout), tile(element, layout), tile("i1", layout)
    other = "7 : i32" if element == "i32" else f"7.0 : {element}"
    segments = "operandSegmentSizes = array<i32: 1, 1, 1>"
    text = kernel(
        "%a: i64, %b: i64",
        f"""
        %i = "tile_gpu.iota"() : () -> {tile("i32", layout)}
        %j = arith.extsi %i : {tile("i32", layout)} to {addresses}
        %three = arith.constant dense<{3 * size}> : {addresses}
        %size = arith.constant dense<{size}> : {addresses}
        %forty = arith.constant dense<40> : {addresses}
        %from = arith.muli %j, %three : {addresses}
        %to = arith.muli %j, %size : {addresses}
        %a0 = "tile_gpu.splat"(%a) : (i64) -> {addresses}
        %b0 = "tile_gpu.splat"(%b) : (i64) -> {addresses}
        %pa = arith.addi %a0, %from : {addresses}
        %pb = arith.addi %b0, %to : {addresses}
        %in = arith.cmpi slt, %j, %forty : {addresses}
        %o = arith.constant {other}
        %os = "tile_gpu.splat"(%o) : ({element}) -> {type}
        %x = "tile_gpu.load_global"(%pa, %in, %os) {{vector = 1 : i32, {segments}}}
          : ({addresses}, {mask}, {type}) -> {type}
        "tile_gpu.store_global"(%pb, %x) {{vector = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>}}
          : ({addresses}, {type}) -> ()""",
    )
    a, b = numbers(120, DTYPES[element]), np.zeros(64, DTYPES[element])
    run(text, [a, b])
    assert np.array_equal(b, np.where(np.arange(64) < 40, np.resize(a[::3], 64), 7).astype(b.dtype))


def test_in_bounds_accesses_are_unguarded_vectors():
    """In bounds: one address with immediate offsets, vectors of 16 bytes, no guards."""
    type = tile("f16", blocked((16, 64), 4, 1, 8))
    scalars = ("%zero", "%zero"), ("%m", "%n"), ("%w", "%one")
    text = kernel(
        "%a: i64, %b: i64, %m: i32, %n: i32",
        f"""{SCALARS}
        %w = arith.constant 64 : i32
        {load_view("%x", type, "%a", *scalars, vector=8, vector_dimension=1, inbounds=(True, True))}
        {store_view("%x", type, "%b", *scalars, vector=8, vector_dimension=1, inbounds=(True, True))}""",
    )
    lines = [line.split("//")[0].strip() for line in ptx_of(text).splitlines()]
    assert sum(line.startswith("ld.global.v4.b32") for line in lines) == 1
    assert sum(line.startswith("st.global.v4.b32") for line in lines) == 1
    assert not any(line.startswith(("@", "mov.b32 {", "setp")) for line in lines)


def test_indices_in_another_layout_are_an_error():
    layout, other = blocked((32, 4), 4), blocked((32,), 4)
    loaded = load_view("%t", tile("f32", layout), "%a", ("%zero", "%zero"), ("%n", "%n"), ("%n", "%one"))
    sparse = (
        loaded.replace("%n, %one)", "%n, %one, %rows)")
        .replace("2, 2, 2, 0>", "2, 2, 2, 1>")
        .replace("i32) ->", f"i32, {tile('i32', other)}) ->")
        .replace("{", "{sparse_dimension = 0 : i32, ", 1)
    )
    body = f'{SCALARS}\n%rows = "tile_gpu.iota"() : () -> {tile("i32", other)}\n{sparse}'
    with pytest.raises(CompileError, match="expected indices in layout 'register="):
        ptx_of(kernel("%a: i64, %n: i32", body))
