"""mma.sync and its fragments, ldmatrix, stmatrix and movmatrix."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

LANES = np.arange(32)


def a_fragment(a: np.ndarray) -> np.ndarray:
    """32-bit registers by [lane, register]: rows L/4 and L/4 + 8, then the next columns (PTX ISA, mma.m16n8k16)."""
    packed = 4 // a.itemsize
    registers = []
    for column in range(0, a.shape[1], 4 * packed):
        for row in (0, 8):
            parts = np.stack([a[LANES // 4 + row, column + packed * (LANES % 4) + i] for i in range(packed)], 1)
            registers.append(np.ascontiguousarray(parts).view(np.uint32)[:, 0])
    return np.stack(registers, 1)


def b_fragment(b: np.ndarray) -> np.ndarray:
    packed = 4 // b.itemsize
    registers = []
    for row in range(0, b.shape[0], 4 * packed):
        parts = np.stack([b[row + packed * (LANES % 4) + i, LANES // 4] for i in range(packed)], 1)
        registers.append(np.ascontiguousarray(parts).view(np.uint32)[:, 0])
    return np.stack(registers, 1)


def register_list(prefix: str, count: int, first: int) -> str:
    return "{" + ", ".join(f"%{prefix}{first + i}" for i in range(count)) + "}"


def mma_body(shape: str, types: str, a_registers: int, b_registers: int, half: bool, c: str) -> str:
    loads = "\n".join(f"ld.global.b32 %r{10 + i}, [%rd1+{4 * i}];" for i in range(a_registers))
    loads += "\n".join(f"ld.global.b32 %r{20 + i}, [%rd2+{4 * i}];" for i in range(b_registers))
    count, kind = (2, "r") if half else (4, c)
    zero = "\n".join(f"mov.b32 %{kind}{30 + i}, 0;" for i in range(count))
    stores = "\n".join(f"st.global.b32 [%rd3+{4 * i}], %{kind}{40 + i};" for i in range(count))
    return f"""
    mov.u32 %r0, %tid.x;
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    ld.param.u64 %rd3, [p2];
    mul.wide.u32 %rd4, %r0, {4 * a_registers};
    add.u64 %rd1, %rd1, %rd4;
    mul.wide.u32 %rd4, %r0, {4 * b_registers};
    add.u64 %rd2, %rd2, %rd4;
    mul.wide.u32 %rd4, %r0, {4 * count};
    add.u64 %rd3, %rd3, %rd4;
    {loads}
    {zero}
    mma.sync.aligned.{shape}.row.col.{types} {register_list(kind, count, 40)}, {register_list("r", a_registers, 10)}, \
{register_list("r", b_registers, 20)}, {register_list(kind, count, 30)};
    {stores}
    """


@pytest.mark.parametrize(
    ("dtype", "depth", "types", "c"),
    [
        (np.float16, 8, "f32.f16.f16.f32", "f"),
        (np.float16, 16, "f32.f16.f16.f32", "f"),
        (ml_dtypes.bfloat16, 16, "f32.bf16.bf16.f32", "f"),
        (np.float32, 4, "f32.tf32.tf32.f32", "f"),
        (np.float32, 8, "f32.tf32.tf32.f32", "f"),
        (np.int8, 16, "s32.s8.s8.s32", "r"),
        (np.uint8, 32, "s32.u8.u8.s32", "r"),
    ],
)
def test_mma_with_32_bit_results(simulate, dtype, depth, types, c):
    rng = np.random.default_rng(depth)
    low = 0 if dtype == np.uint8 else -4
    a, b = (rng.integers(low, 5, shape).astype(dtype) for shape in [(16, depth), (depth, 8)])
    left, right = a_fragment(a), b_fragment(b)
    d = np.zeros((32, 4), np.float32 if c == "f" else np.int32)
    simulate(mma_body(f"m16n8k{depth}", types, left.shape[1], right.shape[1], False, c), left, right, d)
    result = np.zeros((16, 8), d.dtype)
    for i in range(4):
        result[LANES // 4 + 8 * (i >> 1), 2 * (LANES % 4) + (i & 1)] = d[:, i]
    np.testing.assert_array_equal(result, a.astype(d.dtype) @ b.astype(d.dtype))


def test_mma_with_f16_results(simulate):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in [(16, 16), (16, 8)])
    d = np.zeros((32, 2), np.uint32)
    simulate(mma_body("m16n8k16", "f16.f16.f16.f16", 4, 2, True, "r"), a_fragment(a), b_fragment(b), d)
    halves = d.view(np.float16).reshape(32, 2, 2)
    result = np.zeros((16, 8), np.float16)
    for i in range(2):
        for part in range(2):
            result[LANES // 4 + 8 * i, 2 * (LANES % 4) + part] = halves[:, i, part]
    np.testing.assert_array_equal(result, a @ b)


# Lane L loads 16 bytes of p0, row L of four 8x8 matrices.
STAGE = """
.shared .align 128 .b8 rows[512];
mov.u32 %r0, %tid.x;
mov.u32 %r1, rows;
shl.b32 %r2, %r0, 4;
add.u32 %r1, %r1, %r2;
cvt.u64.u32 %rd0, %r2;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
add.u64 %rd1, %rd1, %rd0;
add.u64 %rd2, %rd2, %rd0;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];
"""


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix(simulate, aligned, trans):
    matrices = aligned(np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8))
    got = aligned(np.zeros((32, 4), np.uint32))
    body = f"""{STAGE}
    st.shared.v4.b32 [%r1], {{%r10, %r11, %r12, %r13}};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%r1];
    st.global.v4.b32 [%rd2], {{%r20, %r21, %r22, %r23}};
    """
    simulate(body, matrices, got)
    rows = matrices.swapaxes(1, 2) if trans else matrices
    for i in range(4):
        expected = np.stack([rows[i, LANES // 4, 2 * (LANES % 4) + part] for part in range(2)], 1)
        np.testing.assert_array_equal(np.ascontiguousarray(got[:, i]).view(np.uint16).reshape(32, 2), expected)


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix_is_the_inverse_of_ldmatrix(simulate, aligned, trans):
    matrices = aligned(np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8))
    got = aligned(np.zeros((4, 8, 8), np.uint16))
    body = f"""{STAGE}
    st.shared.v4.b32 [%r1], {{%r10, %r11, %r12, %r13}};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%r1];
    bar.warp.sync -1;
    mov.b32 %r30, 0;
    st.shared.v4.b32 [%r1], {{%r30, %r30, %r30, %r30}};
    bar.warp.sync -1;
    stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r1], {{%r20, %r21, %r22, %r23}};
    bar.warp.sync -1;
    ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r1];
    st.global.v4.b32 [%rd2], {{%r10, %r11, %r12, %r13}};
    """
    simulate(body, matrices, got)
    np.testing.assert_array_equal(got, matrices)


def test_movmatrix_transposes(simulate):
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    fragment = np.ascontiguousarray(np.stack([matrix[LANES // 4, 2 * (LANES % 4) + i] for i in range(2)], 1))
    got = np.zeros((32, 2), np.uint16)
    body = """
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd0, %r0, 4;
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    add.u64 %rd1, %rd1, %rd0;
    add.u64 %rd2, %rd2, %rd0;
    ld.global.b32 %r1, [%rd1];
    movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
    st.global.b32 [%rd2], %r2;
    """
    simulate(body, fragment, got)
    np.testing.assert_array_equal(got, np.stack([matrix.T[LANES // 4, 2 * (LANES % 4) + i] for i in range(2)], 1))
