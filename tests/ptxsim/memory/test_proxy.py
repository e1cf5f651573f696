"""Generic writes are visible to the async proxy after fence.proxy.async, on either side of the synchronisation."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

STORE = """
.shared .align 128 .b8 buffer[128];
mov.u32 %r0, %tid.x; mov.u32 %r2, buffer; mad.lo.u32 %r2, %r0, 2, %r2; cvt.u16.u32 %h1, %r0; st.shared.u16 [%r2], %h1;
{before} bar.sync 0; {after}
setp.eq.u32 %p1, %r0, 0; @!%p1 bra done;
ld.param.u64 %rd1, [p0]; cp.async.bulk.global.shared::cta.bulk_group [%rd1], [buffer], 128;
{commit} {wait}
done:
"""
COMMIT, WAIT, FENCE = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "fence.proxy.async.shared::cta;"


def _store(simulate, before="", after="", commit=COMMIT, wait=WAIT, seed=0):
    out = np.zeros(64, np.uint16)
    simulate(STORE.format(before=before, after=after, commit=commit, wait=wait), out, block=64, seed=seed)
    return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fence", [FENCE, "fence.proxy.async;"])
@pytest.mark.parametrize("position", ["before", "after"])
def test_fence_on_either_side_of_the_barrier(simulate, position, fence, seed):
    assert (_store(simulate, **{position: fence}, seed=seed) == np.arange(64)).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("instead", ["", "fence.proxy.async.global;", "fence.acq_rel.gpu;", "fence.proxy.alias;"])
def test_copy_without_the_fence_is_a_race(simulate, instead, seed):
    with pytest.raises(_native.Trap) as caught:
        _store(simulate, before=instead, seed=seed)
    assert caught.value.kind == "race"
    assert "no fence.proxy.async follows the write" in caught.value.message
    assert caught.value.notes[0].startswith("written by line")


def test_fence_before_the_write_has_no_effect(simulate):
    body = STORE.replace("mov.u32 %r0", FENCE + "mov.u32 %r0", 1).format(before="", after="", commit=COMMIT, wait=WAIT)
    with pytest.raises(_native.Trap, match="race"):
        simulate(body, np.zeros(64, np.uint16), block=64)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("removed", ["commit", "wait"])
def test_thread_must_not_exit_before_its_copies_complete(simulate, removed, seed):
    with pytest.raises(_native.Trap) as caught:
        _store(simulate, before=FENCE, **{removed: ""}, seed=seed)
    assert caught.value.kind == "exit-pending"


@pytest.mark.parametrize("seed", range(4))
def test_source_may_be_overwritten_after_wait_group_read(simulate, seed):
    overwrite = "cp.async.bulk.wait_group.read 0; st.shared.u32 [buffer], 7;"
    assert (_store(simulate, before=FENCE, wait=overwrite, seed=seed) == np.arange(64)).all()
    with pytest.raises(_native.Trap) as caught:
        _store(simulate, before=FENCE, wait="st.shared.u32 [buffer], 7;" + WAIT, seed=seed)
    assert caught.value.kind == "race"
    assert "while a read of it is not known to be complete" in caught.value.message


LOAD = """
.shared .align 128 .b8 buffer[128]; .shared .align 8 .b64 bar;
mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0;
@%p1 mbarrier.init.shared.b64 [bar], 1; {fence} bar.sync 0;
ld.param.u64 %rd1, [p0];
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buffer], [%rd1], 128, [bar];
{wait}
{use}
"""
USE = "mov.u32 %r2, buffer; mad.lo.u32 %r2, %r0, 4, %r2; ld.shared.u32 %r3, [%r2];"
WAIT_FULL = "w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;"
INIT_FENCE = "@%p1 fence.mbarrier_init.release.cluster;"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fence", [INIT_FENCE, "@%p1 fence.proxy.async;"])
def test_loaded_data_needs_only_the_wait(simulate, fence, seed):
    simulate(LOAD.format(fence=fence, wait=WAIT_FULL, use=USE), np.zeros(32, np.uint32), seed=seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("race", {"fence": "", "wait": WAIT_FULL, "use": USE}),
        ("race", {"fence": INIT_FENCE, "wait": "", "use": USE}),
        ("exit-pending", {"fence": INIT_FENCE, "wait": "", "use": ""}),
    ],
    ids=["no fence after init", "no wait before the read", "no wait before exit"],
)
def test_load_with_a_missing_step_is_reported(simulate, kind, parts, seed):
    with pytest.raises(_native.Trap) as caught:
        simulate(LOAD.format(**parts), np.zeros(32, np.uint32), seed=seed)
    assert caught.value.kind == kind


@pytest.mark.parametrize("seed", range(4))
def test_copy_over_a_generic_write_needs_the_fence(simulate, seed):
    write = "@%p1 st.shared.u32 [buffer], 5;" + INIT_FENCE
    parts = {"wait": WAIT_FULL, "use": USE}
    simulate(LOAD.format(fence=write + FENCE, **parts), np.zeros(32, np.uint32), seed=seed)
    message = "through the async proxy, but no fence.proxy.async follows an earlier write"
    with pytest.raises(_native.Trap, match=message) as caught:
        simulate(LOAD.format(fence=write, **parts), np.zeros(32, np.uint32), seed=seed)
    assert caught.value.kind == "race"


def test_options_that_disable_checks(simulate):
    """allow_unconfirmed accepts a plain barrier after mbarrier.init; checks=False runs a program with a race."""
    simulate(LOAD.format(fence="", wait=WAIT_FULL, use=USE), np.zeros(32, np.uint32), allow_unconfirmed=True)
    simulate(
        STORE.format(before="", after="", commit=COMMIT, wait=WAIT), np.zeros(64, np.uint16), block=64, checks=False
    )


@pytest.mark.parametrize("seed", range(4))
def test_fence_of_one_lane_covers_other_lanes_only_after_a_barrier(simulate, seed):
    """All lanes write; the fence of one lane orders their writes after a synchronisation, but not before it."""
    one_lane = "setp.eq.u32 %p5, %r0, 0; setp.eq.or.u32 %p5, %r0, 32, %p5; @%p5 " + FENCE
    assert (_store(simulate, before="bar.warp.sync -1;" + one_lane, seed=seed) == np.arange(64)).all()
    assert (_store(simulate, after=one_lane, seed=seed) == np.arange(64)).all()
    with pytest.raises(_native.Trap, match="no fence.proxy.async follows"):
        _store(simulate, before=one_lane, seed=seed)
