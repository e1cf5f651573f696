"""The kernels of docs/tensor_core.md, which prints them and the PTX that they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import tilec
import tilec as ct
from tilec.dialect.tilex.im2col_rules import MODES

Const = ct.Constant[int]


@ct.kernel
def product(A, B, C, tm: Const, tn: Const, tk: Const, dtype: ct.Constant):
    """C = A @ B.T, of elements that are multiplied as dtype."""
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (ct.bid(1), k), (tn, tk))
        total = ct.mma(a.astype(dtype), b.astype(dtype).transpose(), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def chained(A, B, C, D):
    """D = (A @ B) @ C: the first product is the operand A of the second."""
    total = ct.zeros((128, 64), ct.float32)
    for k in range(ct.num_tiles(C, axis=0, shape=(64, 64))):
        scores = ct.mma(ct.load(A, (0, 0), (128, 64)), ct.load(B, (0, k), (64, 64)), ct.zeros((128, 64), ct.float32))
        total = ct.mma(scores.astype(ct.float16), ct.load(C, (k, 0), (64, 64)), total)
    ct.store(D, (0, 0), total)


@ct.kernel
def scaled(A, SA, B, SB, C, a_type: ct.Constant, b_type: ct.Constant, block: Const):
    """C = A @ B.T, where `block` elements along K share a factor. Elements of 4 and 6 bits are packed in bytes."""
    a_view = ct.packed_view(A, dtype=a_type, tile=(128, 128)) if a_type.bitwidth < 8 else A.tiled_view((128, 128))
    b_view = ct.packed_view(B, dtype=b_type, tile=(64, 128)) if b_type.bitwidth < 8 else B.tiled_view((64, 128))
    total = ct.zeros((128, 64), ct.float32)
    for k in range(a_view.num_tiles(1)):
        a_scale, b_scale = ct.load(SA, (0, k), (128, 128 // block)), ct.load(SB, (k, 0), (128 // block, 64))
        total = ct.mma_scaled(a_view.load((0, k)), a_scale, b_view.load((0, k)).transpose(), b_scale, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def narrow(A, B, C, a_type: ct.Constant, b_type: ct.Constant):
    """C = A @ B.T of floats of 4, 6 and 8 bits."""
    a_view = ct.packed_view(A, dtype=a_type, tile=(128, 128)) if a_type.bitwidth < 8 else A.tiled_view((128, 128))
    b_view = ct.packed_view(B, dtype=b_type, tile=(64, 128)) if b_type.bitwidth < 8 else B.tiled_view((64, 128))
    total = ct.zeros((128, 64), ct.float32)
    for k in range(a_view.num_tiles(1)):
        total = ct.mma(a_view.load((0, k)), b_view.load((0, k)).transpose(), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def convolution(X, F, Y, mode: ct.Constant[str], stored: ct.Constant):
    """Images [N, H, W, C], filters [R, S, C, K] of 3 by 3 with padding along W alone, outputs [N, P, Q, K]."""
    pixels = ct.im2col_view(X, window=(3, 3), padding=(0, 1), tile=(128, 32), mode=mode)
    outputs = ct.im2col_view(Y, window=1, tile=(128, 32), mode=stored)
    total = ct.zeros((128, 32), ct.float32)
    for r in range(3):
        for c in range(pixels.num_tiles(1)):
            for s in range(3):
                filters = ct.load(F, (r, s, c, 0), (1, 1, 32, 32)).reshape((32, 32))
                total = ct.mma(ct.load(pixels, (ct.bid(0), c), offset=(r, s)), filters, total)
    ct.store(outputs, (ct.bid(0), 0), total.astype(Y.dtype))


@ct.kernel
def sparse(A, M, B, C):
    """C = A @ B, where A keeps two of each four elements, which M names."""
    total = ct.zeros((128, 64), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(128, 32))):
        a, metadata = ct.load(A, (0, k), (128, 32)), ct.load(M, (0, k), (128, 2))
        total = ct.mma_sparse(a, metadata, ct.load(B, (k, 0), (64, 64)), total)
    ct.store(C, (0, 0), total)


@dataclass(frozen=True)
class Program:
    """A kernel with a signature and the targets that it is compiled for."""

    kernel: Any
    signature: str
    targets: tuple[str, ...] = ("sm_100a",)
    hints: Mapping[str, Any] = field(default_factory=dict)


BOTH = ("sm_100a", "sm_90a")
# Element types by their text in signatures.
TYPES = {
    "f16": ct.float16,
    "tf32": ct.tfloat32,
    "i8": ct.int8,
    "f8E4M3FN": ct.float8_e4m3fn,
    "f6E2M3FN": ct.float6_e2m3fn,
    "f4E2M1FN": ct.float4_e2m1fn,
}
# Arrays of packed elements whose rows and addresses TMA unpacks, of K = 512 elements.
_PACKED = {"f8E4M3FN": "f8E4M3FN[?,?]", "f6E2M3FN": "u8[?,384] align 32", "f4E2M1FN": "u8[?,256] align 32"}


def _product(array: str, accumulator: str, dtype: str, depth: int) -> Program:
    arrays = f"A: {array}[?,?], B: {array}[?,?], C: {accumulator}[?,?]"
    return Program(product, f"{arrays}, tm=128, tn=64, tk={depth}, dtype={dtype}", BOTH)


def _scaled(a: str, b: str, scale: str, block: int) -> Program:
    arrays = f"A: {_PACKED[a]}, SA: {scale}[?,?], B: {_PACKED[b]}, SB: {scale}[?,?], C: f32[?,?]"
    return Program(scaled, f"{arrays}, a_type={a}, b_type={b}, block={block}")


def _convolution(mode: str, stored: str = "None", targets: tuple[str, ...] = BOTH, **hints: Any) -> Program:
    arrays = "X: f16[?,9,9,32], F: f16[3,3,32,32], Y: f16[?,7,9,32]"
    return Program(convolution, f"{arrays}, mode='{mode}', stored={stored}", targets, hints)


PROGRAMS = {
    "product f16": _product("f16", "f32", "f16", 64),
    "product tf32": _product("f32", "f32", "tf32", 32),
    "product i8": _product("i8", "i32", "i8", 64),
    "product e4m3": _product("f8E4M3FN", "f32", "f8E4M3FN", 128),
    "chained": Program(chained, "A: f16[?,?], B: f16[?,?], C: f16[?,?], D: f32[?,?]"),
    "narrow e2m3 e2m1": Program(
        narrow,
        f"A: {_PACKED['f6E2M3FN']}, B: {_PACKED['f4E2M1FN']}, C: f32[?,?], a_type=f6E2M3FN, b_type=f4E2M1FN",
    ),
    "scaled mxf8": _scaled("f8E4M3FN", "f8E4M3FN", "f8E8M0FNU", 32),
    "scaled mxf6": _scaled("f6E2M3FN", "f8E4M3FN", "f8E8M0FNU", 32),
    "scaled mxf4": _scaled("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32),
    "scaled nvf4": _scaled("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16),
    "sparse": Program(sparse, "A: f16[?,?], M: u32[?,?], B: f16[?,?], C: f32[?,?]"),
    "convolution im2col": _convolution("im2col"),
    "convolution run": _convolution("run"),
    "convolution weights": _convolution("weights", "'w'", ("sm_100a",), allow_unconfirmed=True),
}
if "stationary" in MODES:
    PROGRAMS["convolution stationary"] = _convolution("stationary", "'w128'", ("sm_100a",), allow_unconfirmed=True)


@cache
def compiled(name: str, target: str) -> tilec.Compiled:
    """The program of this name, compiled to PTX."""
    program = PROGRAMS[name]
    return tilec.compile(
        program.kernel, target=target, signature=program.signature, hints=dict(program.hints), stop="ptx"
    )
