"""cvt between integers, floats and packed 8-bit and smaller floats; ml_dtypes is the reference for narrow formats."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

CASES = [
    ("cvt.u64.u32 d, a", "u64", 0xFFFF_FFFF, ("u32", -1)),
    ("cvt.s64.s32 d, a", "s64", -1, ("s32", -1)),
    ("cvt.s32.s8 d, a", "s32", -1, ("b32", 0x1FF)),
    ("cvt.u32.u8 d, a", "u32", 0xFF, ("b16", 0x1FF)),
    ("cvt.u16.u32 d, a", "u16", 0x5678, ("u32", 0x1234_5678)),
    ("cvt.u8.u32 d, a", "b16", 0x78, ("u32", 0x1234_5678)),
    ("cvt.s8.s32 d, a", "b32", 0xFFFF_FF80, ("s32", 0x80)),
    ("cvt.sat.u8.s32 d, a", "b32", 0, ("s32", -5)),
    ("cvt.sat.s16.s32 d, a", "b16", 0x7FFF, ("s32", 70000)),
    ("cvt.rzi.s32.f32 d, a", "s32", -2, ("f32", -2.9)),
    ("cvt.rni.s32.f32 d, a", "s32", 2, ("f32", 2.5)),
    ("cvt.rmi.s32.f32 d, a", "s32", -3, ("f32", -2.1)),
    ("cvt.rpi.u32.f64 d, a", "u32", 3, ("f64", 2.1)),
    ("cvt.rzi.u32.f32 d, a", "u32", 0, ("f32", -1.5)),
    ("cvt.rzi.s32.f32 d, a", "s32", 2**31 - 1, ("f32", 1e20)),
    ("cvt.rzi.s32.f32 d, a", "s32", 0, ("f32", math.nan)),
    ("cvt.rzi.s64.f64 d, a", "s64", -(2**40), ("f64", -(2.0**40))),
    ("cvt.rzi.u16.f16 d, a", "u16", 7, ("f16", 7.5)),
]
FLOATS = [
    ("cvt.rn.f32.s32 d, a", "f32", -16777216.0, ("s32", -16777217)),
    ("cvt.rz.f32.u64 d, a", "f32", float(2**64 - 2**40), ("u64", 2**64 - 1)),
    ("cvt.rp.f32.s64 d, a", "f32", 16777218.0, ("s64", 16777217)),
    ("cvt.rn.f64.s32 d, a", "f64", -7.0, ("s32", -7)),
    ("cvt.rn.f16.u16 d, a", "f16", 7.0, ("u16", 7)),
    ("cvt.rn.f32.u8 d, a", "f32", 255.0, ("b32", 0x1FF)),
    ("cvt.f64.f32 d, a", "f64", 1.5, ("f32", 1.5)),
    ("cvt.rn.f32.f64 d, a", "f32", 1.0, ("f64", 1 + 2.0**-24)),
    ("cvt.rp.f32.f64 d, a", "f32", 1 + 2.0**-23, ("f64", 1 + 2.0**-40)),
    ("cvt.rm.f32.f64 d, a", "f32", 1.0, ("f64", 1 + 2.0**-23 - 2.0**-40)),
    ("cvt.f32.f16 d, a", "f32", 1.5, ("f16", 1.5)),
    ("cvt.rz.f16.f32 d, a", "f16", 1.0, ("f32", 1.0009)),
    ("cvt.rn.f16.f32 d, a", "f16", math.inf, ("f32", 65520.0)),
    ("cvt.rz.f16.f32 d, a", "f16", 65504.0, ("f32", 1e6)),
    ("cvt.rn.satfinite.f16.f32 d, a", "f16", 65504.0, ("f32", 1e6)),
    ("cvt.rn.relu.f16.f32 d, a", "f16", 0.0, ("f32", -1.0)),
    ("cvt.sat.f32.f32 d, a", "f32", 1.0, ("f32", 3.0)),
    ("cvt.ftz.f32.f32 d, a", "f32", 0.0, ("f32", 2.0**-140)),
    ("cvt.rni.f32.f32 d, a", "f32", 4.0, ("f32", 3.5)),
    ("cvt.rmi.f32.f32 d, a", "f32", -4.0, ("f32", -3.5)),
    ("cvt.rzi.f64.f64 d, a", "f64", 3.0, ("f64", 3.9)),
    ("cvt.rna.tf32.f32 d, a", "f32", 1 + 2.0**-10, ("f32", 1 + 2.0**-11)),
    ("cvt.rn.tf32.f32 d, a", "f32", 1.0, ("f32", 1 + 2.0**-11)),
]


@pytest.mark.parametrize(("instruction", "kind", "expected", "sources"), [(c[0], c[1], c[2], c[3:]) for c in CASES])
def test_to_integer(evaluate, instruction, kind, expected, sources):
    assert int(evaluate(instruction, kind, *sources)) == expected


@pytest.mark.parametrize(("instruction", "kind", "expected", "sources"), [(c[0], c[1], c[2], c[3:]) for c in FLOATS])
def test_to_float(evaluate, instruction, kind, expected, sources):
    assert float(evaluate(instruction, kind, *sources)) == expected


def _values() -> np.ndarray:
    random = np.random.default_rng(0)
    values = random.standard_normal(4096) * 2.0 ** random.integers(-30, 20, 4096)
    return np.concatenate([values, [0.0, -0.0, 448.0, 464.0, 465.0, 57344.0, 61440.0, 2.0**-9]]).astype(np.float32)


def _pairs(simulate, instruction: str, values: np.ndarray) -> np.ndarray:
    """The 32-bit results of `instruction` on consecutive pairs of values, which are in %f1 and %f2."""
    out = np.zeros(values.size // 2, np.uint32)
    simulate(
        f"""
        mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r0, %r1, 4, %r0;
        ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
        mul.wide.u32 %rd3, %r0, 4; add.u64 %rd1, %rd1, %rd3; mul.wide.u32 %rd3, %r0, 8; add.u64 %rd2, %rd2, %rd3;
        ld.global.v2.f32 {{%f1, %f2}}, [%rd2];
        mov.u32 %r2, 0;
        {instruction}
        st.global.u32 [%rd1], %r2;""",
        out,
        values,
        block=4,
        grid=values.size // 8,
    )
    return out


NARROW = [
    ("f16x2", ".rn", np.float16, "", False),
    ("bf16x2", ".rn", ml_dtypes.bfloat16, "", False),
    ("e4m3x2", ".rn.satfinite", ml_dtypes.float8_e4m3fn, "cvt.u32.u16 %r2, %h1;", True),
    ("e5m2x2", ".rn.satfinite", ml_dtypes.float8_e5m2, "cvt.u32.u16 %r2, %h1;", True),
    ("e2m3x2", ".rn.satfinite", ml_dtypes.float6_e2m3fn, "cvt.u32.u16 %r2, %h1;", True),
    ("e3m2x2", ".rn.satfinite", ml_dtypes.float6_e3m2fn, "cvt.u32.u16 %r2, %h1;", True),
]


@pytest.mark.parametrize(("name", "modifiers", "dtype", "widen", "saturates"), NARROW, ids=lambda value: str(value)[:8])
def test_pairs_of_narrow_floats(simulate, name, modifiers, dtype, widen, saturates):
    values = _values()
    register, width = ("%h1", 8) if widen else ("%r2", 16)
    got = _pairs(simulate, f"cvt{modifiers}.{name}.f32 {register}, %f2, %f1; {widen}", values)
    parts = np.stack([got & (1 << width) - 1, got >> width], 1).reshape(-1)
    if saturates:
        limit = float(ml_dtypes.finfo(dtype).max)
        values = np.clip(values, -limit, limit)
    with np.errstate(over="ignore"):
        expected = values.astype(dtype)
    assert (parts == expected.view(np.uint16 if width == 16 else np.uint8)).all()


def test_e2m1_pairs_are_packed_in_a_byte(simulate):
    """6 and -0.5 have encodings 7 and 9; the first operand is in the upper half."""
    values = np.array([-0.5, 6.0] * 4, np.float32)
    got = _pairs(simulate, ".reg .b8 byte; cvt.rn.satfinite.e2m1x2.f32 byte, %f2, %f1; cvt.u32.u8 %r2, byte;", values)
    assert (got == 0x79).all()


def test_ue8m0_pairs_round_up_to_powers_of_two(simulate):
    values = np.array([1.0, 3.0] * 4, np.float32)
    got = _pairs(simulate, "cvt.rp.satfinite.ue8m0x2.f32 %h1, %f2, %f1; cvt.u32.u16 %r2, %h1;", values)
    assert (got == (129 << 8 | 127)).all()


def test_e4m3_pairs_convert_to_f16(evaluate):
    codes = np.array([1.5, -448.0]).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    packed = int(codes[0]) | int(codes[1]) << 8
    expected = np.array([1.5, -448.0], np.float16).view(np.uint32)[0]
    assert evaluate("cvt.rn.f16x2.e4m3x2 d, a", "b32", ("b16", packed)) == expected


def test_pack_saturates(evaluate):
    assert evaluate("cvt.pack.sat.s16.s32 d, a, b", "b32", ("s32", 70000), ("s32", -70000)) == 0x7FFF_8000
    assert (
        evaluate("cvt.pack.sat.u8.s32.b32 d, a, b, c", "b32", ("s32", 300), ("s32", -1), ("b32", 0xABCD)) == 0xABCD_FF00
    )
