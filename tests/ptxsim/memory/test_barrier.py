"""bar, barrier and barrier.cluster: which threads wait, and which accesses they order."""

from __future__ import annotations

import pytest

from tilec.runtime.ptxsim import _native

EXCHANGE = """
.shared .align 16 .b8 buffer[1024];
mov.u32 %r2, buffer; mad.lo.u32 %r3, %r0, 4, %r2; st.shared.u32 [%r3], %r0;
{barrier}
xor.b32 %r4, %r0, 32; mad.lo.u32 %r3, %r4, 4, %r2; ld.shared.u32 %r1, [%r3];
"""


@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "barrier.sync.aligned 3;", "barrier.cta.sync 2;", "bar.sync 1, 64;"]
)
@pytest.mark.parametrize("seed", range(4))
def test_barrier_orders_accesses_of_warps(over_lanes, barrier, seed):
    assert list(over_lanes(EXCHANGE.format(barrier=barrier), block=64, seed=seed)) == [i ^ 32 for i in range(64)]


@pytest.mark.parametrize("barrier", ["", "bar.warp.sync -1;", "fence.acq_rel.cta;", "membar.cta;"])
@pytest.mark.parametrize("seed", range(8))
def test_weaker_instructions_are_a_race(over_lanes, barrier, seed):
    with pytest.raises(_native.Trap) as caught:
        over_lanes(EXCHANGE.format(barrier=barrier), block=64, seed=seed)
    assert caught.value.kind in ("race", "uninitialised")


@pytest.mark.parametrize("seed", range(4))
def test_arrive_does_not_wait(over_lanes, seed):
    """Warp 0 writes and arrives, and warp 1 waits; then the reverse on another barrier."""
    got = over_lanes(
        """
        .shared .u32 word; setp.lt.u32 %p1, %r0, 32; @!%p1 bra consumer;
        st.shared.u32 [word], 5; bar.arrive 1, 64; bar.sync 2, 64; ld.shared.u32 %r1, [word]; bra done;
        consumer: bar.sync 1, 64; ld.shared.u32 %r1, [word]; add.u32 %r2, %r1, 1; bar.warp.sync -1;
        setp.eq.u32 %p2, %r0, 32; @%p2 st.shared.u32 [word], %r2; bar.arrive 2, 64;
        done:""",
        block=64,
        seed=seed,
    )
    assert list(got) == [6] * 32 + [5] * 32


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("bar.red.popc.u32 %r1, 0, %p1;", 5),
        ("bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", 0),
        ("bar.red.or.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", 1),
        ("barrier.cta.red.popc.aligned.u32 %r1, 4, 96, %p1;", 5),
    ],
)
def test_reduction(over_lanes, reduction, expected):
    assert (over_lanes("setp.ge.u32 %p1, %r0, 91;" + reduction, block=96) == expected).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("aligned", ["", ".aligned"])
def test_cluster_barrier_orders_distributed_shared_memory(over_lanes, aligned, seed):
    """Each CTA writes the shared memory of the other one."""
    got = over_lanes(
        f"""
        .shared .align 16 .b8 buffer[128];
        mov.u32 %r2, buffer; mad.lo.u32 %r2, %r0, 4, %r2; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1;
        mapa.shared::cluster.u32 %r5, %r2, %r4;
        mad.lo.u32 %r6, %r3, 100, %r0; st.shared::cluster.u32 [%r5], %r6;
        barrier.cluster.arrive.release{aligned}; barrier.cluster.wait.acquire{aligned};
        ld.shared.u32 %r1, [%r2];""",
        cluster=2,
        seed=seed,
    )
    assert list(got) == [100 + i for i in range(32)] + list(range(32))


TRAPS = [
    ("barrier", "bar.sync 1, 48;", 32, "a thread count that is a multiple of 32"),
    ("barrier", "bar.sync 16;", 32, "barriers 0 to 15"),
    ("barrier", "bar.sync 1, 128;", 64, "the CTA has 64"),
    ("barrier", "barrier.cluster.wait.aligned;", 32, "without a preceding barrier.cluster.arrive"),
    (
        "barrier",
        "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;",
        32,
        "barrier.cluster.arrive is executed twice",
    ),
    ("deadlock", "setp.lt.u32 %p1, %r0, 32; @%p1 bra done; bar.sync 1, 64; done:", 64, "all of them wait"),
    (
        "barrier",
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra a; bar.sync 1, 64; bra done; a: bar.sync 1, 96; done:",
        96,
        "threads",
    ),
    (
        "barrier",
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra a; bar.sync 1; bra done; a: bar.sync 1, 64; done:",
        64,
        "the barrier is used with and without a thread count in one generation",
    ),
    (
        "barrier",
        # 24 threads of each warp arrive.
        "and.b32 %r2, %r0, 31; setp.ge.u32 %p1, %r2, 24; @%p1 bra done; barrier.arrive 1, 32; done:",
        64,
        "48 threads arrive at a barrier that expects 32",
    ),
]


@pytest.mark.parametrize(("kind", "body", "block", "message"), TRAPS)
def test_trap(simulate, kind, body, block, message):
    with pytest.raises(_native.Trap) as caught:
        simulate("mov.u32 %r0, %tid.x;" + body, block=block)
    assert caught.value.kind == kind
    assert message in caught.value.message


def test_deadlock_names_the_barrier_of_each_warp(simulate):
    with pytest.raises(_native.Trap) as caught:
        simulate(
            "mov.u32 %r0, %tid.x; setp.lt.u32 %p1, %r0, 32; @%p1 bra a; bar.sync 1; bra done; a: bar.sync 2; done:",
            block=64,
        )
    assert [note.split(" waits")[0] for note in caught.value.notes] == ["CTA rank 0 warp 0", "CTA rank 0 warp 1"]
    assert all("bar.sync" in note for note in caught.value.notes)
