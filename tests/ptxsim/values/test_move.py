"""mov with packing, special registers, prmt, cvta, isspacep, mapa and getctarank."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native


@pytest.mark.parametrize(
    ("mode", "control", "expected"),
    [
        ("", 0x7531, 0x88664422),
        ("", 0x000F, 0x111111FF),
        (".f4e", 1, 0x55443322),
        (".b4e", 1, 0x77881122),
        (".rc8", 2, 0x33333333),
        (".ecl", 2, 0x44333333),
        (".ecr", 2, 0x33332211),
        (".rc16", 1, 0x44334433),
    ],
)
def test_prmt(evaluate, mode, control, expected):
    """Bytes 0 to 7 of {b, a} are 11 22 33 44 55 66 77 88; selector 15 replicates the sign of byte 7."""
    got = evaluate(f"prmt.b32{mode} d, a, b, c", "b32", ("b32", 0x44332211), ("b32", 0x88776655), ("b32", control))
    assert hex(got) == hex(expected)


def test_packing_and_unpacking(over_lanes):
    """The first element is the least significant."""
    got = over_lanes("""
    mov.b16 %h1, 0x1111; mov.b16 %h2, 0x2222; mov.b32 %r2, {%h1, %h2};
    mov.b64 %rd1, {%r2, 7}; mov.b64 {%r3, %r4}, %rd1; mov.b32 {%h3, _}, %r3;
    cvt.u32.u16 %r5, %h3; add.u32 %r1, %r5, %r4;""")
    assert (got == 0x1111 + 7).all()


def test_128_bit_registers_are_packed_from_two_64_bit_registers(over_lanes):
    got = over_lanes("""
    .reg .b128 wide;
    mov.b64 %rd1, 5; mov.b64 %rd2, 9; mov.b128 wide, {%rd1, %rd2}; mov.b128 {%rd3, %rd4}, wide;
    sub.u64 %rd4, %rd4, %rd3; cvt.u32.u64 %r1, %rd4;""")
    assert (got == 4).all()


def test_predicate_copy(over_lanes):
    got = over_lanes("setp.lt.u32 %p1, %r0, 4; mov.pred %p2, %p1; selp.u32 %r1, 1, 0, %p2;")
    assert got.sum() == 4


@pytest.mark.parametrize(
    ("register", "expected"),
    [
        ("%tid.x", [i % 4 for i in range(24)]),
        ("%tid.y", [i // 4 % 3 for i in range(24)]),
        ("%tid.z", [i // 12 for i in range(24)]),
        ("%ntid.y", [3] * 24),
        ("%laneid", list(range(24))),
        ("%warpid", [0] * 24),
        ("%lanemask_lt", [(1 << i) - 1 for i in range(24)]),
        ("%lanemask_le", [(2 << i) - 1 for i in range(24)]),
        ("%lanemask_eq", [1 << i for i in range(24)]),
        ("%lanemask_ge", [2**32 - (1 << i) for i in range(24)]),
        ("%lanemask_gt", [2**32 - (2 << i) for i in range(24)]),
        ("%cluster_nctarank", [1] * 24),
        ("%nctaid.x", [1] * 24),
    ],
)
def test_special_registers(program, register, expected):
    out = np.zeros(24, np.uint32)
    program(
        f"""
    mov.u32 %r1, {register};
    mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z; mad.lo.u32 %r3, %r4, 3, %r3;
    mad.lo.u32 %r2, %r3, 4, %r2;
    ld.param.u64 %rd1, [p0]; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;""",
        (4, 3, 2),
        out,
    )
    assert list(out) == expected


def test_clocks_are_monotonic(over_lanes):
    got = over_lanes(
        "mov.u64 %rd1, %clock64; mov.u32 %r2, %clock; mov.u64 %rd2, %globaltimer; "
        "setp.ge.u64 %p1, %rd2, %rd1; selp.u32 %r1, 1, 0, %p1;"
    )
    assert got.all()


def test_generic_addresses(over_lanes):
    """cvta and cvta.to are inverse for a shared address, and the identity for a global address."""
    got = over_lanes("""
    .shared .align 8 .b8 buffer[64];
    mov.u64 %rd1, buffer; cvta.shared.u64 %rd2, %rd1; cvta.to.shared.u64 %rd3, %rd2; setp.eq.u64 %p1, %rd1, %rd3;
    isspacep.shared::cta %p2, %rd2; ld.param.u64 %rd4, [p0]; isspacep.global %p3, %rd4; isspacep.shared::cta %p4, %rd4;
    cvta.to.global.u64 %rd5, %rd4; setp.eq.u64 %p5, %rd4, %rd5;
    selp.u32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 2; @%p3 add.u32 %r1, %r1, 4; @!%p4 add.u32 %r1, %r1, 8;
    @%p5 add.u32 %r1, %r1, 16;""")
    assert (got == 31).all()


def test_mapa_to_a_rank_outside_the_cluster(simulate):
    with pytest.raises(_native.Trap, match="mapa to rank 2 in a cluster of 2") as caught:
        simulate("mov.u32 %r1, 64; mapa.shared::cluster.u32 %r2, %r1, 2;", cluster=2)
    assert caught.value.kind == "illegal"


def test_getctarank_is_the_inverse_of_mapa(over_lanes):
    """Each CTA maps an address to the other CTA."""
    got = over_lanes(
        """
    .shared .align 8 .b8 buffer[64];
    mov.u32 %r2, buffer; mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1;
    mapa.shared::cluster.u32 %r4, %r2, %r3; getctarank.shared::cluster.u32 %r1, %r4;""",
        cluster=2,
    )
    assert list(got) == [1] * 32 + [0] * 32
