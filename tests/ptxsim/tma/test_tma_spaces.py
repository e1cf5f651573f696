"""Operands of bulk copies in .shared::cta are in the shared memory of the issuing CTA (PTX ISA 9.7.9.25)."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

# CTA 0 copies between global memory, its own buffer [%r1] and that of CTA 1, [%r5]. CTA 1 waits if %r7 is 1.
CLUSTER = """
.shared .align 128 .b8 buffer[16];
.shared .align 8 .b64 full;
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
ld.param.u64 %rd0, [p1];
mov.u32 %r0, %tid.x;
mov.u32 %r1, buffer;
mov.u32 %r2, full;
mov.u32 %r3, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
setp.lt.u32 %p4, %r0, 4;
shl.b32 %r4, %r0, 2;
add.u32 %r4, %r1, %r4;
@%p4 st.shared.b32 [%r4], %r0;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
fence.proxy.async.shared::cta;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
mapa.shared::cluster.u32 %r5, %r1, 1;
mapa.shared::cluster.u32 %r6, %r2, 1;
setp.eq.and.u32 %p1, %r3, 0, %p0;
@%p1 {copy};
"""
WAIT = """
setp.eq.and.u32 %p2, %r3, 1, %p0;
@!%p2 bra done;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
@!%p3 bra poll;
done:
"""
FINISH = """
@%p1 cp.async.bulk.commit_group;
@%p1 cp.async.bulk.wait_group 0;
"""
END = """
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
"""
COMPLETES = "mbarrier::complete_tx::bytes"
# The copy with a space or buffer to fill in, the one that is in .shared::cluster or of CTA 0, the other one, the rest.
COPIES = {
    "tensor load": (
        f"cp.async.bulk.tensor.1d.{{}}.global.tile.{COMPLETES} [%r5], [%rd20, {{{{0}}}}], [%r6]",
        "shared::cluster", "shared::cta", WAIT,
    ),
    "load": (f"cp.async.bulk.{{}}.global.{COMPLETES} [%r5], [%rd0], 16, [%r6]", "shared::cluster", "shared::cta", WAIT),
    "tensor store": (
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd20, {{0}}], [{}]", "%r1", "%r5", FINISH,
    ),
    "store": ("cp.async.bulk.global.shared::cta.bulk_group [%rd0], [{}], 16", "%r1", "%r5", FINISH),
    "copy between CTAs": (
        f"cp.async.bulk.shared::cluster.shared::cta.{COMPLETES} [%r5], [{{}}], 16, [%r6]", "%r1", "%r5", WAIT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_address_of_another_cta(simulate, encode_tensor_map, aligned, name):
    copy, legal, illegal, rest = COPIES[name]
    tensor = aligned(np.zeros(4, np.uint32))
    encoded = encode_tensor_map(tensor.ctypes.data, "u32", (4,), (), (4,))

    def run(operand: str) -> None:
        simulate(CLUSTER.format(copy=copy.format(operand)) + rest + END, encoded, tensor, cluster=2)

    run(legal)
    message = "expected an address in .shared::cta, the shared memory of CTA rank 0, got that of rank 1"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        run(illegal)
    assert trap.value.kind == "illegal"
