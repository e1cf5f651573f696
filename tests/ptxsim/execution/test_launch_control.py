"""clusterlaunchcontrol: running blocks take over blocks that have not started, each of which is computed once."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(6)
# Thread 0 requests a block while all threads compute the one before: they add 1 to the element of their block.
# %r1..%r3 are the index of the block, %r4 the parity; {wait}, {fence} and {again} are the parts that tests replace.
LOOP = """
.shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar; .reg .b128 %q;
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, 0;
mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y; mov.u32 %r12, %cluster_ctarank; mov.u32 %r13, %cluster_nctarank;
ld.param.u64 %rd1, [p0]; setp.eq.u32 %p1, %r0, 0; setp.eq.and.u32 %p2, %r12, 0, %p1;
@%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
next:
@%p1 mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [bar], 16;
@{issuer} clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{multicast}.b128
    [answer], [bar];
mad.lo.u32 %r5, %r3, %r11, %r2; mad.lo.u32 %r5, %r5, %r10, %r1; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd1, %rd2;
@%p1 red.relaxed.gpu.global.add.u32 [%rd2], 1;
{wait}
ld.shared.b128 %q, [answer]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q;
{again}
@!%p3 bra done;
{index}
{fence}
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
xor.b32 %r4, %r4, 1; bra next;
done: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""
PARTS = {
    "issuer": "%p1",
    "multicast": "",
    "wait": "w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [bar], %r4; @!%p4 bra w;",
    "fence": "fence.proxy.async.shared::cta;",
    "again": "",
    "index": "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q;",
}
# The response has the first CTA of the cluster; the others add their rank.
OF_CLUSTER = {
    "issuer": "%p2",
    "multicast": ".multicast::cluster::all",
    "index": """clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %q; add.u32 %r1, %r1, %r12;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r2, %q;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r3, %q;""",
}


@pytest.fixture
def count_runs(compose):
    """The number of times that each block of a grid is computed, and the counters of the launch."""

    def run(grid, cluster=1, seed=0, block=64, **parts):
        text = LOOP
        for name, part in {**PARTS, **(OF_CLUSTER if cluster > 1 else {}), **parts}.items():
            text = text.replace("{" + name + "}", part)
        runs = np.zeros(grid[::-1], np.uint32)
        counters = _native.Program(compose(text, [runs], "sm_100a")).run(
            "kernel",
            grid,
            (block,),
            (cluster,),
            parameters=np.uint64(runs.ctypes.data).tobytes(),
            ranges=[(runs.ctypes.data, runs.nbytes, True)],
            seed=seed,
        )
        return runs, counters

    return run


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grid", [(1,), (2,), (3,), (100,), (7, 3), (3, 2, 5), (1, 1, 4)])
def test_every_block_runs_once(count_runs, grid, seed):
    assert (count_runs(grid, seed=seed)[0] == 1).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("grid", "cluster"), [((2,), 2), ((4,), 2), ((64,), 2), ((12, 3), 4), ((16, 2, 2), 8)])
def test_clusters_take_over_clusters(count_runs, grid, cluster, seed):
    assert (count_runs(grid, cluster, seed)[0] == 1).all()


def test_blocks_are_taken_over(count_runs):
    """Two blocks start; without others on the device, they take over the other 98."""
    assert count_runs((100,))[1]["clusters_canceled"] == 98


def test_requests_fail_although_blocks_are_left(count_runs):
    """A device lets a block end where a grid of a higher priority waits; the blocks that are left start later."""
    canceled = [count_runs((100,), seed=seed)[1]["clusters_canceled"] for seed in range(1, 5)]
    assert all(0 < count < 98 for count in canceled), canceled


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("parts", "kinds", "message"),
    [
        ({"wait": ""}, ("race", "uninitialised"), None),
        ({"fence": ""}, ("race",), "fence.proxy.async"),
        ({"again": "@%p3 bra on; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; fence.proxy.async; "
          "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar]; "
          "on:"}, ("illegal",), "after it has observed that a request failed"),
        ({"again": "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %q;"},
         ("illegal",), "the request failed, so its response has no index"),
    ],
)  # fmt: skip
def test_fault_is_reported(count_runs, parts, kinds, message, seed):
    """A missing wait, a missing fence before the next request, a request after a failure, and its index."""
    with pytest.raises(_native.Trap, match=message) as caught:
        count_runs((40,), seed=seed, **parts)
    assert caught.value.kind in kinds


def test_other_cta_that_does_not_expect_the_response(count_runs):
    with pytest.raises(_native.Trap) as caught:
        count_runs((8,), 2, issuer="%p2", multicast="")
    assert caught.value.kind == "deadlock"


def test_response_for_another_cta_is_refused(count_runs):
    """An address of another CTA is one of .shared::cluster, also without a state space."""
    mapped = """mov.u32 %r20, answer; mapa.shared::cluster.u32 %r20, %r20, 1; cvt.u64.u32 %rd3, %r20;
    cvta.shared::cluster.u64 %rd3, %rd3; cvta.shared.u64 %rd4, bar;
    @%p2 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd3], [%rd4];"""
    with pytest.raises(_native.Trap, match="expected the response and the mbarrier in .shared::cta") as caught:
        count_runs((8,), 2, again=mapped)
    assert caught.value.kind == "illegal"


@pytest.mark.parametrize("seed", SEEDS)
def test_multicast_to_a_cta_that_has_exited(simulate, seed):
    """A barrier of the cluster does not wait for the threads of rank 1, which have exited."""
    with pytest.raises(_native.Trap, match="the response is multicast, but the CTA of rank 1 of the cluster") as caught:
        simulate(
            """
        .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;
        mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mov.u32 %r12, %cluster_ctarank; setp.ne.u32 %p1, %r12, 0; @%p1 bra done;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [bar], 16;
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
            [answer], [bar];
        w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [bar], 0; @!%p4 bra w;
        done:""",
            block=1,
            cluster=2,
            seed=seed,
        )
    assert caught.value.kind == "illegal"


def test_other_bytes_are_no_response(simulate):
    with pytest.raises(_native.Trap, match="expected a response of clusterlaunchcontrol.try_cancel") as caught:
        simulate("""
        .reg .b128 %q; mov.u64 %rd1, 5; mov.b128 %q, {%rd1, %rd1};
        clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q;""")
    assert caught.value.kind == "illegal"


@pytest.mark.parametrize(
    "line",
    [
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.b32.b128 %r1, %q;",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.v4.b32.b128 {%r1, %r2, %r3, %r4}, %q;",
    ],
)
def test_form_that_does_not_exist(simulate, line):
    with pytest.raises(_native.PtxError, match="expected .get_first_ctaid.v4, or .get_first_ctaid::x, ::y or ::z"):
        simulate(f".reg .b128 %q; {line}")
