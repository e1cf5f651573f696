"""Concurrent stores of the same value to an address are not a race by default; other concurrent accesses are."""

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
def test_same_value_is_not_a_race(over_lanes, seed):
    assert (over_lanes(SAME + READ, block=128, seed=seed) == 5).all()
    assert (over_lanes(SAME + SAME.removeprefix(HEAD) + READ, block=128, seed=seed) == 5).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_option_reports_same_values(over_lanes, seed):
    assert "an earlier write" in _race(over_lanes, SAME + READ, seed, same_value_races=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_different_values_are_a_race(over_lanes, seed):
    assert "an earlier write" in _race(over_lanes, HEAD + "st.shared.u32 [s], %r2;\n" + READ, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_values_that_differ_in_one_byte_are_a_race(over_lanes, seed):
    body = HEAD + "shl.b32 %r3, %r2, 24; or.b32 %r3, %r3, 5; st.shared.u32 [s], %r3;\n" + READ
    assert "an earlier write" in _race(over_lanes, body, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_concurrent_read_is_a_race(over_lanes, seed):
    """Each warp reads the address after its own store, while the other warp may still store."""
    assert "not known to be complete" in _race(over_lanes, SAME + "ld.shared.u32 %r1, [s];", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_reader_must_synchronise_with_both_writers(over_lanes, seed):
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
def test_second_store_of_another_value_is_a_race(over_lanes, seed):
    """Both warps store 5; then warp 1 stores 6 without a barrier in between."""
    body = SAME + "setp.eq.u32 %p1, %r2, 1; @%p1 st.shared.u32 [s], 6;\n" + READ
    _race(over_lanes, body, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_same_value_of_a_bulk_copy_is_a_race(simulate, seed):
    """A bulk copy and a store write the same bytes concurrently."""
    body = """
    .shared .align 128 .b8 buffer[128]; .shared .align 8 .b64 bar;
    mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p3, %r0, 32;
    @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
    ld.param.u64 %rd1, [p0];
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
    @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buffer], [%rd1], 128, [bar];
    @%p3 st.shared.u32 [buffer], 0;
    w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;
    """
    with pytest.raises(_native.Trap) as caught:
        simulate(body, np.zeros(32, np.uint32), block=64, seed=seed)
    assert caught.value.kind == "race"
