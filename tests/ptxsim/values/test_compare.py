"""setp, set, selp and slct, with ordered and unordered comparisons."""

from __future__ import annotations

import math

import pytest

CASES = [
    ("setp.eq.s32 d, a, b", 1, ("s32", 3), ("s32", 3)),
    ("setp.ne.b16 d, a, b", 0, ("b16", 3), ("b16", 3)),
    ("setp.lt.s32 d, a, b", 1, ("s32", -1), ("s32", 1)),
    ("setp.lt.u32 d, a, b", 0, ("u32", -1), ("u32", 1)),
    ("setp.hs.u64 d, a, b", 1, ("u64", 5), ("u64", 5)),
    ("setp.ge.f32 d, a, b", 0, ("f32", 1.0), ("f32", math.nan)),
    ("setp.geu.f32 d, a, b", 1, ("f32", 1.0), ("f32", math.nan)),
    ("setp.neu.f32 d, a, b", 1, ("f32", math.nan), ("f32", math.nan)),
    ("setp.ne.f32 d, a, b", 0, ("f32", math.nan), ("f32", math.nan)),
    ("setp.num.f64 d, a, b", 1, ("f64", 1.0), ("f64", 2.0)),
    ("setp.nan.f64 d, a, b", 1, ("f64", 1.0), ("f64", math.nan)),
    ("setp.eq.ftz.f32 d, a, b", 1, ("f32", 2.0**-149), ("f32", 0.0)),
    ("setp.gt.f16 d, a, b", 1, ("f16", 2.0), ("f16", 1.5)),
    ("setp.lt.bf16 d, a, b", 1, ("b16", 0x3F80), ("b16", 0x4000)),
    ("setp.lt.and.s32 d, a, b, c", 0, ("s32", 1), ("s32", 2), ("pred", 0)),
    ("setp.lt.or.s32 d, a, b, !c", 1, ("s32", 3), ("s32", 2), ("pred", 0)),
    ("setp.lt.xor.s32 d, a, b, c", 1, ("s32", 3), ("s32", 2), ("pred", 1)),
]


@pytest.mark.parametrize(("instruction", "expected", "sources"), [(c[0], c[1], c[2:]) for c in CASES])
def test_setp(evaluate, instruction, expected, sources):
    assert evaluate(instruction, "pred", *sources) == expected


def test_setp_with_two_destinations(over_lanes):
    """The first predicate is the comparison, the second its negation."""
    got = over_lanes("setp.lt.u32 %p1|%p2, %r0, 3; selp.u32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 10;")
    assert list(got[:5]) == [1, 1, 1, 10, 10]


def test_setp_of_packed_halves(over_lanes):
    """Lower half 1.0 < 2.0, upper half 2.0 < 1.0."""
    got = over_lanes("""
    mov.b32 %r2, 0x40003C00; mov.b32 %r3, 0x3C004000;
    setp.lt.f16x2 %p1|%p2, %r2, %r3; selp.u32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 2;""")
    assert (got == 1).all()


def test_set_returns_all_ones_or_one(evaluate):
    assert evaluate("set.lt.u32.s32 d, a, b", "u32", ("s32", 1), ("s32", 2)) == 2**32 - 1
    assert evaluate("set.lt.f32.s32 d, a, b", "f32", ("s32", 1), ("s32", 2)) == 1.0
    assert evaluate("set.gt.u32.f32 d, a, b", "u32", ("f32", 1), ("f32", 2)) == 0


def test_selp_and_slct(evaluate):
    assert evaluate("selp.b64 d, a, b, c", "b64", ("b64", 2**40), ("b64", 2), ("pred", 1)) == 2**40
    assert evaluate("selp.s16 d, a, b, !c", "s16", ("s16", 1), ("s16", 2), ("pred", 1)) == 2
    assert evaluate("slct.u32.s32 d, a, b, c", "u32", ("u32", 1), ("u32", 2), ("s32", -1)) == 2
    assert evaluate("slct.ftz.u32.f32 d, a, b, c", "u32", ("u32", 1), ("u32", 2), ("f32", 0.0)) == 1
