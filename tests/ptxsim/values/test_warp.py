"""Warp instructions: shfl, vote, match, redux, elect, activemask, and divergence errors."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

LANES = np.arange(32)


@pytest.mark.parametrize(
    ("shuffle", "expected"),
    [
        ("shfl.sync.up.b32 %r1, %r0, 3, 0, -1;", np.where(LANES >= 3, LANES - 3, LANES)),
        ("shfl.sync.down.b32 %r1, %r0, 5, 31, -1;", np.where(LANES < 27, LANES + 5, LANES)),
        ("shfl.sync.bfly.b32 %r1, %r0, 6, 31, -1;", LANES ^ 6),
        ("shfl.sync.idx.b32 %r1, %r0, 7, 31, -1;", np.full(32, 7)),
        # Segments of 8 lanes: 0x1807 has segment mask 24 in its upper byte, and clamp 7.
        ("shfl.sync.down.b32 %r1, %r0, 2, 0x1807, -1;", np.where(LANES % 8 < 6, LANES + 2, LANES)),
        ("shfl.sync.idx.b32 %r1, %r0, 3, 0x1807, -1;", LANES // 8 * 8 + 3),
    ],
)
def test_shfl(over_lanes, shuffle, expected):
    assert (over_lanes(shuffle) == expected).all()


def test_shfl_predicate_is_whether_the_source_is_in_range(over_lanes):
    got = over_lanes("shfl.sync.down.b32 %r2|%p1, %r0, 1, 31, -1; selp.u32 %r1, 1, 0, %p1;")
    assert list(got) == [1] * 31 + [0]


def test_votes(over_lanes):
    got = over_lanes("""
    setp.lt.u32 %p1, %r0, 4; vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, -1;
    @%p2 add.u32 %r1, %r1, 0x100; @%p3 add.u32 %r1, %r1, 0x200; @%p4 add.u32 %r1, %r1, 0x400;""")
    assert (got == 0x10F).all()


def test_vote_of_members_of_the_mask(over_lanes):
    """Each half of the warp votes with its own mask."""
    got = over_lanes("""
    setp.lt.u32 %p1, %r0, 16; @!%p1 bra upper;
    vote.sync.ballot.b32 %r1, %p1, 0xFFFF; bra done; upper: vote.sync.ballot.b32 %r1, %p1, 0xFFFF0000; done:""")
    assert list(got) == [0xFFFF] * 16 + [0] * 16


def test_match(over_lanes):
    got = over_lanes("and.b32 %r2, %r0, 1; match.any.sync.b32 %r1, %r2, -1;")
    assert list(got[:2]) == [0x55555555, 0xAAAAAAAA]
    got = over_lanes("match.all.sync.b32 %r1|%p1, 5, -1; @!%p1 mov.u32 %r1, 0;")
    assert (got == 2**32 - 1).all()


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("add.u32", 496), ("min.s32", 0), ("max.u32", 31), ("and.b32", 0), ("or.b32", 31), ("xor.b32", 0)],
)
def test_redux(over_lanes, operation, expected):
    assert (over_lanes(f"redux.sync.{operation} %r1, %r0, -1;") == expected).all()


def test_redux_of_floats(over_lanes):
    """Of 0 to -31, -31 has the largest magnitude, and 0 is the largest number."""
    got = over_lanes("""
    cvt.rn.f32.u32 %f1, %r0; neg.f32 %f1, %f1; redux.sync.max.abs.f32 %f2, %f1, -1; cvt.rzi.u32.f32 %r1, %f2;""")
    assert (got == 31).all()


@pytest.mark.parametrize(("operation", "expected"), [("max", 0), ("min", 0x80000000)])
@pytest.mark.parametrize("first", [0, 31])
def test_redux_of_zeros(over_lanes, operation, expected, first):
    """PTX ISA 9.7.13.8: +0 is greater than -0; one lane has -0 in the first case and +0 in the second."""
    other = 0x80000000 ^ expected
    got = over_lanes(f"""
    setp.eq.u32 %p1, %r0, {first}; selp.b32 %r2, {expected}, {other}, %p1; mov.b32 %f1, %r2;
    redux.sync.{operation}.f32 %f2, %f1, -1; mov.b32 %r1, %f2;""")
    assert (got == expected).all()


def test_elect_selects_one_member(over_lanes):
    got = over_lanes("""
    mov.u32 %r1, 0; setp.ge.u32 %p2, %r0, 4; @!%p2 bra done;
    elect.sync %r2|%p1, 0xFFFFFFF0; mov.u32 %r1, %r2; @%p1 add.u32 %r1, %r1, 100;
    done: bar.warp.sync -1;""")
    assert list(got) == [0] * 4 + [104] + [4] * 27


def test_elect_chooses_the_same_member_every_time(over_lanes):
    """PTX ISA: the same leader thread is elected for the same membermask every time."""
    got = over_lanes("""
    mov.u32 %r1, 0; mov.u32 %r3, 0;
    again: elect.sync _|%p1, 0xFFFFFFFF; @%p1 add.u32 %r1, %r1, 1;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 5; @%p2 bra again;""")
    assert sorted(got) == [0] * 31 + [5]


def test_activemask_of_a_divergent_branch(over_lanes):
    got = over_lanes("mov.u32 %r1, 0; setp.lt.u32 %p1, %r0, 4; @!%p1 bra done; activemask.b32 %r1; done:")
    assert list(got[:5]) == [15, 15, 15, 15, 0]


TRAPS = [
    ("illegal", "shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xFFFE;", "which is not in its member mask"),
    ("divergence", "setp.lt.u32 %p1, %r0, 16; @%p1 bra a; bar.sync 0; bra b; a: bar.sync 1; b:", "all of them wait"),
    ("divergence", "setp.lt.u32 %p1, %r0, 16; @%p1 bar.sync 0;", "its guard is not uniform"),
    (
        "divergence",
        (
            "setp.lt.u32 %p1, %r0, 16; @%p1 bra a; "
            "shfl.sync.idx.b32 %r1, %r0, 20, 31, 0xFFFF0000; bra b; "
            "a: shfl.sync.idx.b32 %r1, %r0, 20, 31, 0xFFFF; b:"
        ),
        "which does not execute the instruction",
    ),
]


@pytest.mark.parametrize(("kind", "body", "message"), TRAPS)
def test_trap(simulate, kind, body, message):
    with pytest.raises(_native.Trap) as caught:
        simulate("mov.u32 %r0, %tid.x;" + body)
    assert caught.value.kind == kind
    assert message in caught.value.message
