"""Integer instructions: values worked out by hand, at the limits of the types."""

from __future__ import annotations

import pytest

CASES = [
    ("add.s32 d, a, b", "s32", -1, ("s32", 2), ("s32", -3)),
    ("add.u16 d, a, b", "u16", 1, ("u16", 0xFFFF), ("u16", 2)),
    ("add.s64 d, a, b", "s64", -(2**63), ("s64", 2**63 - 1), ("s64", 1)),
    ("add.sat.s32 d, a, b", "s32", 2**31 - 1, ("s32", 2**31 - 1), ("s32", 5)),
    ("add.u16x2 d, a, b", "b32", 0x0001_0003, ("b32", 0xFFFF_0001), ("b32", 0x0002_0002)),
    ("sub.u32 d, a, b", "u32", 0xFFFF_FFFF, ("u32", 1), ("u32", 2)),
    ("sub.sat.s32 d, a, b", "s32", -(2**31), ("s32", -(2**31)), ("s32", 1)),
    ("mul.lo.s32 d, a, b", "s32", -6, ("s32", 2), ("s32", -3)),
    ("mul.lo.u16 d, a, b", "u16", 1, ("u16", 0xFFFF), ("u16", 0xFFFF)),
    ("mul.hi.s32 d, a, b", "s32", -1, ("s32", 2), ("s32", -3)),
    ("mul.hi.u64 d, a, b", "u64", 2**64 - 2, ("u64", 2**64 - 1), ("u64", 2**64 - 1)),
    ("mul.wide.s32 d, a, b", "s64", 2**62, ("s32", -(2**31)), ("s32", -(2**31))),
    ("mul.wide.u16 d, a, b", "u32", 0xFFFE_0001, ("u16", 0xFFFF), ("u16", 0xFFFF)),
    ("mul24.lo.u32 d, a, b", "u32", 6, ("u32", 0xFF00_0002), ("u32", 3)),
    ("mul24.hi.s32 d, a, b", "s32", 1, ("s32", 0x100), ("s32", 0x100)),
    ("mad.lo.u32 d, a, b, c", "u32", 17, ("u32", 3), ("u32", 4), ("u32", 5)),
    ("mad.hi.u32 d, a, b, c", "u32", 6, ("u32", 2**31), ("u32", 2), ("u32", 5)),
    ("mad.hi.sat.s32 d, a, b, c", "s32", 2**31 - 1, ("s32", 2**30), ("s32", 2**30), ("s32", 2**31 - 1)),
    ("mad.wide.s32 d, a, b, c", "s64", -5, ("s32", 2), ("s32", -3), ("s64", 1)),
    ("mad24.lo.u32 d, a, b, c", "u32", 7, ("u32", 2), ("u32", 3), ("u32", 1)),
    ("sad.s32 d, a, b, c", "u32", 12, ("s32", -3), ("s32", 4), ("u32", 5)),
    ("div.s32 d, a, b", "s32", -2, ("s32", -7), ("s32", 3)),
    ("div.u32 d, a, b", "u32", 0xFFFF_FFFF, ("u32", 7), ("u32", 0)),
    ("div.s32 d, a, b", "s32", -(2**31), ("s32", -(2**31)), ("s32", -1)),
    ("rem.s32 d, a, b", "s32", -1, ("s32", -7), ("s32", 3)),
    ("rem.u64 d, a, b", "u64", 7, ("u64", 7), ("u64", 0)),
    ("abs.s32 d, a", "s32", 5, ("s32", -5)),
    ("neg.s16 d, a", "s16", -7, ("s16", 7)),
    ("min.s32 d, a, b", "s32", -1, ("s32", -1), ("s32", 1)),
    ("min.u32 d, a, b", "u32", 1, ("u32", 2**32 - 1), ("u32", 1)),
    ("min.s16x2 d, a, b", "b32", 0xFFFF_0001, ("b32", 0xFFFF_0001), ("b32", 0x0001_0002)),
    ("max.u64 d, a, b", "u64", 2**64 - 1, ("u64", 2**64 - 1), ("u64", 1)),
    ("max.u16x2 d, a, b", "b32", 0xFFFF_0002, ("b32", 0xFFFF_0001), ("b32", 0x0001_0002)),
    ("dp4a.s32.u32 d, a, b, c", "s32", 10 - 255 + 2, ("b32", 0x00_00_FF_02), ("b32", 0x00_00_FF_05), ("s32", 2)),
    ("dp2a.lo.u32.u32 d, a, b, c", "u32", 2 * 5 + 3 * 7 + 1, ("b32", 0x0003_0002), ("b32", 0x0705), ("u32", 1)),
    ("dp2a.hi.u32.u32 d, a, b, c", "u32", 2 * 5 + 3 * 7, ("b32", 0x0003_0002), ("b32", 0x0705_0000), ("u32", 0)),
    ("and.b32 d, a, b", "b32", 0x8, ("b32", 0xC), ("b32", 0xA)),
    ("or.b64 d, a, b", "b64", 0xE, ("b64", 0xC), ("b64", 0xA)),
    ("xor.b16 d, a, b", "b16", 0x6, ("b16", 0xC), ("b16", 0xA)),
    ("not.b16 d, a", "b16", 0xFF0F, ("b16", 0xF0)),
    ("cnot.b32 d, a", "b32", 1, ("b32", 0)),
    ("and.pred d, a, b", "pred", 0, ("pred", 1), ("pred", 0)),
    ("xor.pred d, a, b", "pred", 1, ("pred", 1), ("pred", 0)),
    ("not.pred d, a", "pred", 1, ("pred", 0)),
    ("shl.b32 d, a, b", "b32", 0, ("b32", 1), ("u32", 32)),
    ("shl.b64 d, a, b", "b64", 2**40, ("b64", 1), ("u32", 40)),
    ("shr.u32 d, a, b", "u32", 1, ("u32", 2**31), ("u32", 31)),
    ("shr.s32 d, a, b", "s32", -1, ("s32", -8), ("u32", 40)),
    ("shf.l.wrap.b32 d, a, b, c", "b32", 0x2222_2221, ("b32", 0x1111_1111), ("b32", 0x2222_2222), ("u32", 36)),
    ("shf.r.clamp.b32 d, a, b, c", "b32", 0x2222_2222, ("b32", 0x1111_1111), ("b32", 0x2222_2222), ("u32", 40)),
    ("lop3.b32 d, a, b, c, 0xE8", "b32", 0b1110_1000, ("b32", 0xF0), ("b32", 0xCC), ("b32", 0xAA)),
    ("popc.b32 d, a", "u32", 3, ("b32", 0x8000_0101)),
    ("popc.b64 d, a", "u32", 64, ("b64", 2**64 - 1)),
    ("clz.b32 d, a", "u32", 32, ("b32", 0)),
    ("clz.b64 d, a", "u32", 1, ("b64", 2**62)),
    ("bfind.u32 d, a", "u32", 4, ("u32", 0x1F)),
    ("bfind.s32 d, a", "u32", 0xFFFF_FFFF, ("s32", -1)),
    ("bfind.shiftamt.s32 d, a", "u32", 29, ("s32", -8)),
    ("brev.b32 d, a", "b32", 0x8000_0000, ("b32", 1)),
    ("bfe.u32 d, a, b, c", "u32", 0xBC, ("u32", 0xABCD), ("u32", 4), ("u32", 8)),
    ("bfe.s32 d, a, b, c", "s32", -4, ("s32", 0xC0), ("u32", 4), ("u32", 4)),
    ("bfe.s32 d, a, b, c", "s32", -1, ("s32", -1), ("u32", 28), ("u32", 8)),
    ("bfi.b32 d, a, b, c, e", "b32", 0xFF5F, ("b32", 5), ("b32", 0xFFFF), ("u32", 4), ("u32", 4)),
    ("bmsk.clamp.b32 d, a, b", "b32", 0b111000, ("u32", 3), ("u32", 3)),
    ("bmsk.wrap.b32 d, a, b", "b32", 0b1, ("u32", 32), ("u32", 33)),
    ("szext.clamp.s32 d, a, b", "s32", -1, ("s32", 0xF), ("u32", 4)),
    ("szext.wrap.u32 d, a, b", "u32", 0xF, ("u32", 0xFF), ("u32", 36)),
]


