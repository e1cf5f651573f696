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


@ct.kernel
def one_row(X, Y, n: ct.Constant[int]):
    total = ct.zeros((n,), ct.float32)
    for i in range(ct.num_tiles(X, 0, (n,))):
        total = total + ct.load(X, (i,), (n,))
    ct.store(Y, (0,), total)


@ct.kernel
def three_rows(X, Y, Z, R, n: ct.Constant[int]):
    total = ct.zeros((n,), ct.float32)
    for i in range(ct.num_tiles(X, 0, (n,))):
        total = total + ct.load(X, (i,), (n,)) * ct.load(Y, (i,), (n,)) + ct.load(Z, (i,), (n,))
    ct.store(R, (0,), total)


PACKED_LOOP = """
!V = tensor_view<64x128xf4E2M1FN, strides=[128,1]>
!T = partition_view<tile=(64x128), !V>
entry @k(%p: tile<ptr<f4E2M1FN>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %z = constant <i32: 0> : tile<i32>
  %o = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %a, shape = [64, 128], strides = [128, 1] : !V
  %t = make_partition_view %v : !T
  for %i in (%z to %n, step %o) : tile<i32> {
    %x, %u = load_view_tko weak %t[%i, %z] : !T, tile<i32> -> tile<64x128xf4E2M1FN>, token
    store_view_tko weak %x, %t[%z, %z] : tile<64x128xf4E2M1FN>, !T, tile<i32> -> token
  }
  return
}
"""
GATHERED_PRODUCT = """
!V = tensor_view<256x128xf4E2M1FN, strides=[128,1]>
!G = gather_scatter_view<tile=(128x128), !V, sparse_dim=0>
!C = tensor_view<128x128xf32, strides=[128,1]>
!T = partition_view<tile=(128x128), !C>
entry @k(%p: tile<ptr<f4E2M1FN>>, %c: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %r = iota : tile<128xi32>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [256, 128], strides = [128, 1] : !V
  %g = make_gather_scatter_view %v : !G
  %x, %t = load_view_tko weak %g[%r, %i] : !G, tile<128xi32>, tile<i32> -> tile<128x128xf4E2M1FN>, token
  %y = permute %x [1, 0] : tile<128x128xf4E2M1FN> -> tile<128x128xf4E2M1FN>
  %s = constant <f8E8M0FNU: 1.0> : tile<128x4xf8E8M0FNU>
  %q = constant <f8E8M0FNU: 1.0> : tile<4x128xf8E8M0FNU>
  %z = constant <f32: 0.0> : tile<128x128xf32>
  %m = mmaf_scaled %x, %y, %z, %s, %q : tile<128x128xf4E2M1FN>, tile<128x128xf4E2M1FN>, tile<128x128xf32>,
    tile<128x4xf8E8M0FNU>, tile<4x128xf8E8M0FNU>
  %cv = make_tensor_view %c, shape = [128, 128], strides = [128, 1] : !C
  %ct = make_partition_view %cv : !T
  store_view_tko weak %m, %ct[%i, %i] : tile<128x128xf32>, !T, tile<i32> -> token
  return
}
"""


@pytest.mark.parametrize(
    ("kernel", "signature", "message"),
    [
        (
            one_row,
            "X: f32[?], Y: f32[?], n=16384",
            "the load does not use TMA: a ring of tiles of 65536 bytes has fewer than two slots",
        ),
        (
            three_rows,
            "X: f32[?], Y: f32[?], Z: f32[?], R: f32[?], n=8192",
            "the load does not use TMA: the tiles that loops load have 98304 bytes, and rings of them fewer than "
            "three slots",
        ),
        (PACKED_LOOP, None, "the load does not use TMA: its elements share bytes"),
        (
            GATHERED_PRODUCT,
            None,
            "TMA does not load the left operand: rows of elements of 4 bits are gathered through registers",
        ),
    ],
)
def test_remark(kernel: Any, signature: str | None, message: str) -> None:
    source = ct.Module.parse(kernel) if signature is None else kernel
    compiled = ct.compile(source, target="sm_100a", signature=signature, stop="gpu-raw")
    found = [remark for remark in compiled.all_remarks if remark.message == message]
    assert found and all(remark.topic == "tma" and remark.location is not None for remark in found)
