"""tcgen05: a matrix product through shared and tensor memory, and the error that each missing step causes."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

# 128 threads copy one row each: A (p0) and B (p1) are 128 x 16 and 64 x 16 f16, K-major without swizzle (core matrices
# of 8 rows of 16 bytes: LBO 128, SBO 256); D (p2) is 128 x 64 f32.
PROLOGUE = """
.shared .align 128 .b8 a[4096];
.shared .align 128 .b8 b[2048];
.shared .align 8 .b64 done;
.shared .align 4 .b32 address;
mov.u32 %r0, %tid.x;
shr.u32 %r1, %r0, 5;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r1, 0;
setp.lt.u32 %p2, %r0, 64;
mov.u32 %r2, done;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
mov.u32 %r3, address;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
mul.wide.u32 %rd0, %r0, 32;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
add.u64 %rd1, %rd1, %rd0;
add.u64 %rd2, %rd2, %rd0;
shr.u32 %r4, %r0, 3;
shl.b32 %r4, %r4, 8;
and.b32 %r5, %r0, 7;
shl.b32 %r5, %r5, 4;
add.u32 %r4, %r4, %r5;
mov.u32 %r6, a;
mov.u32 %r7, b;
add.u32 %r8, %r6, %r4;
add.u32 %r9, %r7, %r4;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];
st.shared.v4.b32 [%r8], {%r10, %r11, %r12, %r13};
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1+16];
st.shared.v4.b32 [%r8+128], {%r10, %r11, %r12, %r13};
@%p2 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2];
@%p2 st.shared.v4.b32 [%r9], {%r10, %r11, %r12, %r13};
@%p2 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2+16];
@%p2 st.shared.v4.b32 [%r9+128], {%r10, %r11, %r12, %r13};
fence.proxy.async.shared::cta;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.u32 %r14, [%r3];
"""

# Descriptors: start address, LBO 128, SBO 256, version 1.
PRODUCT = """
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd3, %r6;
or.b64 %rd3, %rd3, 0x0000401000080000;
shr.u32 %r7, %r7, 4;
cvt.u64.u32 %rd4, %r7;
or.b64 %rd4, %rd4, 0x0000401000080000;
mov.b32 %r15, 0x08100010;
setp.ne.u32 %p3, %r0, %r0;
setp.eq.u32 %p4, %r0, %r0;
@!%p0 bra issued;
tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd3, %rd4, %r15, %p3;
tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd3, %rd4, %r15, %p4;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];
issued:
"""

WAIT = """
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra poll;
tcgen05.fence::after_thread_sync;
"""


def registers(count: int, first: int = 100) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


EPILOGUE = (
    """
shl.b32 %r16, %r1, 21;
add.u32 %r17, %r14, %r16;
tcgen05.ld.sync.aligned.32x32b.x64.b32 """
    + registers(64)
    + """, [%r17];
tcgen05.wait::ld.sync.aligned;
ld.param.u64 %rd5, [p2];
mul.wide.u32 %rd6, %r0, 256;
add.u64 %rd5, %rd5, %rd6;
"""
    + "\n".join(f"st.global.b32 [%rd5+{4 * i}], %r{100 + i};" for i in range(64))
    + """
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, 64;
"""
)

BODY = PROLOGUE + PRODUCT + WAIT + EPILOGUE


@pytest.fixture
def operands(aligned):
    rng = np.random.default_rng(7)
    a, b = (aligned(rng.integers(-4, 5, (rows, 16)).astype(np.float16)) for rows in (128, 64))
    return a, b, np.zeros((128, 64), np.float32)


@pytest.mark.parametrize("seed", range(6))
def test_product_is_accumulated_twice(simulate, operands, seed):
    a, b, d = operands
    simulate(BODY, a, b, d, block=128, seed=seed)
    np.testing.assert_array_equal(d, 2 * a.astype(np.float32) @ b.astype(np.float32).T)


def without(line: str, nth: int = 0) -> str:
    """BODY without the `nth` occurrence of a line."""
    parts = BODY.split(line)
    assert len(parts) > nth + 1
    return line.join(parts[: nth + 1]) + line.join(["", *parts[nth + 1 :]])[len(line) :]


STEPS = {
    "fence.proxy.async.shared::cta;": {"race"},
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];": {"deadlock"},
    "tcgen05.wait::ld.sync.aligned;": {"race"},  # tcgen05.dealloc may overtake the load
    "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, 64;": {"tensor-memory"},
    "@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;": {"mbarrier"},
    "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;": {"uninitialised"},
}


@pytest.mark.parametrize("line", STEPS)
def test_missing_step_is_reported(simulate, operands, line):
    for seed in range(4):
        with pytest.raises(ptxsim.Trap) as trap:
            simulate(without(line), *operands, block=128, seed=seed)
        assert trap.value.kind in STEPS[line]


def test_register_of_a_pending_load_may_be_read_but_not_overwritten(simulate, operands):
    wait = "tcgen05.wait::ld.sync.aligned;"
    simulate(BODY.replace(wait, "add.u32 %r200, %r100, %r101;" + wait), *operands, block=128)
    with pytest.raises(ptxsim.Trap, match="overwritten before tcgen05.wait::ld") as trap:
        simulate(BODY.replace(wait, "mov.u32 %r100, 0;" + wait), *operands, block=128)
    assert trap.value.kind == "in-flight"


def test_missing_wait_is_reported(simulate, operands):
    body = PROLOGUE + PRODUCT + "tcgen05.fence::after_thread_sync;" + EPILOGUE
    for seed in range(4):
        with pytest.raises(ptxsim.Trap) as trap:
            simulate(body, *operands, block=128, seed=seed)
        assert trap.value.kind in {"race", "uninitialised", "exit-pending"}


def test_missing_fence_after_the_wait_is_a_race(simulate, operands):
    body = without("tcgen05.fence::after_thread_sync;", nth=1)
    with pytest.raises(ptxsim.Trap) as trap:
        simulate(body, *operands, block=128)
    assert trap.value.kind == "race"
    simulate(body, *operands, block=128, allow_unconfirmed=True)


def test_missing_barrier_is_reported(simulate, operands):
    for nth in (0, 1):
        for seed in range(4):
            with pytest.raises(ptxsim.Trap) as trap:
                simulate(without("bar.sync 0;", nth), *operands, block=128, seed=seed)
            assert trap.value.kind in {"race", "uninitialised", "mbarrier"}


def test_accumulating_on_uninitialised_tensor_memory_is_reported(simulate, operands):
    with pytest.raises(ptxsim.Trap) as trap:
        simulate(BODY.replace("%r15, %p3;", "%r15, %p4;"), *operands, block=128)
    assert trap.value.kind == "uninitialised"


def test_columns_outside_the_allocation_are_reported(simulate, operands):
    with pytest.raises(ptxsim.Trap, match="expected columns of one allocation") as trap:
        simulate(BODY.replace("[%r14], %rd3", "[%r14+32], %rd3"), *operands, block=128)
    assert trap.value.kind == "tensor-memory"


def test_warp_must_access_its_own_lanes(simulate, operands):
    with pytest.raises(ptxsim.Trap, match="expected lanes .* got lane") as trap:
        simulate(BODY.replace("[%r17];", "[%r17+2097152];"), *operands, block=128)
    assert trap.value.kind == "tensor-memory"