@pytest.mark.parametrize(("instruction", "kind", "expected", "sources"), [(c[0], c[1], c[2], c[3:]) for c in CASES])
def test_value(evaluate, instruction, kind, expected, sources):
    assert int(evaluate(instruction, kind, *sources)) == expected


def test_carry_propagates(over_lanes):
    """0x1_FFFFFFFF + 0x0_00000001 by 32-bit halves: the carry is added to the upper half."""
    low_and_high = over_lanes("""
    mov.u32 %r2, 0xFFFFFFFF; mov.u32 %r3, 1;
    add.cc.u32 %r4, %r2, 1;
    addc.u32 %r1, %r3, 0;""")
    assert (low_and_high == 2).all()


def test_borrow_propagates(over_lanes):
    """0x2_00000000 - 1 by 32-bit halves."""
    assert (over_lanes("mov.u32 %r2, 0; sub.cc.u32 %r4, %r2, 1; mov.u32 %r3, 2; subc.u32 %r1, %r3, 0;") == 1).all()


def test_carry_of_a_product(over_lanes):
    """(2^32 - 1) * 2 + 2 = 2 * 2^32: the low half is 0 with a carry, the high half is 1 plus the carry."""
    assert (
        over_lanes("""
    mov.u32 %r2, 0xFFFFFFFF;
    mad.lo.cc.u32 %r3, %r2, 2, 2;
    madc.hi.u32 %r1, %r2, 2, 0;""")
        == 2
    ).all()
