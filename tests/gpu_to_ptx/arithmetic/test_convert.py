"""Conversions between all element types round once."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from simulated import elementwise, ptx_of, run, tile

from tilec.lowering.layout.blocked import blocked

LAYOUT = blocked((256,), 4, 0, 2)
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
NARROW = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
BITS = {"f8E4M3FN": 8, "f8E5M2": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def convert(operation: str, source: str, target: str, x: np.ndarray, dtype) -> np.ndarray:
    body = f"%y = {operation} %x0 : {tile(source, LAYOUT)} to {tile(target, LAYOUT)}"
    y = np.zeros(256, dtype)
    run(elementwise(body, [(source, LAYOUT)], (target, LAYOUT)), [x, y])
    return y


def floats(dtype, seed: int, spread: float = 300.0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(0, spread, 256)
    x[:4] = [0.0, -0.0, 1.0, -1.5]
    return x.astype(dtype)


@pytest.mark.parametrize(
    ("source", "target"),
    [(s, t) for s, t in itertools.product(FLOATS | NARROW, FLOATS) if BITS[s] < BITS[t]],
)
def test_float_extension_is_exact(source, target):
    x = floats((FLOATS | NARROW)[source], 1, 20)
    y = convert("arith.extf", source, target, x, FLOATS[target])
    assert np.array_equal(y, x.astype(np.float64).astype(FLOATS[target]), equal_nan=True)


@pytest.mark.parametrize(
    ("source", "target"), [(s, t) for s, t in itertools.product(FLOATS, FLOATS) if BITS[s] > BITS[t]]
)
def test_float_truncation_rounds_to_nearest_even(source, target):
    x = floats(FLOATS[source], 2)
    # Ties: halfway between two adjacent numbers, of which the lower or the upper one is even.
    ties = np.array(
        [1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-24, 1 + 2.0**-8 + 2.0**-40]
    )
    x[4:10] = ties.astype(FLOATS[source])
    y = convert("arith.truncf", source, target, x, FLOATS[target])
    assert np.array_equal(y, rounded(x, FLOATS[target]))


def rounded(x: np.ndarray, dtype) -> np.ndarray:
    """Rounds to nearest even in exact arithmetic: the candidate at the smallest distance, in a tie the even one."""
    nearest = x.astype(np.float32).astype(dtype) if dtype == ml_dtypes.bfloat16 else x.astype(dtype)
    bits = nearest.view(f"u{nearest.dtype.itemsize}").astype(np.int64)
    candidates = [(bits + step).astype(f"u{nearest.dtype.itemsize}").view(dtype) for step in (-1, 0, 1)]
    exact = x.astype(np.float64)
    distance = np.array([np.abs(c.astype(np.float64) - exact) for c in candidates])
    distance[np.isnan(distance)] = np.inf
    odd = np.array([(bits + step) & 1 for step in (-1, 0, 1)])
    best = np.lexsort((odd, distance), axis=0)[0]
    return np.array([candidates[choice][i] for i, choice in enumerate(best)], dtype)


@pytest.mark.parametrize("target", NARROW)
@pytest.mark.parametrize("source", ["f32", "f16", "bf16"])
def test_conversions_to_f8_saturate(source, target):
    x = floats(FLOATS[source], 3, 30)
    x[4:6] = [1e4, -1e4]
    limit = float(ml_dtypes.finfo(NARROW[target]).max)
    expected = np.clip(x.astype(np.float32), -limit, limit).astype(NARROW[target])
    y = convert("arith.truncf", source, target, x, NARROW[target])
    assert np.array_equal(y.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("operation", ["sitofp", "uitofp"])
@pytest.mark.parametrize(("source", "target"), list(itertools.product(INTEGERS, ["f32", "f64", "f16"])))
def test_integers_to_floats(operation, source, target):
    info = np.iinfo(INTEGERS[source])
    x = np.random.default_rng(4).integers(info.min, info.max, 256, dtype=INTEGERS[source], endpoint=True)
    values = x.view(x.dtype.str.replace("i", "u")) if operation == "uitofp" else x
    y = convert(f"arith.{operation}", source, target, x, FLOATS[target])
    with np.errstate(over="ignore"):
        assert np.array_equal(y, values.astype(FLOATS[target]))


def test_integers_to_bf16_round_once():
    """Integers so close above a tie of bf16 that f32 and f64 round them to the tie."""
    x = np.zeros(256, np.int64)
    x[:4] = [(1 << 60) + (1 << 52) + 1, (1 << 60) + (1 << 52), (1 << 30) + (1 << 22) + 1, -((1 << 60) + (1 << 52) + 1)]
    y = convert("arith.sitofp", "i64", "bf16", x, ml_dtypes.bfloat16)
    assert [int(v) for v in y[:4]] == [(1 << 60) + (1 << 53), 1 << 60, (1 << 30) + (1 << 23), -(1 << 60) - (1 << 53)]


SHORT_FLOATS = {**NARROW, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("operation", ["sitofp", "uitofp"])
@pytest.mark.parametrize(("source", "target"), list(itertools.product(["i8", "i16"], SHORT_FLOATS)))
def test_short_integers_to_short_floats_round_once(operation, source, target):
    """All bytes, or random integers; values beyond the largest float of 8 bits become it."""
    info, dtype = np.iinfo(INTEGERS[source]), SHORT_FLOATS[target]
    x = np.arange(256).astype(np.uint8).view(np.int8)
    if source == "i16":
        x = np.random.default_rng(9).integers(info.min, info.max, 256, dtype=np.int16, endpoint=True)
        x[:6] = [info.min, info.max, 257, 259, -257, -259]
    values = x.view(x.dtype.str.replace("i", "u")) if operation == "uitofp" else x
    limit = float(ml_dtypes.finfo(dtype).max)
    expected = np.clip(values.astype(np.float32), -limit, limit).astype(dtype)
    y = convert(f"arith.{operation}", source, target, x, dtype)
    assert np.array_equal(y.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize(
    ("operation", "source", "target", "conversions"),
    [
        ("truncf", "f32", "f8E4M3FN", {"cvt.rn.satfinite.e4m3x2.f32": 2}),
        ("truncf", "f16", "f8E5M2", {"cvt.rn.satfinite.e5m2x2.f16x2": 2}),
        ("truncf", "bf16", "f8E5M2", {"cvt.f32.bf16": 4, "cvt.rn.satfinite.e5m2x2.f32": 2}),
        ("sitofp", "i8", "f8E4M3FN", {"cvt.rn.f16.s16": 4, "cvt.rn.satfinite.e4m3x2.f16x2": 2}),
        ("uitofp", "i16", "bf16", {"cvt.rn.f32.u16": 4, "cvt.rn.bf16x2.f32": 2}),
    ],
)
def test_conversions_to_short_floats_in_pairs(operation, source, target, conversions):
    """A thread with four elements computes none in f64, and stores the bytes of a word as they are."""
    layout = blocked((512,), 4, 0, 4)
    body = f"%y = arith.{operation} %x0 : {tile(source, layout)} to {tile(target, layout)}"
    ptx = ptx_of(elementwise(body, [(source, layout)], (target, layout)))
    assert Counter(re.findall(r"cvt\.\S*(?:rn|f32)\S*", ptx)) == conversions
    assert "and.b16" not in ptx and "shl.b16" not in ptx


@pytest.mark.parametrize("operation", ["fptosi", "fptoui"])
@pytest.mark.parametrize(("source", "target"), list(itertools.product(FLOATS, INTEGERS)))
def test_floats_to_integers_round_toward_zero(operation, source, target):
    x = np.clip(floats(FLOATS[source], 5, 40).astype(np.float64), -128, 127)
    x = (np.abs(x) if operation == "fptoui" else x).astype(FLOATS[source])
    y = convert(f"arith.{operation}", source, target, x, INTEGERS[target])
    assert np.array_equal(y, np.trunc(x.astype(np.float64)).astype(INTEGERS[target]))


PAIRS = [(s, t) for s, t in itertools.combinations(["i1", *INTEGERS], 2)]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("operation", ["extsi", "extui"])
def test_integer_extension(source, target, operation):
    dtype = INTEGERS.get(source, np.bool_)
    x = np.random.default_rng(6).integers(0, 256, 256).astype(dtype)
    y = convert(f"arith.{operation}", source, target, x, INTEGERS[target])
    values = x.astype(np.int64) if source != "i1" else np.where(x, -1 if operation == "extsi" else 1, 0)
    if operation == "extui" and source != "i1":
        values = x.view(x.dtype.str.replace("i", "u")).astype(np.uint64)
    assert np.array_equal(y, values.astype(INTEGERS[target]))


@pytest.mark.parametrize(("target", "source"), PAIRS)
def test_integer_truncation_drops_bits(target, source):
    x = np.random.default_rng(7).integers(-(1 << 40), 1 << 40, 256).astype(INTEGERS[source])
    dtype = INTEGERS.get(target, np.bool_)
    y = convert("arith.trunci", source, target, x, dtype)
    assert np.array_equal(y, (x & 1).astype(bool) if target == "i1" else x.astype(dtype))


@pytest.mark.parametrize(
    ("source", "target"), [("f32", "i32"), ("i32", "f32"), ("f64", "i64"), ("f16", "i16"), ("bf16", "f16")]
)
def test_bitcast(source, target):
    dtypes = INTEGERS | FLOATS
    x = (
        np.random.default_rng(8)
        .integers(0, 1 << 14, 256)
        .astype(f"i{np.dtype(dtypes[source]).itemsize}")
        .view(dtypes[source])
    )
    y = convert("arith.bitcast", source, target, x, dtypes[target])
    assert np.array_equal(x.view(np.uint8), y.view(np.uint8))


def tile_gpu_math(function: str, source: str, target: str, x: np.ndarray, dtype) -> np.ndarray:
    segments = "array<i32: " + ", ".join(["1"] + ["0"] * 31) + ">"
    attributes = f'function = "{function}", operandSegmentSizes = {segments}'
    body = f'%y = "tile_gpu.math"(%x0) {{{attributes}}} : ({tile(source, LAYOUT)}) -> {tile(target, LAYOUT)}'
    y = np.zeros(256, dtype)
    run(elementwise(body, [(source, LAYOUT)], (target, LAYOUT)), [x, y])
    return y


@pytest.mark.parametrize(
    ("source", "target"),
    [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "bf16"), ("f16", "bf16"), ("bf16", "f16")],
)
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_rounding_modes(source, target, mode):
    x = floats(FLOATS[source], 10)
    y = tile_gpu_math(f"ftof.{mode}", source, target, x, FLOATS[target])
    expected = rounded(x, FLOATS[target])
    if mode == "rz":
        too_far = np.abs(expected.astype(np.float64)) > np.abs(x.astype(np.float64))
        bits = expected.view(f"u{expected.dtype.itemsize}")
        expected = np.where(too_far, bits - 1, bits).astype(bits.dtype).view(FLOATS[target])
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("signed", ["signed", "unsigned"])
@pytest.mark.parametrize(("source", "target"), list(itertools.product(FLOATS, INTEGERS)))
def test_saturating_floats_to_integers(signed, source, target):
    x = floats(FLOATS[source], 11, 1e4)
    x[4:8] = [np.inf, -np.inf, np.nan, 255.75]
    y = tile_gpu_math(f"ftoi.{signed}.sat", source, target, x, INTEGERS[target])
    info = np.iinfo(INTEGERS[target] if signed == "signed" else y.dtype.str.replace("i", "u"))
    expected = [
        0 if np.isnan(v) else info.min if v < info.min else info.max if v > info.max else int(v)
        for v in x.astype(np.float64)
    ]
    assert [int(value) for value in y.view(info.dtype)] == expected


@pytest.mark.parametrize("function", ["arith.fptosi", "arith.fptoui", "ftoi.signed.sat", "ftoi.unsigned.sat"])
@pytest.mark.parametrize("source", FLOATS)
def test_to_a_predicate(function, source):
    """All values except zero are true, also NaN, infinities, fractions below 1 and subnormal numbers."""
    x = floats(FLOATS[source], 12)
    (tiny,) = np.ones(1, f"u{BITS[source] // 8}").view(FLOATS[source])
    x[:12] = [0, -0.0, np.nan, np.inf, -np.inf, 0.5, -0.5, 1, -1, 2, tiny, -tiny]
    convert_by = tile_gpu_math if function.startswith("ftoi") else convert
    y = convert_by(function, source, "i1", x, np.bool_)
    assert np.array_equal(y, x != 0) and y[2] and y[10] and not y[1]


def test_tf32_has_ten_fraction_bits():
    own, wide = tile("tf32", LAYOUT), tile("f32", LAYOUT)
    body = f"%t = arith.truncf %x0 : {wide} to {own}\n%y = arith.extf %t : {own} to {wide}"
    x, y = floats(np.float32, 9), np.zeros(256, np.float32)
    x[4:6] = [1 + 2.0**-11, 1 + 3 * 2.0**-11]
    run(elementwise(body, [("f32", LAYOUT)], ("f32", LAYOUT)), [x, y])
    bits = x.view(np.uint32).astype(np.uint64)
    expected = ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32)
    assert np.array_equal(y, expected)


def test_f16_values_are_converted_in_pairs_and_stored_packed():
    layout = blocked((1024,), 4, 0, 8)
    body = f"%y = arith.truncf %x0 : {tile('f32', layout)} to {tile('f16', layout)}"
    text = elementwise(body, [("f32", layout)], ("f16", layout))
    text = text.replace("vector = 1", "vector_dimension = 0 : i32, vector = 8")
    lines = [line.strip() for line in ptx_of(text).splitlines()]
    assert sum(line.startswith("cvt.rn.f16x2.f32") for line in lines) == 4
    assert not any(line.startswith("mov.b32 {") or "{%h" in line for line in lines)
