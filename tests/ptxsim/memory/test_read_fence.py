"""TMA may overwrite a slot that threads have read only after fence.proxy.async by each reader or by the issuer."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(20)
FENCE = "fence.proxy.async.shared::cta;"
# Warp 1 copies 128 bytes three times to one slot; warp 0 adds them.
RING = """
.shared .align 128 .b8 slot[128]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; setp.lt.u32 %p2, %r0, 32; mov.u32 %r1, 0; mov.u32 %r5, 0;
@%p1 mbarrier.init.shared.b64 [full], 1; @%p1 mbarrier.init.shared.b64 [empty], 32;
fence.mbarrier_init.release.cluster; bar.sync 0;
mul.lo.u32 %r2, %r0, 4; mov.u32 %r3, slot; add.u32 %r3, %r3, %r2;
ld.param.u64 %rd1, [p1];
@%p2 bra reader;
setp.ne.u32 %p3, %r0, 32; @%p3 bra done;
next:
setp.eq.u32 %p4, %r5, 0; @%p4 bra fill;
sub.u32 %r6, %r5, 1; and.b32 %r6, %r6, 1;
e: mbarrier.try_wait.parity.shared.b64 %p5, [empty], %r6; @!%p5 bra e;
{issuer}
fill:
mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [slot], [%rd1], 128, [full];
add.u64 %rd1, %rd1, 128; add.u32 %r5, %r5, 1; setp.lt.u32 %p6, %r5, 3; @%p6 bra next;
bra done;
reader:
and.b32 %r6, %r5, 1;
f: mbarrier.try_wait.parity.shared.b64 %p5, [full], %r6; @!%p5 bra f;
{before} ld.shared.u32 %r7, [%r3]; add.u32 %r1, %r1, %r7;
{reader} mbarrier.arrive.shared.b64 _, [empty];
add.u32 %r5, %r5, 1; setp.lt.u32 %p6, %r5, 3; @%p6 bra reader;
done: bar.sync 0;
"""


def _run(over_lanes, seed: int, before: str = "", reader: str = "", issuer: str = "", **options: object) -> None:
    data = np.arange(96, dtype=np.uint32)
    got = over_lanes(RING.format(before=before, reader=reader, issuer=issuer), data, block=64, seed=seed, **options)
    np.testing.assert_array_equal(got[:32], data.reshape(3, 32).sum(0))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("position", ["reader", "issuer"])
@pytest.mark.parametrize("fence", [FENCE, "fence.proxy.async;"])
def test_fence_orders_the_read_before_the_copy(over_lanes, position, fence, seed):
    _run(over_lanes, seed, **{position: fence})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "instead", [{}, {"before": FENCE}, {"reader": "fence.acq_rel.cta;"}, {"reader": "fence.proxy.async.global;"}]
)
def test_copy_without_the_fence_is_a_race(over_lanes, instead, seed):
    with pytest.raises(_native.Trap) as caught:
        _run(over_lanes, seed, **instead)
    assert caught.value.kind == "race"
    assert "no fence.proxy.async follows an earlier read" in caught.value.message


@pytest.mark.parametrize("seed", SEEDS)
def test_fence_of_the_issuer_before_its_wait_has_no_effect(over_lanes, seed):
    """A fence of the issuer before it waits for the readers orders none of their reads."""
    text = RING.replace("e: mbarrier", FENCE + " e: mbarrier")
    with pytest.raises(_native.Trap, match="follows an earlier read"):
        over_lanes(text.format(before="", reader="", issuer=""), np.arange(96, dtype=np.uint32), block=64, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_option_disables_the_check(over_lanes, seed):
    _run(over_lanes, seed, read_fences=False)
