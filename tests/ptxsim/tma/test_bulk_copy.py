"""cp.async.bulk copies contiguous bytes between global memory, shared memory and the CTAs of a cluster."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

SETUP = """
.shared .align 128 .b8 line[512];
.shared .align 8 .b64 full;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, line;
mov.u32 %r2, full;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
shl.b32 %r3, %r0, 2;
add.u32 %r4, %r1, %r3;
ld.param.u64 %rd0, [p0];
ld.param.u64 %rd1, [p1];
cvt.u64.u32 %rd2, %r3;
add.u64 %rd3, %rd1, %rd2;
"""

WAIT = """
poll:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r2], 0;
@!%p1 bra poll;
"""


def test_global_to_shared(simulate, aligned):
    source, got = aligned(np.arange(128, dtype=np.uint32)), np.zeros(128, np.uint32)
    body = f"""{SETUP}
    bar.sync 0;
    @%p0 cp.async.bulk.prefetch.L2.global [%rd0], 512;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
    @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 512, [%r2];
    {WAIT}
    ld.shared.b32 %r5, [%r4];
    st.global.b32 [%rd3], %r5;
    """
    for seed in range(3):
        got[:] = 0
        simulate(body, source, got, block=128, seed=seed)
        np.testing.assert_array_equal(got, source)
    with pytest.raises(ptxsim.Trap, match="size of a multiple of 16 bytes, got 500") as trap:
        simulate(body.replace("512, [%r2];", "500, [%r2];"), source, got, block=128)
    assert trap.value.kind == "misaligned"
    with pytest.raises(ptxsim.Trap) as trap:
        simulate(body.replace("512, [%r2];", "1024, [%r2];"), source, got, block=128)
    assert trap.value.kind == "bounds"


@pytest.mark.parametrize(
    ("operation", "before", "value", "after"),
    [
        ("add.u32", 5, 7, 12),
        ("min.s32", 3, 0xFFFFFFFF, 0xFFFFFFFF),
        ("max.u32", 3, 0xFFFFFFFF, 0xFFFFFFFF),
        ("inc.u32", 9, 9, 0),
        ("dec.u32", 0, 9, 9),
        ("and.b32", 12, 10, 8),
        ("or.b32", 12, 10, 14),
        ("xor.b32", 12, 10, 6),
        ("add.f32", 0x3F800000, 0x40000000, 0x40400000),
        # Subnormal operands, here 2**-149, and results become zeros of their sign.
        ("add.f32", 0x00800000, 0x00000001, 0x00800000),
        ("add.f32", 0x00800000, 0x80C00000, 0x80000000),
        ("add.noftz.f16", 0x3C003C00, 0x40003C00, 0x42004000),
        ("add.noftz.bf16", 0x3F803F80, 0x40003F80, 0x40404000),
    ],
)
def test_reductions_to_global_memory(simulate, aligned, operation, before, value, after):
    values, sums = aligned(np.full(128, value, np.uint32)), aligned(np.full(128, before, np.uint32))
    body = f"""{SETUP}
    add.u64 %rd4, %rd0, %rd2;
    ld.global.b32 %r5, [%rd4];
    st.shared.b32 [%r4], %r5;
    fence.proxy.async;
    bar.sync 0;
    @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%rd1], [%r1], 512;
    @%p0 cp.async.bulk.commit_group;
    @%p0 cp.async.bulk.wait_group 0;
    """
    simulate(body, values, sums, block=128)
    np.testing.assert_array_equal(sums, np.full(128, after, np.uint32))


PAIR = """
mov.u32 %r10, %cluster_ctarank;
setp.eq.u32 %p2, %r10, 0;
and.pred %p3, %p0, %p2;
not.pred %p4, %p2;
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
"""


def test_shared_memory_to_another_cta(simulate, aligned):
    source, got = aligned(np.arange(128, dtype=np.uint32)), np.zeros(128, np.uint32)
    body = f"""{SETUP}
    add.u64 %rd4, %rd0, %rd2;
    mov.u32 %r11, %cluster_ctarank;
    setp.eq.u32 %p5, %r11, 0;
    ld.global.b32 %r5, [%rd4];
    @%p5 st.shared.b32 [%r4], %r5;
    fence.proxy.async;
    {PAIR}
    and.pred %p6, %p0, %p4;
    @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
    mapa.shared::cluster.u32 %r12, %r1, 1;
    mapa.shared::cluster.u32 %r13, %r2, 1;
    @%p3 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [%r1], 512, [%r13];
    @%p2 bra done;
    {WAIT}
    ld.shared.b32 %r5, [%r4];
    st.global.b32 [%rd3], %r5;
    done:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    """
    for seed in range(3):
        got[:] = 0
        simulate(body, source, got, block=128, cluster=2, seed=seed)
        np.testing.assert_array_equal(got, source)


MULTICAST = f"""{SETUP}
{PAIR}
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
mov.b16 %h0, 3;
@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd0], 512, \
[%r2], %h0;
{WAIT}
ld.shared.b32 %r5, [%r4];
mul.wide.u32 %rd5, %r10, 512;
add.u64 %rd3, %rd3, %rd5;
st.global.b32 [%rd3], %r5;
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
"""


def test_multicast_writes_every_cta_and_completes_its_mbarrier(simulate, aligned):
    source, got = aligned(np.arange(128, dtype=np.uint32)), np.zeros((2, 128), np.uint32)
    for seed in range(3):
        got[:] = 0
        simulate(MULTICAST, source, got, block=128, cluster=2, seed=seed)
        np.testing.assert_array_equal(got, np.stack([source, source]))


@pytest.mark.parametrize("mask", [0, 5])
def test_multicast_to_ctas_outside_the_cluster(simulate, aligned, mask):
    source, got = aligned(np.arange(128, dtype=np.uint32)), np.zeros((2, 128), np.uint32)
    body = MULTICAST.replace("mov.b16 %h0, 3;", f"mov.b16 %h0, {mask};")
    message = f"expected a multicast mask of CTAs of the cluster, got {mask}"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        simulate(body, source, got, block=128, cluster=2)
    assert trap.value.kind == "illegal"
