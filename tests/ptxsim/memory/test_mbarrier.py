"""mbarrier: the state machine (cases M1 to M6), waits, the accesses that it orders, and misuse."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SETUP = """
.shared .align 8 .b64 bar; .shared .align 8 .b64 other; .shared .align 16 .b8 buffer[256];
setp.eq.u32 %p15, %r0, 0; @%p15 mbarrier.init.shared::cta.b64 [bar], {count}; bar.sync 0;
"""
PHASES = """
mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0; mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 1;
selp.u32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 2;
"""
# The first phase, of parity 0, is complete; only the phase before the first one is complete.
FIRST_COMPLETE, NONE_COMPLETE = 1, 2

CASES = {
    "M1 two arrivals": (
        2,
        "mbarrier.arrive.shared.b64 %rd1, [bar]; mbarrier.arrive.shared.b64 _, [bar];",
        FIRST_COMPLETE,
    ),
    "one of two arrivals": (2, "mbarrier.arrive.shared.b64 %rd1, [bar];", NONE_COMPLETE),
    "M2 two transactions": (
        1,
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64; mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32;"
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32;",
        FIRST_COMPLETE,
    ),
    "incomplete transaction": (
        1,
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64; mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32;",
        NONE_COMPLETE,
    ),
    "M3 transaction completes before it is expected": (
        1,
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 16; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;",
        FIRST_COMPLETE,
    ),
    "M4 arrive_drop": (
        3,
        "mbarrier.arrive_drop.shared.b64 _, [bar]; mbarrier.arrive.shared.b64 _, [bar], 2;",
        FIRST_COMPLETE,
    ),
    "M5 copies arrive asynchronously": (
        1,
        "cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];",
        FIRST_COMPLETE,
    ),
    "M6 transaction without an arrival": (
        1,
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 32; mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32;",
        NONE_COMPLETE,
    ),
    "noComplete": (
        2,
        "mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 1; mbarrier.arrive.shared.b64 _, [bar];",
        FIRST_COMPLETE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_state_machine(over_lanes, name):
    """One thread tests both parities; in M5 it first waits for the asynchronous arrival."""
    count, body, expected = CASES[name]
    wait = "w: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra w;" if "copies" in name else ""
    assert over_lanes(SETUP.format(count=count) + body + wait + PHASES, block=1)[0] == expected


def test_next_phase_expects_the_reduced_count(over_lanes):
    """After arrive_drop as in M4 two arrivals complete the next phase, of parity 1."""
    body = (
        "mbarrier.arrive_drop.shared.b64 _, [bar]; mbarrier.arrive.shared.b64 _, [bar], 2; "
        "w: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra w;"
    )
    again = "mbarrier.arrive.shared.b64 _, [bar], 2;"
    assert over_lanes(SETUP.format(count=3) + body + again + PHASES, block=1)[0] == NONE_COMPLETE


def test_tokens(over_lanes):
    """A wait with the token of an arrival waits for its phase; the token contains the pending count."""
    got = over_lanes(
        SETUP.format(count=2)
        + """
        mbarrier.arrive.shared.b64 %rd1, [bar]; mbarrier.test_wait.shared.b64 %p1, [bar], %rd1;
        mbarrier.arrive.shared.b64 %rd2, [bar]; mbarrier.try_wait.shared.b64 %p2, [bar], %rd1, 1000;
        mbarrier.pending_count.b64 %r1, %rd1; @%p1 add.u32 %r1, %r1, 10; @%p2 add.u32 %r1, %r1, 100;""",
        block=1,
    )
    assert got[0] == 102


PRODUCE = """
setp.lt.u32 %p1, %r0, 32; @!%p1 bra consumer;
mov.u32 %r2, buffer; mad.lo.u32 %r2, %r0, 4, %r2; st.shared.u32 [%r2], %r0; mov.u32 %r1, 0;
{arrive} bra done;
consumer: {wait}
sub.u32 %r3, %r0, 32; mov.u32 %r2, buffer; mad.lo.u32 %r2, %r3, 4, %r2; ld.shared.u32 %r1, [%r2];
done:
"""
ARRIVE = "mbarrier.arrive.release.cta.shared.b64 _, [bar];"
WAIT = "w: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra w;"


@pytest.mark.parametrize("seed", range(6))
def test_arrive_and_wait_order_accesses(over_lanes, seed):
    got = over_lanes(SETUP.format(count=32) + PRODUCE.format(arrive=ARRIVE, wait=WAIT), block=64, seed=seed)
    assert list(got) == [0] * 32 + list(range(32))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("arrive", "wait"),
    [
        (ARRIVE, ""),
        (ARRIVE, WAIT.replace("0;", "1;", 1)),
        (ARRIVE, WAIT.replace("parity", "parity.relaxed.cta")),
        (ARRIVE.replace("release", "relaxed"), WAIT),
    ],
    ids=["no wait", "wrong parity", "relaxed wait", "relaxed arrive"],
)
def test_insufficient_synchronization_is_reported(over_lanes, seed, arrive, wait):
    """The error is found in every order of execution; a wait with the wrong parity may also be a deadlock."""
    with pytest.raises(_native.Trap) as caught:
        over_lanes(SETUP.format(count=32) + PRODUCE.format(arrive=arrive, wait=wait), block=64, seed=seed)
    assert caught.value.kind in ("race", "uninitialised") + (("deadlock",) if "1;" in wait else ())


def test_memory_of_an_mbarrier_may_be_reused_after_inval(over_lanes):
    got = over_lanes(
        SETUP.format(count=1)
        + (
            "mbarrier.inval.shared.b64 [bar]; st.shared.u32 [bar], 8; ld.shared.u32 %r1, [bar]; "
            "mbarrier.init.shared.b64 [bar], 1;"
        ),
        block=1,
    )
    assert got[0] == 8


@pytest.mark.parametrize("seed", range(4))
def test_remote_arrival(over_lanes, seed):
    """Every thread of rank 1 arrives on the mbarrier of rank 0, which rank 0 waits on."""
    got = over_lanes(
        SETUP.format(count=32)
        + """
        fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mov.u32 %r1, 1; mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, 0; @%p1 bra owner;
        mov.u32 %r3, bar; mov.u32 %r4, 0; mapa.shared::cluster.u32 %r5, %r3, %r4;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5]; bra done;
        owner: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra owner; mov.u32 %r1, 2;
        done: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;""",
        cluster=2,
        seed=seed,
    )
    assert list(got) == [2] * 32 + [1] * 32


TRAPS = {
    "mbarrier.arrive.shared.b64 _, [other];": "none is initialised",
    "mbarrier.arrive.shared.b64 _, [bar], 3;": "arrival count 3 exceeds the pending count 2",
    "mbarrier.init.shared.b64 [bar], 1;": "mbarrier.init of an initialised mbarrier",
    "mbarrier.init.shared.b64 [other], 0;": "between 1 and 1048575, found 0",
    "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1048576;": "transaction count",
    "mbarrier.arrive.noComplete.shared.b64 _, [bar], 2;": "completes the phase",
    "ld.shared.u32 %r1, [bar];": "reads an mbarrier object",
    "st.shared.u32 [bar+4], %r0;": "overwrites an mbarrier object",
    "mbarrier.arrive.shared.b64 _, [bar]; mbarrier.inval.shared.b64 [bar];": "while a phase is incomplete",
    "mbarrier.arrive.shared.b64 _, [bar], 2; mbarrier.arrive.shared.b64 _, [bar];": "no wait has observed",
    (
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8; "
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8; "
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32;"
    ): "16 too many",
    "mov.u64 %rd1, 0x200000; mbarrier.try_wait.shared.b64 %p1, [bar], %rd1;": "the token of phase 2",
    "mov.u32 %r2, bar; mbarrier.init.shared.b64 [%r2+4], 1;": "aligned to 8",
    "mbarrier.arrive.shared.b64 _, [bar], 0;": "the arrival count must be between 1 and 1048575, found 0",
    "mbarrier.arrive_drop.shared.b64 _, [bar], 3;": "arrive_drop count 3 exceeds the expected arrival count 2",
    (
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32; mbarrier.arrive.shared.b64 _, [bar], 2;"
    ): "all arrivals of the phase are complete, but 32 more bytes have arrived than it expects",
    ".local .b64 x; cvta.local.u64 %rd1, 0; mbarrier.init.b64 [%rd1], 1;": "an mbarrier must be in shared memory",
}


@pytest.mark.parametrize("body", TRAPS)
def test_misuse(simulate, body):
    with pytest.raises(_native.Trap) as caught:
        simulate("mov.u32 %r0, %tid.x;" + SETUP.format(count=2) + body, block=1)
    assert caught.value.kind in ("mbarrier", "misaligned")
    assert TRAPS[body] in caught.value.message


REMOTE = {
    "mbarrier.init.shared::cluster.b64 [%r2], 1;": "mbarrier.init in the shared memory of another CTA",
    "mbarrier.try_wait.parity.shared::cluster.b64 %p1, [%r2], 0;": (
        "the wait uses an mbarrier of another CTA, but only one in shared::cta can be waited for"
    ),
}


@pytest.mark.parametrize("body", REMOTE)
def test_mbarrier_of_another_cta(simulate, body):
    """Rank 0 executes the instruction on the mbarrier of rank 1."""
    cluster_barrier = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    remote = f"""mov.u32 %r1, %cluster_ctarank; mov.u32 %r3, bar; mapa.shared::cluster.u32 %r2, %r3, 1;
    {cluster_barrier} setp.eq.u32 %p2, %r1, 0; @%p2 {body} {cluster_barrier}"""
    with pytest.raises(_native.Trap) as caught:
        simulate("mov.u32 %r0, %tid.x;" + SETUP.format(count=1) + remote, cluster=2, block=1)
    assert (caught.value.kind, caught.value.message) == ("mbarrier", REMOTE[body])


def test_mbarrier_is_invalid_when_a_copy_arrives(simulate):
    """The copies of cp.async are complete, and arrive, after mbarrier.inval."""
    body = SETUP.format(count=1) + "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; mbarrier.inval.shared.b64 [bar];"
    message = r"signals an mbarrier at shared offset \d+ of CTA rank 0, but none is initialised there"
    with pytest.raises(_native.Trap, match=message) as caught:
        simulate("mov.u32 %r0, %tid.x;" + body, block=1)
    assert caught.value.kind == "mbarrier"


def test_arrival_must_be_ordered_after_initialisation(simulate):
    """Warp 1 arrives without a barrier after the mbarrier.init of warp 0."""
    body = """
    .shared .align 8 .b64 bar; mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 32;
    setp.lt.u32 %p2, %r0, 32; @%p2 bra done; mbarrier.arrive.shared.b64 _, [bar]; done:"""
    for seed in range(6):
        with pytest.raises(_native.Trap) as caught:
            simulate(body, block=64, seed=seed)
        assert caught.value.kind in ("race", "mbarrier")


def test_wait_that_never_completes_is_a_deadlock(simulate):
    with pytest.raises(_native.Trap) as caught:
        simulate(
            "mov.u32 %r0, %tid.x;"
            + SETUP.format(count=2)
            + "w: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w;"
        )
    assert caught.value.kind == "deadlock"
    assert "mbarrier.try_wait" in caught.value.notes[0]


def test_bounded_number_of_waits_is_not_a_deadlock(over_lanes):
    """try_wait returns false, and after three attempts the thread leaves the loop."""
    got = over_lanes(
        SETUP.format(count=2)
        + (
            "mov.u32 %r1, 0; w: add.u32 %r1, %r1, 1; "
            "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; "
            "setp.lt.and.u32 %p2, %r1, 3, !%p1; @%p2 bra w;"
        ),
        block=1,
    )
    assert got[0] == 3


def test_counters(simulate):
    counters = simulate("mov.u32 %r0, %tid.x;" + SETUP.format(count=1) + ARRIVE + WAIT, np.zeros(1), block=1)
    assert counters["mbarrier_waits"] == 1
    assert counters["barrier_arrivals"] == 1
