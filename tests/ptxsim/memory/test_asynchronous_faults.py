"""Registers and copies that instructions use after their issue, and memory that a kernel reads as read-only."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(10)
COPY = """.shared .align 16 .b8 s[512]; ld.param.u64 %rd1, [p0]; mov.u32 %r2, s; mov.u32 %r3, %tid.x;
shl.b32 %r4, %r3, 4; add.u32 %r2, %r2, %r4; cvt.u64.u32 %rd2, %r4; add.u64 %rd2, %rd1, %rd2;
cp.async.cg.shared.global [%r2], [%rd2], 16;
"""
WAITS = {
    "group": "cp.async.commit_group; cp.async.wait_group 0;",
    "all": "cp.async.wait_all;",
    "mbarrier": """.shared .align 8 .b64 m; setp.eq.u32 %p1, %r3, 0; @%p1 mbarrier.init.shared.b64 [m], 32; bar.sync 0;
    cp.async.mbarrier.arrive.noinc.shared.b64 [m]; w: mbarrier.test_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra w;""",
}


def _trap(simulate, kind: str, body: str, *arguments: object, **options: object) -> _native.Trap:
    with pytest.raises(_native.Trap) as caught:
        simulate(body, *arguments, **options)
    assert caught.value.kind == kind
    return caught.value


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wait", WAITS)
def test_copies_that_were_waited_for(simulate, wait, seed):
    simulate(COPY + WAITS[wait], np.zeros(128, np.uint32), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pending", ["", "cp.async.commit_group;", "cp.async.commit_group; cp.async.wait_group 1;"])
def test_copies_pending_at_exit(simulate, pending, seed):
    trap = _trap(simulate, "exit-pending", COPY + pending, np.zeros(128, np.uint32), seed=seed)
    assert "copies of cp.async that it has not waited for" in trap.message


READ_ONLY = "ld.param.u64 %rd1, [p0]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd1, %rd2;\n"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("load", ["ld.global.nc.u32 %r1, [%rd1];", "ldu.global.u32 %r1, [%rd1];"])
@pytest.mark.parametrize("order", ["write first", "read first"])
def test_written_memory_is_not_read_only(simulate, load, order, seed):
    """Each thread writes a word; all read the first one."""
    store = "st.global.u32 [%rd2], %r2;"
    body = READ_ONLY + (store + load if order == "write first" else load + store)
    message = _trap(simulate, "race", body, np.zeros(32, np.uint32), seed=seed).message
    assert "as read-only memory" in message


@pytest.mark.parametrize("write", ["red.global.add.u32 [%rd1], 1;", "atom.global.exch.b32 %r3, [%rd1], 1;"])
def test_atomic_operations_write(simulate, write):
    _trap(simulate, "race", READ_ONLY + "ld.global.nc.u32 %r1, [%rd1];" + write, np.zeros(32, np.uint32))


@pytest.mark.parametrize("seed", SEEDS)
def test_other_memory_may_be_written(simulate, seed):
    """Words 0 to 31 are written, and word 32 is read; ld.global may read both."""
    body = READ_ONLY + "ld.global.nc.u32 %r1, [%rd1+128]; st.global.u32 [%rd2], %r1; ld.global.u32 %r1, [%rd2];"
    simulate(body, np.zeros(33, np.uint32), seed=seed)


TENSOR = """.shared .align 4 .b32 ta; ld.param.u64 %rd1, [p0];
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [ta], 32; bar.sync 0; ld.shared.u32 %r2, [ta];
mov.u32 %r3, 5; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r3};
"""
REST = """tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r2]; add.u32 %r5, %r4, 1; st.global.u32 [%rd1], %r5;
tcgen05.wait::ld.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;"""
WAIT = "tcgen05.wait::st.sync.aligned;"


@pytest.mark.parametrize("seed", SEEDS)
def test_registers_of_a_tensor_store_may_be_overwritten_after_the_wait(simulate, seed):
    """PTX ISA 9.7.16.6.4.5: uses of the registers of tcgen05.ld are ordered after it without a wait."""
    out = np.zeros(1, np.uint32)
    simulate(TENSOR + WAIT + "mov.u32 %r3, 6;" + REST, out, seed=seed)
    assert out[0] == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_registers_of_a_tensor_store_are_read_until_the_wait(simulate, seed):
    trap = _trap(simulate, "in-flight", TENSOR + "mov.u32 %r3, 6;" + WAIT + REST, np.zeros(1, np.uint32), seed=seed)
    assert "'%r3' is overwritten before tcgen05.wait::st has completed" in trap.message


@pytest.mark.parametrize("seed", SEEDS)
def test_registers_of_a_tensor_load_that_are_read_before_the_wait_are_reported_on_request(simulate, seed):
    body = TENSOR + WAIT + REST
    trap = _trap(simulate, "in-flight", body, np.zeros(1, np.uint32), seed=seed, tensor_load_waits=True)
    assert "'%r4' is read before tcgen05.wait::ld has completed it" in trap.message


@pytest.mark.parametrize("seed", SEEDS)
def test_registers_of_a_tensor_load_may_be_read_after_the_wait(simulate, seed):
    load, use, *rest = REST.split("; ", 2)
    waits = f"{TENSOR}{WAIT}{load}; tcgen05.wait::ld.sync.aligned; {use}; {rest[0]}"
    out = np.zeros(1, np.uint32)
    simulate(waits, out, seed=seed, tensor_load_waits=True)
    assert out[0] == 6
