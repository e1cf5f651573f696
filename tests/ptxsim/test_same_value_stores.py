"""Concurrent stores of one value to one address are not a race by default; other concurrent accesses are."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(20)
HEAD = ".shared .align 4 .b32 s; mov.u32 %r0, %tid.x; shr.u32 %r2, %r0, 5;\n"
SAME = HEAD + "st.shared.u32 [s], 5;\n"
READ = "bar.sync 0; ld.shared.u32 %r1, [s];"


def _race(over_lanes, body: str, seed: int, **options: object) -> str:
    with pytest.raises(_native.Trap) as caught:
        over_lanes(body, block=64, seed=seed, **options)
    assert caught.value.kind == "race"
    return caught.value.message


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_value(over_lanes, seed):
    assert (over_lanes(SAME + READ, block=128, seed=seed) == 5).all()
    assert (over_lanes(SAME + SAME.removeprefix(HEAD) + READ, block=128, seed=seed) == 5).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_strict_check(over_lanes, seed):
    assert "an earlier write" in _race(over_lanes, SAME + READ, seed, same_value_races=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_another_value(over_lanes, seed):
    assert "an earlier write" in _race(over_lanes, HEAD + "st.shared.u32 [s], %r2;\n" + READ, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_byte_differs(over_lanes, seed):
    body = HEAD + "shl.b32 %r3, %r2, 24; or.b32 %r3, %r3, 5; st.shared.u32 [s], %r3;\n" + READ
    assert "an earlier write" in _race(over_lanes, body, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_read_at_the_same_time(over_lanes, seed):
    """Each warp reads the address after its own store, while the other may still store."""
    assert "not known to be complete" in _race(over_lanes, SAME + "ld.shared.u32 %r1, [s];", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reader_that_knows_one_of_two_writers(over_lanes, seed):
    """Warps 0 and 1 store 5; warp 2 synchronises with warp 0 only."""
    body = (
        HEAD
        + """
        setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1; setp.eq.u32 %p3, %r2, 2; mov.u32 %r1, 0;
        @%p3 bra third;
        st.shared.u32 [s], 5;
        @%p1 bar.sync 1, 64;
        bra done;
        third: bar.sync 1, 64; ld.shared.u32 %r1, [s];
        done: bar.sync 0;"""
    )
    with pytest.raises(_native.Trap) as caught:
        over_lanes(body, block=96, seed=seed)
    assert caught.value.kind == "race"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_later_store_of_one_of_them(over_lanes, seed):
    """Both store 5; then warp 1 alone stores 6 without a barrier between."""
    body = SAME + "setp.eq.u32 %p1, %r2, 1; @%p1 st.shared.u32 [s], 6;\n" + READ
    _race(over_lanes, body, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_by_the_async_proxy_is_not_excused(simulate, seed):
    """A bulk copy and a store write the same bytes at once."""
    body = """
    .shared .align 128 .b8 room[128]; .shared .align 8 .b64 bar;
    mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p3, %r0, 32;
    @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
    ld.param.u64 %rd1, [p0];
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
    @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [room], [%rd1], 128, [bar];
    @%p3 st.shared.u32 [room], 0;
    w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;
    """
    with pytest.raises(_native.Trap) as caught:
        simulate(body, np.zeros(32, np.uint32), block=64, seed=seed)
    assert caught.value.kind == "race"
