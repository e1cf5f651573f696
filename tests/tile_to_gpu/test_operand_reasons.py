"""Why an operand or its scale factors go through registers instead of TMA."""

from __future__ import annotations

from typing import Any

import pytest
from test_matrix_decisions import decisions

import tilec as ct


@ct.kernel
def rounded_and_exact(A, B, C, D):
    a, b = ct.load(A, (0, 0), (128, 64)), ct.load(B, (0, 0), (64, 128)).astype(ct.tfloat32)
    ct.store(C, (0, 0), ct.mma(a.astype(ct.tfloat32), b, ct.zeros((128, 128), ct.float32)))
    ct.store(D, (0, 0), a)


@ct.kernel
def square(A, C):
    """The tile is contiguous along K as the left operand, and along N as the right one."""
    a = ct.load(A, (0, 0), (128, 128)).astype(ct.tfloat32)
    ct.store(C, (0, 0), ct.mma(a, a, ct.zeros((128, 128), ct.float32)))


@ct.kernel
def packed(A, SA, B, SB, C):
    a = ct.unpack_from_bytes(ct.load(A, (0, 0), (128, 64)).reshape((8192,)), ct.float4_e2m1fn).reshape((128, 128))
    b = ct.unpack_from_bytes(ct.load(B, (0, 0), (128, 64)).reshape((8192,)), ct.float4_e2m1fn).reshape((128, 128))
    a_scale, b_scale = ct.load(SA, (0, 0), (128, 4)), ct.load(SB, (0, 0), (4, 128))
    ct.store(C, (0, 0), ct.mma_scaled(a, a_scale, b.transpose(), b_scale, ct.zeros((128, 128), ct.float32)))


@ct.kernel
def scaled(A, SA, B, SB, C, shape: ct.Constant):
    """SA has blocks of 128 rows by 4 factors, as tensor cores read them."""
    a, b = ct.load(A, (0, 0), (128, 256)), ct.load(B, (0, 0), (256, 128))
    blocks = ct.load(SA, (0,) * len(shape), shape)
    a_scale = blocks.reshape((1, 2, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((128, 8))
    b_scale = ct.load(SB, (0, 0), (8, 128))
    ct.store(C, (0, 0), ct.mma_scaled(a, a_scale, b, b_scale, ct.zeros((128, 128), ct.float32)))


@ct.kernel
def carried(A, SA, B, SB, C):
    a, b, b_scale = ct.load(A, (0, 0), (128, 128)), ct.load(B, (0, 0), (128, 128)), ct.load(SB, (0, 0), (4, 128))
    a_scale, acc = ct.load(SA, (0, 0), (128, 4)), ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(SA, 1, (128, 4))):
        acc = ct.mma_scaled(a, a_scale, b, b_scale, acc)
        a_scale = ct.load(SA, (0, k), (128, 4))
    ct.store(C, (0, 0), acc)


F8, SCALE = "f8E4M3FN", "f8E8M0FNU"
SCALED = f"A: {F8}[128,256], SA: {SCALE}[{{}}], B: {F8}[256,128], SB: {SCALE}[8,128], C: f32[128,128], shape={{}}"


@pytest.mark.parametrize(
    ("kernel", "signature", "line", "reason"),
    [
        (
            rounded_and_exact,
            "A: f32[128,64], B: f32[64,128], C: f32[128,128], D: f32[128,64]",
            "  lhs contiguous=1 by registers, since",
            "the tile is used as f32 too",
        ),
        (
            square,
            "A: f32[128,128], C: f32[128,128]",
            "  rhs contiguous=0 by registers, since",
            "another operand reads the same tile in another swizzle",
        ),
        (
            packed,
            f"A: u8[128,64] strides (1,128), SA: {SCALE}[128,4], B: u8[128,64], SB: {SCALE}[4,128], C: f32[128,128]",
            "  lhs contiguous=1 by registers, since",
            "the bytes of the operand are not contiguous in memory along the elements that share them",
        ),
        (
            scaled,
            SCALED.format("1,2,32,16", "(1,2,32,16)"),
            "  scale by TMA",
            "",
        ),
        (
            scaled,
            SCALED.format("1,2,32,16", "(1,2,32,16)").replace("32,16]", "32,16] strides (1024,512,1,32)", 1),
            "  scale by registers, since",
            "the last dimension of the tile is not contiguous in memory",
        ),
        (
            scaled,
            SCALED.format("2,512", "(2,512)"),
            "  scale by registers, since",
            "a box has at most 256 elements along a dimension",
        ),
        (
            carried,
            f"A: {F8}[128,128], SA: {SCALE}[128,8], B: {F8}[128,128], SB: {SCALE}[4,128], C: f32[128,128]",
            "  scale by registers, since",
            "the scale factors are carried by a loop or come out of a branch",
        ),
    ],
)
def test_reason(kernel: Any, signature: str, line: str, reason: str) -> None:
    (decision,) = decisions(kernel, signature, "sm_100a")
    assert f"{line} {reason}".rstrip() in decision.splitlines()
