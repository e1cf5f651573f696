"""st.async and red.async write to another CTA and complete on its mbarrier; st.bulk stores zeros."""

from __future__ import annotations

import pytest

from tilec.runtime.ptxsim import _native

EXCHANGE = """
.shared .align 16 .b8 buffer[512]; .shared .align 8 .b64 bar;
setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 fence.mbarrier_init.release.cluster;
{prepare}
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};
mov.u32 %r2, buffer; mov.u32 %r3, bar; mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1;
mapa.shared::cluster.u32 %r6, %r2, %r5; mapa.shared::cluster.u32 %r7, %r3, %r5;
mad.lo.u32 %r8, %r4, 100, %r0;
{store}
{wait}
{read}
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""
WAIT = "w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra w;"
READ = "mad.lo.u32 %r9, %r0, {}, %r2; ld.shared.u32 %r1, [%r9];"
STORE = "mad.lo.u32 %r6, %r0, 4, %r6; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r8, [%r7];"


def _exchange(over_lanes, store=STORE, wait=WAIT, width=4, prepare="", read=None, seed=0):
    body = EXCHANGE.format(prepare=prepare, bytes=32 * width, store=store, wait=wait, read=read or READ.format(width))
    return list(over_lanes(body, cluster=2, seed=seed))


@pytest.mark.parametrize("seed", range(5))
def test_each_cta_receives_the_stores_of_the_other(over_lanes, seed):
    assert _exchange(over_lanes, seed=seed) == [100 + i for i in range(32)] + list(range(32))


@pytest.mark.parametrize("seed", range(5))
def test_vectors(over_lanes, seed):
    store = """mad.lo.u32 %r6, %r0, 8, %r6;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r6], {%r8, %r0}, [%r7];"""
    assert _exchange(over_lanes, store=store, width=8, seed=seed) == [100 + i for i in range(32)] + list(range(32))


@pytest.mark.parametrize("seed", range(5))
def test_reduction_of_all_lanes(over_lanes, seed):
    """32 lanes add 0 to 31, and those of rank 1 add 100 more each, at one address."""
    store = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6], %r8, [%r7];"
    got = _exchange(over_lanes, store=store, prepare="@%p1 st.shared.u32 [buffer], 0;", read=READ.format(0), seed=seed)
    assert got == [496 + 3200] * 32 + [496] * 32


@pytest.mark.parametrize("seed", range(5))
def test_reading_without_the_wait_is_a_race(over_lanes, seed):
    with pytest.raises(_native.Trap) as caught:
        _exchange(over_lanes, wait="", seed=seed)
    assert caught.value.kind in ("race", "uninitialised")


def test_mbarrier_of_another_cta_than_the_destination(over_lanes):
    with pytest.raises(_native.Trap, match="the mbarrier of '.*' is in another CTA than its destination") as caught:
        _exchange(over_lanes, store=STORE.replace("[%r7]", "[%r3]"))
    assert caught.value.kind == "mbarrier"


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("st.bulk.weak.shared::cta [buffer], 60, 0;", "st.bulk takes a multiple of 8 bytes, found 60"),
        ("cvta.local.u64 %rd1, 0; st.bulk.weak [%rd1], 64, 0;", "st.bulk writes shared memory only"),
    ],
)
def test_misuse_of_the_bulk_store(simulate, store, message):
    with pytest.raises(_native.Trap, match=message) as caught:
        simulate(f".shared .align 16 .b8 buffer[64]; .local .b8 own[64]; {store}", block=1)
    assert caught.value.kind == "illegal"


def test_bulk_store_of_zeros(over_lanes):
    got = over_lanes("""
    .shared .align 16 .b8 buffer[64]; setp.eq.u32 %p1, %r0, 0; mov.u64 %rd1, 64;
    @%p1 st.bulk.weak.shared::cta [buffer], %rd1, 0; bar.warp.sync -1; ld.shared.u32 %r1, [buffer+60];""")
    assert not got.any()
