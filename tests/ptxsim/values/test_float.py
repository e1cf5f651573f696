"""Floating-point instructions: rounding modes, flush to zero, NaN, signed zeros, packed and 16-bit formats."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

TINY = 2.0**-149  # the smallest subnormal f32
NAN = 0x7FFFFFFF
EXACT = [
    ("add.f32 d, a, b", "f32", 3.5, ("f32", 1.25), ("f32", 2.25)),
    ("add.rz.f32 d, a, b", "f32", 1.0, ("f32", 1.0), ("f32", 2.0**-24 * 1.5)),
    ("add.rp.f32 d, a, b", "f32", 1 + 2.0**-23, ("f32", 1.0), ("f32", 2.0**-60)),
    ("add.rm.f32 d, a, b", "f32", -1 - 2.0**-23, ("f32", -1.0), ("f32", -(2.0**-60))),
    ("add.rn.f32 d, a, b", "f32", 1.0, ("f32", 1.0), ("f32", 2.0**-24)),
    ("add.ftz.f32 d, a, b", "f32", 0.0, ("f32", TINY), ("f32", TINY)),
    ("add.sat.f32 d, a, b", "f32", 1.0, ("f32", 1.0), ("f32", 1.0)),
    ("add.rp.f64 d, a, b", "f64", 1 + 2.0**-52, ("f64", 1.0), ("f64", 2.0**-80)),
    ("add.f16 d, a, b", "f16", 2048.0, ("f16", 2048.0), ("f16", 1.0)),
    ("add.rn.f32.f16 d, a, b", "f32", 2.0 + 2.0**-20, ("f16", 2.0), ("f32", 2.0**-20)),
    ("add.rz.sat.f32.f16 d, a, b", "f32", 1.0, ("f16", 2.0), ("f32", 2.0**-20)),
    ("sub.f32.bf16 d, a, b", "f32", -2.0, ("b16", 0x3F80), ("f32", 3.0)),
    ("fma.rn.f32.f16 d, a, b, c", "f32", 6.0 + 2.0**-20, ("f16", 2.0), ("f16", 3.0), ("f32", 2.0**-20)),
    ("sub.f32 d, a, b", "f32", -1.0, ("f32", 1.25), ("f32", 2.25)),
    ("mul.f32 d, a, b", "f32", -2.5, ("f32", 1.25), ("f32", -2.0)),
    ("mul.rz.f32 d, a, b", "f32", 1 + 2.0**-22, ("f32", 1 + 2.0**-23), ("f32", 1 + 2.0**-23)),
    ("mul.ftz.f32 d, a, b", "f32", 0.0, ("f32", 2.0**-100), ("f32", 2.0**-40)),
    ("fma.rn.f32 d, a, b, c", "f32", 2.0**-46, ("f32", 1 + 2.0**-23), ("f32", 1 + 2.0**-23), ("f32", -1 - 2.0**-22)),
    ("fma.rn.f64 d, a, b, c", "f64", 7.0, ("f64", 2.0), ("f64", 3.0), ("f64", 1.0)),
    ("mad.rn.f32 d, a, b, c", "f32", 7.0, ("f32", 2.0), ("f32", 3.0), ("f32", 1.0)),
    ("fma.rn.relu.f16 d, a, b, c", "f16", 0.0, ("f16", 2.0), ("f16", -3.0), ("f16", 1.0)),
    ("div.rn.f32 d, a, b", "f32", float(np.float32(1 / 3)), ("f32", 1.0), ("f32", 3.0)),
    ("div.rz.f32 d, a, b", "f32", float(np.nextafter(np.float32(1 / 3), np.float32(0))), ("f32", 1.0), ("f32", 3.0)),
    ("div.full.f32 d, a, b", "f32", 0.25, ("f32", 1.0), ("f32", 4.0)),
    ("div.approx.ftz.f32 d, a, b", "f32", 0.5, ("f32", 1.0), ("f32", 2.0)),
    ("div.rn.f64 d, a, b", "f64", 1 / 3, ("f64", 1.0), ("f64", 3.0)),
    ("sqrt.rn.f32 d, a", "f32", 1.5, ("f32", 2.25)),
    ("sqrt.rn.f64 d, a", "f64", math.sqrt(2.0), ("f64", 2.0)),
    ("sqrt.approx.f32 d, a", "f32", 1.5, ("f32", 2.25)),
    ("rcp.rn.f32 d, a", "f32", 0.25, ("f32", 4.0)),
    ("rcp.approx.ftz.f32 d, a", "f32", 0.25, ("f32", 4.0)),
    ("rsqrt.approx.f32 d, a", "f32", 0.5, ("f32", 4.0)),
    ("ex2.approx.ftz.f32 d, a", "f32", 0.125, ("f32", -3.0)),
    ("lg2.approx.f32 d, a", "f32", -3.0, ("f32", 0.125)),
    ("sin.approx.f32 d, a", "f32", float(np.float32(math.sin(0.5))), ("f32", 0.5)),
    ("cos.approx.f32 d, a", "f32", float(np.float32(math.cos(0.5))), ("f32", 0.5)),
    ("tanh.approx.f32 d, a", "f32", float(np.float32(math.tanh(0.5))), ("f32", 0.5)),
    ("ex2.approx.f16 d, a", "f16", 8.0, ("f16", 3.0)),
    ("abs.f32 d, a", "f32", 2.0, ("f32", -2.0)),
    ("neg.f32 d, a", "f32", -2.0, ("f32", 2.0)),
    ("abs.f64 d, a", "f64", 2.0, ("f64", -2.0)),
    ("neg.f16 d, a", "f16", -2.0, ("f16", 2.0)),
    ("min.f32 d, a, b", "f32", 1.0, ("f32", 1.0), ("f32", math.nan)),
    ("max.f32 d, a, b", "f32", 1.0, ("f32", math.nan), ("f32", 1.0)),
    ("max.f64 d, a, b", "f64", 2.0, ("f64", 1.0), ("f64", 2.0)),
    ("max.f32 d, a, b, c", "f32", 3.0, ("f32", 1.0), ("f32", 3.0), ("f32", 2.0)),
    ("min.xorsign.abs.f32 d, a, b", "f32", -1.0, ("f32", -3.0), ("f32", 1.0)),
    ("copysign.f32 d, a, b", "f32", -3.0, ("f32", -1.0), ("f32", 3.0)),
]


@pytest.mark.parametrize(("instruction", "kind", "expected", "sources"), [(c[0], c[1], c[2], c[3:]) for c in EXACT])
def test_value(evaluate, instruction, kind, expected, sources):
    assert float(evaluate(instruction, kind, *sources)) == expected


BITS = [
    ("add.f32 d, a, b", "b32", NAN, ("f32", math.inf), ("f32", -math.inf)),
    ("min.NaN.f32 d, a, b", "b32", NAN, ("f32", 1.0), ("f32", math.nan)),
    ("min.f32 d, a, b", "b32", 0x8000_0000, ("f32", 0.0), ("f32", -0.0)),
    ("max.f32 d, a, b", "b32", 0, ("f32", 0.0), ("f32", -0.0)),
    ("add.f16x2 d, a, b", "b32", 0x4000_4200, ("b32", 0x3C00_3C00), ("b32", 0x3C00_4000)),
    ("mul.bf16x2 d, a, b", "b32", 0x4040_4080, ("b32", 0x3F80_4000), ("b32", 0x4040_4000)),
    ("fma.rn.f16x2 d, a, b, c", "b32", 0x4200_4500, ("b32", 0x3C00_4000), ("b32", 0x4000_4000), ("b32", 0x3C00_3C00)),
    ("max.bf16x2 d, a, b", "b32", 0x4040_4000, ("b32", 0x3F80_4000), ("b32", 0x4040_3F80)),
    ("neg.bf16x2 d, a", "b32", 0xBF80_4000, ("b32", 0x3F80_C000)),
    ("abs.f16x2 d, a", "b32", 0x3C00_4000, ("b32", 0xBC00_C000)),
    ("add.rn.f32x2 d, a, b", "b64", 0x40400000_40000000, ("b64", 0x3F800000_3F800000), ("b64", 0x40000000_3F800000)),
    (
        "mul.rz.ftz.f32x2 d, a, b",
        "b64",
        0x40000000_3F800000,
        ("b64", 0x3F800000_3F800000),
        ("b64", 0x40000000_3F800000),
    ),
    (
        "fma.rn.f32x2 d, a, b, c",
        "b64",
        0x40400000_40000000,
        ("b64", 0x40000000_3F800000),
        ("b64", 0x3F800000_3F800000),
        ("b64", 0x3F800000_3F800000),
    ),
]


@pytest.mark.parametrize(("instruction", "kind", "expected", "sources"), [(c[0], c[1], c[2], c[3:]) for c in BITS])
def test_bits(evaluate, instruction, kind, expected, sources):
    assert int(evaluate(instruction, kind, *sources)) == expected


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_fma_of_16_bit_formats_rounds_once(simulate, name, dtype):
    """Results equal exact rational arithmetic, also for operands where rounding twice would differ."""
    random = np.random.default_rng(1)
    a, b, c = (random.standard_normal(32 * 64).astype(dtype) for _ in range(3))
    c *= (2.0 ** random.integers(-12, 12, c.size)).astype(dtype)
    out = np.zeros(a.size, np.uint16)
    simulate(
        f"""
        mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r0, %r1, 32, %r0; mul.wide.u32 %rd5, %r0, 2;
        ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3];
        add.u64 %rd1, %rd1, %rd5; add.u64 %rd2, %rd2, %rd5; add.u64 %rd3, %rd3, %rd5; add.u64 %rd4, %rd4, %rd5;
        ld.global.b16 %h1, [%rd2]; ld.global.b16 %h2, [%rd3]; ld.global.b16 %h3, [%rd4];
        fma.rn.{name} %h4, %h1, %h2, %h3;
        st.global.b16 [%rd1], %h4;""",
        out,
        a.view(np.uint16),
        b.view(np.uint16),
        c.view(np.uint16),
        grid=64,
    )
    got = out.view(dtype)
    for x, y, z, r in zip(a, b, c, got, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        neighbours = [np.array(int(r.view(np.uint16)) + step, np.uint16).view(dtype) for step in (-1, 0, 1)]
        errors = [abs(Fraction(float(n)) - exact) for n in neighbours if np.isfinite(float(n))]
        assert abs(Fraction(float(r)) - exact) == min(errors)


def test_testp(evaluate):
    assert evaluate("testp.infinite.f32 d, a", "pred", ("f32", math.inf)) == 1
    assert evaluate("testp.subnormal.f32 d, a", "pred", ("f32", TINY)) == 1
    assert evaluate("testp.notanumber.f64 d, a", "pred", ("f64", 1.0)) == 0
