"""Padded operands that TMA loads and tcgen05.mma multiplies: the multiply does not read the undefined padding."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

M, N, K = 128, 64, 128
# Operand -> element type of the map, format, bits, code in the instruction descriptor (PTX ISA, table 42).
FORMATS = {
    "e2m1": ("b4x16_p64", ml_dtypes.float4_e2m1fn, 4, 5),
    "e2m3": ("b6x16_p32", ml_dtypes.float6_e2m3fn, 6, 3),
    "e3m2": ("b6x16_p32", ml_dtypes.float6_e3m2fn, 6, 4),
}
# A unit of 16 elements is 16 bytes of shared memory, so rows of both operands are 128 bytes.
A_BYTES, B_BYTES = M * K, N * K
REGISTERS = "{" + ", ".join(f"%r{100 + i}" for i in range(N)) + "}"
# K-major with swizzle 128B: eight rows are 1024 bytes. An instruction multiplies 32 bytes of each row.
DESCRIPTOR = 1 << 16 | (1024 >> 4) << 32 | 1 << 46 | 2 << 61
BODY = (
    f"""
.shared .align 1024 .b8 operands[{A_BYTES + B_BYTES}];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 4 .b32 address;
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
mov.b64 %rd21, p1;
cvta.param.u64 %rd21, %rd21;
mov.u32 %r0, %tid.x;
shr.u32 %r1, %r0, 5;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, full;
mov.u32 %r3, done;
mov.u32 %r4, address;
mov.u32 %r6, operands;
add.u32 %r7, %r6, {A_BYTES};
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
fence.mbarrier_init.release.cluster;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], {N};
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.u32 %r14, [%r4];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], TRANSACTION_BYTES;
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd20, {{0, 0}}], [%r2];
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r7], [%rd21, {{0, 0}}], [%r2];
arrived:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra arrived;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
shr.u32 %r6, %r6, 4;
shr.u32 %r7, %r7, 4;
cvt.u64.u32 %rd2, %r6;
cvt.u64.u32 %rd3, %r7;
add.u64 %rd2, %rd2, {DESCRIPTOR:#x};
add.u64 %rd3, %rd3, {DESCRIPTOR:#x};
mov.b32 %r15, INSTRUCTION;
setp.ne.u32 %p3, %r0, %r0;
@!%p0 bra issued;
"""
    + "".join(
        f"""
tcgen05.mma.cta_group::1.kind::f8f6f4 [%r14], %rd2, %rd3, %r15, {"%p3" if step == 0 else "!%p3"};
add.u64 %rd2, %rd2, 2;
add.u64 %rd3, %rd3, 2;
"""
        for step in range(K // 32)
    )
    + f"""
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];
issued:
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r3], 0;
@!%p5 bra poll;
tcgen05.fence::after_thread_sync;
shl.b32 %r16, %r1, 21;
add.u32 %r17, %r14, %r16;
tcgen05.ld.sync.aligned.32x32b.x64.b32 {REGISTERS}, [%r17];
tcgen05.wait::ld.sync.aligned;
ld.param.u64 %rd7, [p2];
mul.wide.u32 %rd8, %r0, {4 * N};
add.u64 %rd7, %rd7, %rd8;
"""
    + "\n".join(f"st.global.b32 [%rd7+{4 * i}], %r{100 + i};" for i in range(N))
    + f"""
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, {N};
"""
)


@pytest.fixture
def operand(aligned, encode_tensor_map):
    """The values of random elements, their packed bytes, and the tensor map."""

    def make(name: str, rows: int, seed: int):
        element, dtype, bits, _ = FORMATS[name]
        codes = np.random.default_rng(seed).integers(0, 1 << bits, (rows, K), np.uint8)
        packed = np.packbits(codes[..., np.newaxis] >> np.arange(bits) & 1, bitorder="little")
        memory = aligned(packed.reshape(rows, -1))
        map_bytes = encode_tensor_map(
            memory.ctypes.data, element, (K, rows), (memory.shape[1],), (K, rows), swizzle="128B"
        )
        return codes.view(dtype).astype(np.float64), memory, map_bytes

    return make


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("a", "b"), [("e2m1", "e3m2"), ("e2m3", "e2m1"), ("e3m2", "e2m3")])
def test_product_of_padded_operands(simulate, aligned, operand, a, b, seed):
    """5.5.1.1: TMA unpacks to units of 16 bytes, which are those of kind f8f6f4. Each sum is exact in f32."""
    values_a, memory_a, map_a = operand(a, M, seed)
    values_b, memory_b, map_b = operand(b, N, seed + 10)
    result = aligned(np.zeros((M, N), np.float32))
    instruction = 1 << 4 | FORMATS[a][3] << 7 | FORMATS[b][3] << 10 | N >> 3 << 17 | M >> 4 << 24
    text = BODY.replace("INSTRUCTION", hex(instruction))
    text = text.replace("TRANSACTION_BYTES", str(memory_a.size + memory_b.size))
    simulate(text, map_a, map_b, result, block=128, map_targets=[memory_a, memory_b], seed=seed)
    np.testing.assert_array_equal(result, values_a @ values_b.T)


def test_bytes_with_the_padding_are_never_complete(simulate, aligned, operand):
    """CUTLASS: the transactions of padded types are the bytes of global memory, not those of the image."""
    _, memory_a, map_a = operand("e2m1", M, 0)
    _, memory_b, map_b = operand("e3m2", N, 1)
    text = BODY.replace("INSTRUCTION", "0").replace("TRANSACTION_BYTES", str(A_BYTES + B_BYTES))
    with pytest.raises(ptxsim.Trap) as trap:
        simulate(text, map_a, map_b, aligned(np.zeros((M, N), np.float32)), block=128, map_targets=[memory_a, memory_b])
    assert trap.value.kind == "deadlock"
