"""cp.async: copies are complete after wait_group, and visible to other threads after a barrier."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

BODY = """
.shared .align 16 .b8 buffer[2048]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [p1]; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd1, %rd1, %rd2;
mov.u32 %r2, buffer; mad.lo.u32 %r3, %r0, 16, %r2;
{copy}
{wait}
xor.b32 %r4, %r0, {other}; mad.lo.u32 %r3, %r4, 16, %r2; ld.shared.u32 %r1, [%r3+{at}];
cp.async.wait_all;
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
def test_read_before_the_wait_is_a_race(over_lanes, wait, seed):
    with pytest.raises(_native.Trap) as caught:
        _run(over_lanes, wait=wait, other=0, seed=seed)
    assert caught.value.kind == "race"


@pytest.mark.parametrize("seed", range(4))
def test_wait_group_leaves_the_newest_groups_pending(over_lanes, seed):
    """Of two groups, the first one is complete after wait_group 1."""
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
    """The copies of all 64 threads and one ordinary arrival complete the phase."""
    copy = f"""
    setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], {count}; bar.sync 0;
    cp.async.cg.shared.global [%r3], [%rd1], 16; cp.async.mbarrier.arrive{form}.shared.b64 [bar]; bar.sync 0;
    @%p1 mbarrier.arrive.shared.b64 _, [bar];"""
    wait = "w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;"
    assert list(_run(over_lanes, copy=copy, wait=wait, seed=seed)) == [4 * (i ^ 32) + 1 for i in range(64)]


def test_an_arrival_follows_copies_alone(over_lanes):
    """A store of the thread before it is not ordered before: it needs an arrival with a release."""
    copy = """
    setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;
    st.shared.u32 [%r3], %r0; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];"""
    wait = "w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;"
    with pytest.raises(_native.Trap, match="race|not ordered"):
        _run(over_lanes, copy=copy, wait=wait, at=0)


def test_copies_write_through_the_generic_proxy(simulate):
    """A bulk copy of the data requires a proxy fence after the wait."""
    body = """
    .shared .align 128 .b8 buffer[128]; mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; @!%p1 bra done;
    ld.param.u64 %rd1, [p0];
    cp.async.cg.shared.global [buffer], [%rd1], 16; cp.async.wait_all; {fence}
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [buffer], 16; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0; done:"""
    data = np.zeros(8, np.uint64)
    aligned = data[-data.ctypes.data % 16 // 8 :][:4]
    simulate(body.format(fence="fence.proxy.async.shared::cta;"), aligned)
    with pytest.raises(_native.Trap, match="no fence.proxy.async follows"):
        simulate(body.format(fence=""), aligned)


def test_source_size_beyond_the_copy_size(over_lanes):
    copy = "mov.u32 %r9, 20; cp.async.cg.shared.global [%r3], [%rd1], 16, %r9;"
    message = "the source size of cp.async exceeds its copy size: 20 and 16 bytes"
    with pytest.raises(_native.Trap, match=message) as caught:
        _run(over_lanes, copy=copy)
    assert caught.value.kind == "illegal"


def test_arrival_of_copies_on_an_mbarrier_of_another_cta(over_lanes):
    copy = """mov.u32 %r5, bar; mapa.u64 %rd3, %rd4, 1; mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p1, %r6, 0;
    @%p1 cp.async.mbarrier.arrive.b64 [%rd3];"""
    message = "cp.async.mbarrier.arrive needs an mbarrier in the shared memory of its CTA"
    with pytest.raises(_native.Trap, match=message) as caught:
        _run(over_lanes, copy="mov.u64 %rd4, bar;" + copy, cluster=2)
    assert caught.value.kind == "mbarrier"
