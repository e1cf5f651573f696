"""atom and red: results, returned values, atomicity and memory order."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

CASES = [
    ("add.u32", 5, (3,), 8),
    ("add.s32", 2**31, (2**31,), 0),
    ("and.b32", 0xC, (0xA,), 0x8),
    ("or.b32", 0xC, (0xA,), 0xE),
    ("xor.b32", 0xC, (0xA,), 0x6),
    ("exch.b32", 5, (9,), 9),
    ("cas.b32", 5, (5, 9), 9),
    ("cas.b32", 5, (6, 9), 5),
    ("inc.u32", 5, (5,), 0),
    ("inc.u32", 4, (5,), 5),
    ("dec.u32", 0, (5,), 5),
    ("dec.u32", 3, (5,), 2),
    ("min.s32", 5, (2**32 - 1,), 2**32 - 1),
    ("max.u32", 5, (2**32 - 1,), 2**32 - 1),
    ("add.f32", 0x3F800000, (0x40000000,), 0x40400000),
    ("add.noftz.f16x2", 0x3C003C00, (0x40003C00,), 0x42004000),
    ("add.noftz.bf16x2", 0x3F803F80, (0x40003F80,), 0x40404000),
]


@pytest.mark.parametrize(("operation", "before", "operands", "after"), CASES)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_operation_and_returned_value(simulate, operation, before, operands, after, space):
    out = np.zeros(2, np.uint32)
    values = ", ".join(f"%r{10 + i}" for i in range(len(operands)))
    loads = "".join(f"mov.b32 %r{10 + i}, {value};" for i, value in enumerate(operands))
    address = "[%rd1]" if space == "global" else "[buffer]"
    simulate(
        f"""
        .shared .u32 buffer; ld.param.u64 %rd1, [p0]; mov.b32 %r1, {before}; st.{space}.b32 {address}, %r1; {loads}
        atom.{space}.{operation} %r2, {address}, {values};
        ld.{space}.b32 %r3, {address}; st.global.v2.b32 [%rd1], {{%r2, %r3}};""",
        out,
        block=1,
    )
    assert list(out) == [before, after]


def test_64_bit_and_vector_operations(simulate):
    out = np.array([2**40, 0], np.uint64)
    simulate(
        "ld.param.u64 %rd1, [p0]; atom.global.add.u64 %rd2, [%rd1], 1; st.global.u64 [%rd1+8], %rd2;", out, block=1
    )
    assert list(out) == [2**40 + 1, 2**40]
    pair = np.array([1, 2], np.float32)
    simulate(
        "ld.param.u64 %rd1, [p0]; mov.f32 %f1, 0f3F800000; red.global.add.v2.f32 [%rd1], {%f1, %f1};", pair, block=4
    )
    assert list(pair) == [5, 6]


def test_local_memory_has_no_atomic_operations(simulate):
    body = ".local .b32 x; mov.u64 %rd1, x; cvta.local.u64 %rd1, %rd1; atom.add.u32 %r1, [%rd1], 1;"
    with pytest.raises(_native.Trap, match="atomic operation on local memory") as caught:
        simulate(body)
    assert caught.value.kind == "illegal"


@pytest.mark.parametrize("seed", range(4))
def test_no_increment_is_lost(simulate, seed):
    count = np.zeros(1, np.uint32)
    simulate("ld.param.u64 %rd1, [p0]; red.relaxed.gpu.global.add.u32 [%rd1], 1;", count, block=256, grid=8, seed=seed)
    assert count[0] == 2048


@pytest.mark.parametrize("seed", range(8))
def test_release_and_acquire_order_shared_memory(over_lanes, seed):
    """Warp 0 writes, then releases a flag; warp 1 spins on the flag with acquire, then reads."""
    got = over_lanes(
        """
        .shared .u32 flag; .shared .u32 data;
        setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [flag], 0; bar.sync 0; mov.u32 %r1, 7;
        setp.lt.u32 %p2, %r0, 32; @!%p2 bra consumer;
        @%p1 st.shared.u32 [data], 42;
        @%p1 atom.release.cta.shared.exch.b32 %r2, [flag], 1;
        bra done;
        consumer: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra consumer;
        ld.shared.u32 %r1, [data];
        done:""",
        block=64,
        seed=seed,
    )
    assert list(got) == [7] * 32 + [42] * 32
