"""cp.async: copies that are done after wait_group and known to others after a barrier."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

BODY = """
.shared .align 16 .b8 room[2048]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [p1]; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd1, %rd1, %rd2;
mov.u32 %r2, room; mad.lo.u32 %r3, %r0, 16, %r2;
{copy}
{wait}
xor.b32 %r4, %r0, {other}; mad.lo.u32 %r3, %r4, 16, %r2; ld.shared.u32 %r1, [%r3+{at}];
"""
COPY = "cp.async.cg.shared.global [%r3], [%rd1], 16; cp.async.commit_group;"


def _run(over_lanes, copy=COPY, wait="cp.async.wait_group 0; bar.sync 0;", other=32, at=4, **options):
    data = np.arange(1024, dtype=np.uint32)
    start = -data.ctypes.data % 16 // 4
    return (
        over_lanes(
            BODY.format(copy=copy, wait=wait, other=other, at=at), data[start : start + 256], block=64, **options
        )
        - start
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wait", ["cp.async.wait_group 0; bar.sync 0;", "cp.async.wait_all; bar.sync 0;"])
def test_copy(over_lanes, wait, seed):
    assert list(_run(over_lanes, wait=wait, seed=seed)) == [4 * (i ^ 32) + 1 for i in range(64)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wait", ["", "bar.sync 0;", "cp.async.wait_group 1; bar.sync 0;"])
def test_data_before_the_wait_is_a_race(over_lanes, wait, seed):
    with pytest.raises(_native.Trap) as caught:
        _run(over_lanes, wait=wait, other=0, seed=seed)
    assert caught.value.kind == "race"


@pytest.mark.parametrize("seed", range(4))
def test_newest_group_may_be_under_way(over_lanes, seed):
    """Two groups: after wait_group 1 the first is complete."""
    copy = (
        "cp.async.ca.shared.global [%r3], [%rd1], 4; cp.async.commit_group; "
        "cp.async.ca.shared.global [%r3+8], [%rd1+8], 8; cp.async.commit_group;"
    )
    got = _run(over_lanes, copy=copy, wait="cp.async.wait_group 1;", other=0, at=0, seed=seed)
    assert list(got) == [4 * i for i in range(64)]
    with pytest.raises(_native.Trap, match="race"):
        _run(over_lanes, copy=copy, wait="cp.async.wait_group 1;", other=0, at=8, seed=seed)


def test_short_sources_are_filled_with_zeros(over_lanes):
    copy = "mov.u32 %r9, 4; cp.async.cg.shared.global [%r3], [%rd1], 16, %r9; cp.async.commit_group;"
    assert (_run(over_lanes, copy=copy, at=0) >= 0).all()
    data = np.arange(1024, dtype=np.uint32) + 1
    start = -data.ctypes.data % 16 // 4
    body = BODY.format(copy=copy, wait="cp.async.wait_all;", other=0, at=4)
    assert (over_lanes(body, data[start : start + 256], block=64) == 0).all()


def test_ignored_sources_are_not_read(over_lanes):
    copy = (
        "setp.ne.u32 %p1, %r0, 5; mov.u64 %rd9, 0; selp.b64 %rd1, %rd1, %rd9, %p1; "
        "not.pred %p2, %p1; cp.async.ca.shared.global [%r3], [%rd1], 4, %p2; "
        "cp.async.commit_group;"
    )
    data = np.arange(1024, dtype=np.uint32) + 1
    start = -data.ctypes.data % 16 // 4
    got = over_lanes(
        BODY.format(copy=copy, wait="cp.async.wait_all;", other=0, at=0), data[start : start + 256], block=64
    )
    assert list(got[4:7]) == [17 + start, 0, 25 + start]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("count", "form"), [(1, ""), (65, ".noinc")])
def test_arrival_on_an_mbarrier(over_lanes, count, form, seed):
    """All 64 threads' copies, and one ordinary arrival, complete the phase."""
    copy = f"""
    setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], {count}; bar.sync 0;
    cp.async.cg.shared.global [%r3], [%rd1], 16; cp.async.mbarrier.arrive{form}.shared.b64 [bar]; bar.sync 0;
    @%p1 mbarrier.arrive.shared.b64 _, [bar];"""
    wait = "w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;"
    assert list(_run(over_lanes, copy=copy, wait=wait, seed=seed)) == [4 * (i ^ 32) + 1 for i in range(64)]


def test_writes_belong_to_the_generic_proxy(simulate):
    """A bulk store of the data needs a proxy fence after the wait."""
    body = """
    .shared .align 128 .b8 room[128]; mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; @!%p1 bra done;
    ld.param.u64 %rd1, [p0];
    cp.async.cg.shared.global [room], [%rd1], 16; cp.async.wait_all; {fence}
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [room], 16; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0; done:"""
    data = np.zeros(8, np.uint64)
    aligned = data[-data.ctypes.data % 16 // 8 :][:4]
    simulate(body.format(fence="fence.proxy.async.shared::cta;"), aligned)
    with pytest.raises(_native.Trap, match="no fence.proxy.async follows"):
        simulate(body.format(fence=""), aligned)
