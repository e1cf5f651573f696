"""The mbarrier of a load with .cta_group::2 is in the CTA of the destination or in the other one of its pair."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

# CTA {issuer} loads 16 bytes to CTA {destination}, and names the mbarrier of CTA {named}.
LOAD = """
.shared .align 128 .b8 buffer[16];
.shared .align 8 .b64 full;
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
mov.u32 %r0, %tid.x;
mov.u32 %r1, buffer;
mov.u32 %r2, full;
mov.u32 %r3, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
mapa.shared::cluster.u32 %r5, %r1, {destination};
mapa.shared::cluster.u32 %r6, %r2, {named};
mov.b16 %h1, {mask};
setp.eq.and.u32 %p1, %r3, {issuer}, %p0;
@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{multicast}.cta_group::2 \
    [%r5], [%rd20, {{0}}], [%r6]{mask_operand};
setp.eq.and.u32 %p2, %r3, {signalled}, %p0;
@!%p2 bra done;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {expected};
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
@!%p3 bra poll;
done:
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
"""


@pytest.fixture
def run(simulate, encode_tensor_map, aligned):
    """Runs the load in a cluster; `signalled` waits for the bytes."""

    def load(cluster, issuer, destination, named, signalled, mask=0):
        tensor = aligned(np.zeros(16, np.uint8))
        encoded = encode_tensor_map(tensor.ctypes.data, "u8", (16,), (), (16,))
        body = LOAD.format(
            issuer=issuer, destination=destination, named=named, signalled=signalled, mask=mask,
            multicast=".multicast::cluster" if mask else "", mask_operand=", %h1" if mask else "", expected=16,
        )  # fmt: skip
        return simulate(body, encoded, cluster=cluster, map_targets=[tensor])

    return load


@pytest.mark.parametrize(
    ("cluster", "destination", "named"), [(2, 0, 0), (2, 0, 1), (2, 1, 0), (4, 3, 2), (4, 2, 3), (3, 2, 2), (1, 0, 0)]
)
def test_mbarrier_in_the_pair(run, cluster, destination, named):
    """PTX ISA 9.7.9.27.1.2: the load signals the mbarrier that it names."""
    assert run(cluster, 0, destination, named, signalled=named)["bulk_load_bytes"] == 16


@pytest.mark.parametrize(("cluster", "destination", "named"), [(4, 0, 3), (4, 3, 0), (3, 2, 1), (3, 0, 2)])
def test_mbarrier_outside_the_pair(run, cluster, destination, named):
    message = f"of its pair, rank {destination}, got rank {named}"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        run(cluster, 0, destination, named, signalled=named)
    assert trap.value.kind == "illegal"


@pytest.mark.parametrize(("named", "signalled"), [(0, 2), (1, 3), (2, 2), (3, 3)])
def test_multicast_signals_the_parity(run, named, signalled):
    """PTX ISA 9.7.9.27.1.2: the parity of the named mbarrier's CTA selects the CTA of each pair."""
    assert run(4, 0, 0, named, signalled, mask=0b0100)["bulk_load_bytes"] == 16


def test_multicast_to_a_cta_without_pair(run):
    with pytest.raises(ptxsim.Trap, match="expected a cluster with the other CTA of the pair for cta_group::2") as trap:
        run(3, 0, 0, 1, 2, mask=0b0100)
    assert trap.value.kind == "illegal"
