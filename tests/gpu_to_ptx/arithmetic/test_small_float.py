"""Conversions of f4E2M1FN, f8E8M0FNU and fnv8E5M3FNU equal exact arithmetic on every boundary between two codes."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from simulated import kernel, load_tile, ptx_of, run, store_tile
from simulated import tile as tile_of

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import divided

TARGETS = ["sm_100a", "sm_90a"]
# The finite values of all codes without sign, by code.
VALUES = {
    "f4E2M1FN": [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)],
    "f8E8M0FNU": [Fraction(2) ** (code - 127) for code in range(255)],
    "fnv8E5M3FNU": [
        Fraction(code & 7, 8) * Fraction(2) ** -14
        if code < 8
        else Fraction(8 + (code & 7), 8) * Fraction(2) ** ((code >> 3) - 15)
        for code in range(255)
    ],
}
# The code of NaN; the largest value if there is none.
NAN = {"f4E2M1FN": 7, "f8E8M0FNU": 255, "fnv8E5M3FNU": 255}
SOURCES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
MODES = {"f4E2M1FN": ["rn"], "fnv8E5M3FNU": ["rn"], "f8E8M0FNU": ["rz", "rp"]}
CASES = [(result, mode) for result in VALUES for mode in MODES[result]]


def tile(element: str, layout: LinearLayout) -> str:
    """The type of a register tile; MLIR spells fnv8E5M3FNU without its first letters."""
    return tile_of(element.replace("fnv8", "f8"), layout)


def ftof(mode: str, source: str, result: str, layout: LinearLayout, names: str) -> str:
    value, operand = names.split()
    segments = ", ".join(["1", *["0"] * 31])
    attributes = f'{{function = "ftof.{mode}", operandSegmentSizes = array<i32: {segments}>}}'
    return f'{value} = "tile_gpu.math"({operand}) {attributes} : ({tile(source, layout)}) -> {tile(result, layout)}'


def expected_code(result: str, mode: str, x: float) -> int:
    """The code of a number; values out of range become the nearest limit."""
    if np.isnan(x):
        return NAN[result]
    values = VALUES[result]
    magnitude = abs(x) if result == "f4E2M1FN" else max(x, 0.0)
    sign = 8 if result == "f4E2M1FN" and np.signbit(x) else 0
    if magnitude >= values[-1]:
        return sign + len(values) - 1
    exact = Fraction(float(magnitude))
    upper = next(code for code, value in enumerate(values) if value >= exact)
    lower = upper if values[upper] == exact or upper == 0 else upper - 1
    if mode != "rn":
        return sign + (lower if mode == "rz" else upper)
    return sign + min((lower, upper), key=lambda code: (abs(values[code] - exact), code & 1))


def samples(result: str, dtype: type) -> np.ndarray:
    """All values, the middles between them, and the numbers of the source type on both sides of each."""
    values = [float(value) for value in VALUES[result]]
    middles = [(a + b) / 2 for a, b in zip(values, values[1:], strict=False)]
    limits = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3e38, -3e38, 1e-300, 1e300, 7.0, -1.0]
    with np.errstate(over="ignore"):
        exact = np.array(values + middles + limits).astype(dtype)
    steps = [np.nextafter(exact, dtype(limit)) for limit in (-np.inf, np.inf)]
    found = np.concatenate([exact, *steps])
    found = np.concatenate([found, -found])
    return np.resize(found, 1 << (len(found) - 1).bit_length())


def convert(body: str, source: str, layout: LinearLayout, x: np.ndarray, dtype: type, stored: str, target: str):
    """A kernel that loads %x, runs the body and stores %y."""
    lines = [
        load_tile("%x", tile(source, layout), "%a", layout.shape),
        body,
        store_tile("%y", tile(stored, layout), "%out", layout.shape),
    ]
    y = np.zeros(layout.shape, dtype)
    run(kernel("%a: i64, %out: i64", "\n".join(lines), target=target), [x, y])
    return y


def codes(element: str, layout: LinearLayout, name: str = "%e") -> str:
    """The bits of a tile of a small float as bytes, %y."""
    if element != "f4E2M1FN":
        return f"%y = arith.bitcast {name} : {tile(element, layout)} to {tile('i8', layout)}"
    return (
        f"%bits = arith.bitcast {name} : {tile(element, layout)} to {tile('i4', layout)}\n"
        f"%y = arith.extui %bits : {tile('i4', layout)} to {tile('i8', layout)}"
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("result", "mode"), CASES)
def test_conversion_rounds_once(result, mode, source, target):
    x = samples(result, SOURCES[source])
    layout = blocked(x.shape, 4, 0, 4)
    body = ftof(mode, source, result, layout, "%e %x")
    found = convert(f"{body}\n{codes(result, layout)}", source, layout, x, np.uint8, "i8", target)
    expected = [expected_code(result, mode, float(value)) for value in x]
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, [(float(x[i]), int(found[i]), expected[i]) for i in wrong[:5]]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", ["f32", "f64", "bf16", "tf32"])
@pytest.mark.parametrize("source", VALUES)
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_conversion_to_a_wider_type_is_exact(source, result, mode, target):
    layout = blocked((256,), 4, 0, 2)
    load = "%x" if source != "f4E2M1FN" else "%n"
    narrow = f"%n = arith.trunci %x : {tile('i8', layout)} to {tile('i4', layout)}\n" if load == "%n" else ""
    held = "i4" if load == "%n" else "i8"
    body = (
        f"{narrow}%e = arith.bitcast {load} : {tile(held, layout)} to {tile(source, layout)}\n"
        f"{ftof(mode, source, result, layout, '%y %e')}"
    )
    dtype = {"tf32": np.float32, **SOURCES}[result]
    found = convert(body, "i8", layout, np.arange(256).astype(np.uint8), dtype, result, target).astype(np.float64)
    if source == "f4E2M1FN":
        half = np.array([float(value) for value in VALUES[source]])
        exact = np.tile(np.concatenate([half, -half]), 16)
    else:
        exact = np.array([*(float(value) for value in VALUES[source]), np.nan])
    assert np.array_equal(found, exact, equal_nan=True)
    assert np.array_equal(np.signbit(found[:-1]), np.signbit(exact[:-1]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("mode", "infinite"), [("rn", True), ("rz", False)])
def test_fnv8e5m3fnu_to_f16_rounds(mode, infinite, target):
    """Values from 65536 on are not numbers of f16: rounded toward zero they are its largest number."""
    layout = blocked((256,), 4, 0, 2)
    body = (
        f"%e = arith.bitcast %x : {tile('i8', layout)} to {tile('fnv8E5M3FNU', layout)}\n"
        f"{ftof(mode, 'fnv8E5M3FNU', 'f16', layout, '%y %e')}"
    )
    found = convert(body, "i8", layout, np.arange(256).astype(np.uint8), np.float16, "f16", target)
    exact = np.array([float(value) for value in VALUES["fnv8E5M3FNU"]])
    beyond = exact >= 65536
    assert np.array_equal(found[:-1][~beyond], exact[~beyond].astype(np.float16)) and np.isnan(found[-1])
    assert beyond.sum() == 7 and (found[:-1][beyond] == (np.inf if infinite else 65504.0)).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", ["f4E2M1FN", "fnv8E5M3FNU"])
@pytest.mark.parametrize("source", ["i1", "i8", "i32", "i64"])
def test_conversion_of_integers_rounds_once(source, result, target):
    layout = blocked((256,), 4, 0, 2)
    limits = np.array([0, 1, -1, 5, -5, 7, 100, 127, -128] + [2**31 - 1, -(2**31)] * (source != "i8"))
    dtype = {"i1": np.uint8, "i8": np.int8, "i32": np.int32, "i64": np.int64}[source]
    ramp = np.arange(256) % 2 if source == "i1" else np.resize(np.concatenate([limits, np.arange(-60, 60)]), 256)
    x = ramp.astype(dtype)
    body = f"%e = arith.sitofp %x : {tile(source, layout)} to {tile(result, layout)}"
    found = convert(f"{body}\n{codes(result, layout)}", source, layout, x, np.uint8, "i8", target)
    values = -x.astype(np.int64) if source == "i1" else x.astype(np.int64)
    assert found.tolist() == [expected_code(result, "rn", float(value)) for value in values]


@pytest.mark.parametrize(("target", "by_instruction"), [("sm_100a", True), ("sm_90a", False)])
def test_elements_of_a_byte_are_converted_at_once(target, by_instruction):
    """4 bytes per thread become f32 and bytes again: nothing separates the halves, and cvt of sm_100a joins them."""
    stored = blocked((512,), 4, 0, 4)
    layout = divided(stored, 0, 2)
    pack = f'"tile_gpu.pack"(%n) {{dimension = 0 : i32}} : ({tile("f4E2M1FN", layout)}) -> {tile("i8", stored)}'
    unpack = f'"tile_gpu.unpack"(%x) {{dimension = 0 : i32}} : ({tile("i8", stored)}) -> {tile("f4E2M1FN", layout)}'
    lines = [
        load_tile("%x", tile("i8", stored), "%a", stored.shape),
        f"%e = {unpack}",
        ftof("rn", "f4E2M1FN", "f32", layout, "%w %e"),
        ftof("rn", "f32", "f4E2M1FN", layout, "%n %w"),
        f"%y = {pack}",
        store_tile("%y", tile("i8", stored), "%out", stored.shape),
    ]
    text = kernel("%a: i64, %out: i64", "\n".join(lines), target=target)
    ptx = ptx_of(text)
    assert ptx.count("mul.rn.f16x2") == (0 if by_instruction else 4)
    for instruction in ("cvt.rn.f16x2.e2m1x2", "cvt.rn.satfinite.e2m1x2.f32"):
        assert ptx.count(instruction) == (4 if by_instruction else 0)
    assert ("shr.u16" in ptx, "shl.b16" in ptx) == (False, not by_instruction)
    x, y = np.arange(512).astype(np.uint8), np.zeros(512, np.uint8)
    run(text, [x, y])
    assert np.array_equal(y, x)
