"""A deadlock of spinning threads is found within a second and names the waiting warps; progress is not stopped."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(20)
FLAG = "ld.param.u64 %rd1, [p0]; mov.u32 %r0, %tid.x;\n"
SPIN = FLAG + "s: ld.acquire.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra s;"
DEADLOCKS = {
    "one thread": (SPIN, 1),
    "four warps": (SPIN, 128),
    "nested loops": (
        FLAG + "s: mov.u32 %r2, 0; t: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra t;"
        "ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra s;",
        32,
    ),
    "half of a warp": (
        FLAG + "setp.lt.u32 %p2, %r0, 16; @%p2 bra w; bar.sync 0; bra e; w:" + SPIN.removeprefix(FLAG) + " e:",
        64,
    ),
    "lock that is never released": (
        FLAG + "s: atom.global.cas.b32 %r1, [%rd1], 1, 2; setp.ne.u32 %p1, %r1, 1; @%p1 bra s;",
        64,
    ),
    "loop that stores the same value": (
        ".shared .b32 x;" + FLAG + "st.shared.u32 [x], 1; bar.sync 0;"
        "s: st.shared.u32 [x], 1; ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra s;",
        64,
    ),
    "one of two warps waits on an mbarrier": (
        ".shared .align 8 .b64 bar;" + FLAG + "setp.eq.u32 %p3, %r0, 0; @%p3 mbarrier.init.shared.b64 [bar], 1;"
        "bar.sync 0; setp.lt.u32 %p2, %r0, 32; @%p2 bra s;"
        "w: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra w; st.global.u32 [%rd1], 1; bra e;"
        + SPIN.removeprefix(FLAG) + " e:",
        64,
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", DEADLOCKS)
def test_deadlock_is_reported_within_a_second(simulate, case, seed):
    body, block = DEADLOCKS[case]
    begin = time.process_time()
    with pytest.raises(_native.Trap) as caught:
        simulate(body, np.zeros(1, np.uint32), block=block, seed=seed)
    assert caught.value.kind in {"deadlock", "divergence"}
    assert any("waits at line" in note for note in caught.value.notes)
    assert time.process_time() - begin < 1


PROGRESS = {
    # No thread writes memory for 600,000 iterations.
    "counting": "mov.u32 %r2, 0; s: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 600000; @%p1 bra s;",
    "waiting for a clock": "mov.u32 %r3, %clock; s: mov.u32 %r2, %clock; sub.u32 %r2, %r2, %r3;"
    "setp.lt.u32 %p1, %r2, 300000; @%p1 bra s;",
    "counting in local memory": ".local .b32 n; mov.u32 %r2, 0; st.local.u32 [n], %r2; s: ld.local.u32 %r2, [n];"
    "add.u32 %r2, %r2, 1; st.local.u32 [n], %r2; mov.u32 %r2, 0; ld.local.u32 %r3, [n];"
    "setp.lt.u32 %p1, %r3, 100000; mov.u32 %r3, 0; @%p1 bra s;",
    "one lane counts while others spin": "setp.eq.u32 %p2, %r0, 0; @!%p2 bra t; mov.u32 %r2, 0;"
    "s: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 100000; @%p1 bra s; st.global.u32 [%rd1+4], 1; bra e;"
    "t: ld.volatile.global.u32 %r4, [%rd1+4]; setp.eq.u32 %p3, %r4, 0; @%p3 bra t; e:",
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("case", PROGRESS)
def test_loop_that_terminates_is_not_a_deadlock(simulate, case, seed):
    out = np.zeros(2, np.uint32)
    simulate(FLAG + PROGRESS[case] + " st.global.u32 [%rd1], 9;", out, block=64, seed=seed)
    assert out[0] == 9
