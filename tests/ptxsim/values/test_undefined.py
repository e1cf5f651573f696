"""Undefined register values propagate through arithmetic, and are reported where they affect memory or control flow."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

OUT = "ld.param.u64 %rd1, [p0]; mov.u32 %r9, 7;\n"
UNUSED = [
    "add.u32 %r1, %r50, 1; mul.lo.u32 %r2, %r1, %r9;",
    "mul.hi.u32 %r1, %r50, %r9; selp.b32 %r2, %r1, %r9, %p1;",
    "cvt.rn.f32.u32 %f1, %r50; fma.rn.f32 %f2, %f1, %f1, %f1; setp.gt.f32 %p2, %f2, %f1; and.pred %p3, %p2, %p2;",
    "mov.b64 %rd2, {%r50, %r9}; cvta.to.global.u64 %rd3, %rd2; prmt.b32 %r1, %r50, %r9, 0x3210;",
]
USED = {
    "store": ("add.u32 %r1, %r50, 1; st.global.u32 [%rd1], %r1;", "'%r1'"),
    "address": (
        "cvt.u64.u32 %rd2, %r50; add.u64 %rd2, %rd2, %rd1; ld.global.u32 %r1, [%rd2];",
        "the address register of 'ld.global.u32'",
    ),
    "guard": ("setp.eq.u32 %p2, %r50, 0; @%p2 mov.u32 %r1, 1;", "the guard of 'mov.u32'"),
    "branch": ("setp.eq.u32 %p2, %r50, 0; @%p2 bra e; e:", "the guard of 'bra'"),
    "barrier": ("add.u32 %r1, %r50, 0; bar.sync %r1;", "%r1"),
    "atomic": ("add.u32 %r1, %r50, 0; red.global.add.u32 [%rd1], %r1;", "%r1"),
    "vote": ("setp.eq.u32 %p2, %r50, 0; vote.sync.any.pred %p3, %p2, 0xffffffff;", "%p2"),
    "selected value": ("setp.eq.u32 %p2, %r9, 7; selp.b32 %r1, %r50, %r9, %p2; st.global.u32 [%rd1], %r1;", "%r1"),
    "selection predicate": ("setp.eq.u32 %p2, %r50, 7; selp.b32 %r1, %r9, %r9, %p2; st.global.u32 [%rd1], %r1;", "%r1"),
    "combined predicate": (
        "setp.eq.u32 %p2, %r50, 0; mov.b32 %r2, 0; setp.eq.and.f16x2 %p3|%p4, %r2, %r2, %p2; @%p3 mov.u32 %r1, 1;",
        "the guard of 'mov.u32'",
    ),
    "multicast mask": (
        ".shared .align 128 .b8 line[256]; .shared .align 8 .b64 full; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;"
        "mov.u32 %r2, line; mov.u32 %r3, full; @%p1 mbarrier.init.shared.b64 [%r3], 1;"
        "@%p1 fence.mbarrier_init.release.cluster;"
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%r2], [%rd1], 256, [%r3], %h9;",
        "'%h9'",
    ),
    "mma": (
        "mov.b32 %r1, 0; add.u32 %r2, %r50, 1; mov.f32 %f1, 0f00000000;"
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r2}, {%r1},"
        "{%f1, %f1, %f1, %f1};",
        "%r2",
    ),
}


# %r2 is undefined in all lanes; the value that the simulator finds there is a valid address.
ADDRESSES = """
.shared .align 128 .b8 line[256];
.shared .align 8 .b64 full;
mov.u32 %r1, line;
mov.u32 %r3, full;
mov.u32 %r4, %tid.x;
setp.eq.u32 %p1, %r4, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 1;
@%p1 fence.mbarrier_init.release.cluster;
bar.sync 0;
st.shared.u32 [%r1], 0;
add.u32 %r2, %r50, {};
cvt.u64.u32 %rd2, %r50;
add.u64 %rd2, %rd2, %rd1;
"""
ADDRESSED = [
    ("line", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r2];"),
    ("line", "mov.b32 %r5, 0; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r5};"),
    (
        "line",
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r3];",
    ),
    (
        "line",
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 256, [%r3];",
    ),
    (
        "full",
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 256, [%r2];",
    ),
    ("line", "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;"),
    ("line", "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;"),
    ("line", "@%p1 cp.async.bulk.prefetch.L2.global [%rd2], 16;"),
    ("full", "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];"),
    ("0", "@%p1 tcgen05.cp.cta_group::1.128x128b [%r2], %rd1;"),
    ("0", "@%p1 cp.async.bulk.prefetch.tensor.2d.L2.global [%rd2, {%r4, %r4}];"),
    ("0", "@%p1 prefetch.tensormap [%rd2];"),
    ("0", "@%p1 tensormap.replace.tile.rank.global.b1024.b32 [%rd2], 1;"),
]


@pytest.mark.parametrize(("base", "instruction"), ADDRESSED)
def test_an_address_must_be_defined(simulate, base, instruction):
    words = instruction.split(";")[-2].split()
    mnemonic = words[1] if words[0].startswith("@") else words[0]
    with pytest.raises(_native.Trap, match=f"the address register of '{mnemonic}' is read but has no") as caught:
        simulate(OUT + ADDRESSES.format(base) + instruction, np.zeros(64, np.uint32))
    assert caught.value.kind == "uninitialised"


def test_only_the_lanes_that_address_rows_need_an_address(simulate):
    """ldmatrix.x1 reads the addresses of lanes 0 to 7."""
    simulate(
        """.shared .align 128 .b8 line[256];
        mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8; mov.u32 %r2, line; shl.b32 %r3, %r1, 3; add.u32 %r2, %r2, %r3;
        st.shared.u64 [%r2], 0; bar.sync 0; mov.u32 %r4, line; @%p1 mov.u32 %r5, %r4;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];"""
    )


@pytest.mark.parametrize("body", UNUSED)
def test_unused_undefined_value_is_not_reported(simulate, body):
    simulate(OUT + "setp.ne.u32 %p1, %r9, 7;" + body, np.zeros(4, np.uint32))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("use", USED)
def test_use_of_an_undefined_value_is_reported(simulate, use, seed):
    body, name = USED[use]
    with pytest.raises(_native.Trap) as caught:
        simulate(OUT + body, np.zeros(64, np.uint32), seed=seed)
    assert caught.value.kind == "uninitialised"
    assert name in caught.value.message


def test_undefined_register_may_be_overwritten(simulate):
    out = np.zeros(1, np.uint32)
    simulate(OUT + "add.u32 %r1, %r50, 1; mov.u32 %r1, 3; st.global.u32 [%rd1], %r1;", out, block=1)
    assert out[0] == 3


def test_definedness_is_tracked_by_lane(over_lanes):
    """Lanes below 8 define %r2; the other lanes add it, but do not use the sum."""
    got = over_lanes(
        """setp.lt.u32 %p1, %r0, 8; @%p1 mov.u32 %r2, 40; add.u32 %r3, %r2, 2; mov.u32 %r1, 0;
        @%p1 mov.u32 %r1, %r3;"""
    )
    assert got.tolist() == [42] * 8 + [0] * 24


def test_shuffle_propagates_definedness(over_lanes):
    """Only lane 0 is defined: its value may be used, the value of lane 1 may not."""
    body = "setp.eq.u32 %p1, %r0, 0; @%p1 mov.u32 %r2, 5; shfl.sync.idx.b32 %r1, %r2, {}, 31, 0xffffffff;"
    assert (over_lanes(body.format(0)) == 5).all()
    with pytest.raises(_native.Trap, match="'%r1' is read but has no defined value"):
        over_lanes(body.format(1))


# Half of the register is undefined, as in the cvt of a single value to fp8 that Triton emits.
BYTES = [
    ("mov.f32 %f1, 0f3F800000; cvt.rn.satfinite.e4m3x2.f32 %h1, %f50, %f1;", 0x38),
    ("mov.f32 %f1, 0f3F800000; cvt.rn.satfinite.e4m3x2.f32 %h2, %f50, %f1; mov.b16 %h1, %h2;", 0x38),
    ("mov.u16 %h2, 0x1234; mov.b32 %r1, {%h2, %h9}; cvt.u16.u32 %h1, %r1;", 0x34),
    ("mov.u16 %h2, 0x1234; mov.b32 %r1, {%h9, %h2}; shr.u32 %r1, %r1, 16; cvt.u16.u32 %h1, %r1;", 0x34),
    ("mov.u16 %h2, 0x1234; mov.b32 %r1, {%h9, %h2}; prmt.b32 %r1, %r1, 0, 0x4442; cvt.u16.u32 %h1, %r1;", 0x34),
    ("mov.u16 %h2, 0x1234; mov.b32 %r1, {%h2, %h9}; shl.b32 %r1, %r1, 16; mov.b32 {%h3, %h1}, %r1;", 0x34),
    ("and.b16 %h1, %h9, 0xff00; or.b16 %h1, %h1, 0;", 0x00),
]


@pytest.mark.parametrize(("body", "value"), BYTES)
def test_defined_bytes_may_be_stored(simulate, body, value):
    out = np.full(4, 0xEE, np.uint8)
    simulate(OUT + body + "st.global.b8 [%rd1], %h1;", out, block=1)
    assert out[0] == value


@pytest.mark.parametrize(("body", "value"), BYTES[:2])
def test_undefined_bytes_may_not_be_stored(simulate, body, value):
    with pytest.raises(_native.Trap, match="only some of its bytes are defined"):
        simulate(OUT + body + "st.global.b16 [%rd1], %h1;", np.zeros(4, np.uint8), block=1)
