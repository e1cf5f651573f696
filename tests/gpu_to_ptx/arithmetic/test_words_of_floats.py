"""Floats of 8 and 4 bits that threads have as words are converted in pairs, with the values of each code."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from simulated import kernel, load_view, ptx_of, run, store_view, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.lowering.layout.vectors import divided

TARGETS = ["sm_100a", "sm_90a"]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
BYTES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
HALVES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
# A thread loads 16 bytes.
LAYOUT = blocked((2048,), 4, 0, 16)


def math(function: str, operands: str, types: str, result: str) -> str:
    """%y = function of operands."""
    count = operands.count("%")
    sizes = ", ".join(["1"] * count + ["0"] * (32 - count))
    attributes = f'function = "{function}", operandSegmentSizes = array<i32: {sizes}>'
    return f'%y = "tile_gpu.math"({operands}) {{{attributes}}} : ({types}) -> {result}'


def program(source: str, result: str, layout: LinearLayout, body: str, target: str) -> str:
    """Loads %x, and stores %y in a layout with as many elements or twice as many."""
    width = 16 // np.dtype(DTYPES[result]).itemsize
    lines = [
        "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32",
        f"%n = arith.constant {LAYOUT.size} : i32\n%m = arith.constant {layout.size} : i32",
        load_view("%x", tile(source, LAYOUT), "%a", ["%zero"], ["%n"], ["%one"], vector=16, vector_dimension=0),
        body,
        store_view("%y", tile(result, layout), "%out", ["%zero"], ["%m"], ["%one"], vector=width, vector_dimension=0),
    ]
    return kernel("%a: i64, %f: f32, %out: i64", "\n".join(lines), target=target)


def expected(values: np.ndarray, result: str) -> np.ndarray:
    return values.astype(np.float32).astype(DTYPES[result])


def same(found: np.ndarray, exact: np.ndarray) -> bool:
    """Whether arrays are equal, with the signs of zeros; NaN has no sign."""
    numbers = ~np.isnan(exact.astype(np.float32))
    signs = np.array_equal(np.signbit(found)[numbers], np.signbit(exact)[numbers])
    return signs and np.array_equal(found.astype(np.float32), exact.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", DTYPES)
@pytest.mark.parametrize("source", BYTES)
def test_two_bytes_of_a_word_are_converted_by_one_instruction(source, result, target):
    """Every code is once beside each of eight others."""
    body = math("ftof.rn", "%x", tile(source, LAYOUT), tile(result, LAYOUT))
    text, random = program(source, result, LAYOUT, body, target), np.random.default_rng(0)
    codes = np.concatenate([random.permutation(256) for _ in range(8)]).astype(np.uint8)
    y = np.zeros(2048, DTYPES[result])
    run(text, [codes, 0.0, y])
    assert same(y, expected(codes.view(BYTES[source]), result))
    ptx = ptx_of(text)
    assert len(re.findall(r"cvt\.rn\.f16x2\.e\dm\dx2", ptx)) == 8
    assert len(re.findall(r"cvt\.rn\.bf16x2\.f32", ptx)) == (8 if result == "bf16" else 0)


@pytest.mark.parametrize("result", DTYPES)
@pytest.mark.parametrize("source", BYTES)
def test_neighbouring_registers_of_two_words(source, result):
    """Registers of two rows alternate, so that no two neighbours are bytes of one word."""
    layout = parse_layout("register=(1,0)(0,1)(0,2) lane=(0,4)(0,8)(0,16)(2,0)(4,0) warp=(8,0)(16,0) shape=32x32")
    narrow, wide = tile(source, layout), tile(result, layout)
    scalars = (["%zero", "%zero"], ["%n", "%n"], ["%n", "%one"])
    lines = [
        "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n%n = arith.constant 32 : i32",
        load_view("%x", narrow, "%a", *scalars, vector=4, vector_dimension=1),
        math("ftof.rn", "%x", narrow, wide),
        store_view("%y", wide, "%out", *scalars),
    ]
    codes = np.random.default_rng(2).permutation(np.tile(np.arange(256, dtype=np.uint8), 4)).reshape(32, 32)
    y = np.zeros((32, 32), DTYPES[result])
    run(kernel("%a: i64, %out: i64", "\n".join(lines), target="sm_90a"), [codes, y])
    assert same(y, expected(codes.view(BYTES[source]), result))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", DTYPES)
def test_eight_halves_of_bytes(result, target):
    """sm_90a has no conversion of f4E2M1FN: it looks up the values of the codes of a word, without arithmetic."""
    layout = divided(LAYOUT, 0, 2)
    unpacked = tile("f4E2M1FN", layout)
    body = f'%e = "tile_gpu.unpack"(%x) {{dimension = 0 : i32}} : ({tile("i8", LAYOUT)}) -> {unpacked}\n'
    text = program("i8", result, layout, body + math("ftof.rn", "%e", unpacked, tile(result, layout)), target)
    codes = np.random.default_rng(1).permutation(np.tile(np.arange(256, dtype=np.uint8), 8))
    halves = np.stack([codes & 15, codes >> 4], axis=1).reshape(-1)
    exact = np.where(halves & 8, -HALVES[halves & 7], HALVES[halves & 7])
    y = np.zeros(4096, DTYPES[result])
    run(text, [codes, 0.0, y])
    assert same(y, expected(exact, result))
    looked_up = target == "sm_90a" and result != "f32"
    assert ("mul.rn.f16x2" not in ptx_of(text)) == (looked_up or target == "sm_100a")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", ["f16", "bf16"])
@pytest.mark.parametrize("source", BYTES)
def test_scale(source, result, target):
    """The converted element times the factor, rounded once; two elements by one instruction."""
    narrow, wide = tile(source, LAYOUT), tile(result, LAYOUT)
    body = (
        f"%h = arith.truncf %f : f32 to {result}\n"
        f'%g = "tile_gpu.splat"(%h) : ({result}) -> {wide}\n{math("scale.rn", "%x, %g", f"{narrow}, {wide}", wide)}'
    )
    text, codes = program(source, result, LAYOUT, body, target), np.tile(np.arange(256, dtype=np.uint8), 8)
    for factor in (1.0, 0.3125, -3.0, 2.0**-20):
        y = np.zeros(2048, DTYPES[result])
        run(text, [codes, factor, y])
        with np.errstate(over="ignore"):
            exact = expected(codes.view(BYTES[source]).astype(np.float32) * np.float32(factor), result)
        assert same(y, exact)
    assert len(re.findall(rf"mul\.rn\.{result}x2", ptx_of(text))) == 8
