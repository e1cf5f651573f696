"""Kernels that multiply floats of 4, 6 and 8 bits of different types, and their operands."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import tilec as ct

Const = ct.Constant[int]
# By name: the type of ml_dtypes, which the codes of operands are decoded with, and the element in signatures.
FORMATS = {
    "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, "f8E4M3FN"),
    "float8_e5m2": (ml_dtypes.float8_e5m2, "f8E5M2"),
    "float6_e2m3fn": (ml_dtypes.float6_e2m3fn, "f6E2M3FN"),
    "float6_e3m2fn": (ml_dtypes.float6_e3m2fn, "f6E3M2FN"),
    "float4_e2m1fn": (ml_dtypes.float4_e2m1fn, "f4E2M1FN"),
}
# Products of multiples of 1/16 up to 8 are multiples of 1/256 up to 64: float32 sums of 1,024 of them are exact.
_LARGEST = 8.0
_LEAST = 1.0 / 16.0
PACKED = tuple(name for name in FORMATS if not name.startswith("float8"))


@ct.kernel
def product(A, B, C, tm: Const, tn: Const, tk: Const, a_type: ct.Constant, b_type: ct.Constant):
    i, j = ct.bid(0), ct.bid(1)
    a_view = ct.packed_view(A, dtype=a_type, tile=(tm, tk)) if a_type.bitwidth < 8 else A.tiled_view((tm, tk))
    b_view = ct.packed_view(B, dtype=b_type, tile=(tn, tk)) if b_type.bitwidth < 8 else B.tiled_view((tn, tk))
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(a_view.num_tiles(1)):
        total = ct.mma(a_view.load((i, k)), b_view.load((j, k)).transpose(), total)
    ct.store(C, (i, j), total)


@ct.kernel
def scaled_product(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const, a_type: ct.Constant, b_type: ct.Constant):
    i, j = ct.bid(0), ct.bid(1)
    a_view = ct.packed_view(A, dtype=a_type, tile=(tm, tk)) if a_type.bitwidth < 8 else A.tiled_view((tm, tk))
    b_view = ct.packed_view(B, dtype=b_type, tile=(tn, tk)) if b_type.bitwidth < 8 else B.tiled_view((tn, tk))
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(a_view.num_tiles(1)):
        a_scale = ct.load(SA, (i, k), (tm, tk // 32))
        b_scale = ct.load(SB, (k, j), (tk // 32, tn))
        total = ct.mma_scaled(a_view.load((i, k)), a_scale, b_view.load((j, k)).transpose(), b_scale, total)
    ct.store(C, (i, j), total)


def halves(tile, rows: Const, columns: Const):
    flat = tile.reshape((rows * columns // 2,))
    return ct.unpack_from_bytes(flat, ct.float4_e2m1fn).reshape((rows, columns))


@ct.kernel
def product_of_bytes(A, B, C, tm: Const, tn: Const, tk: Const):
    """A and B hold the bytes of float4_e2m1fn, which are unpacked from tiles."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk // 2))):
        a = halves(ct.load(A, (i, k), (tm, tk // 2)), tm, tk)
        b = halves(ct.load(B, (j, k), (tn, tk // 2)), tn, tk)
        total = ct.mma(a, b.transpose(), total)
    ct.store(C, (i, j), total)


@ct.kernel
def product_and_sum(A, B, C, S, tm: Const, tn: Const, tk: Const, a_type: ct.Constant):
    """Threads read the elements of A too."""
    view = ct.packed_view(A, dtype=a_type, tile=(tm, tk))
    total, sums = ct.zeros((tm, tn), ct.float32), ct.zeros((tm,), ct.float32)
    for k in range(view.num_tiles(1)):
        a = view.load((0, k))
        total = ct.mma(a, ct.load(B, (0, k), (tn, tk)).transpose(), total)
        sums = sums + ct.sum(a.astype(ct.float32), 1)
    ct.store(C, (0, 0), total)
    ct.store(S, 0, sums)


@ct.kernel
def chained(A, B, C, D, tm: Const, tn: Const, tk: Const, dtype: ct.Constant):
    """(A @ B) in another type, @ C."""
    view = ct.packed_view(A, dtype=ct.float6_e2m3fn, tile=(tm, tk))
    first = ct.mma(view.load((0, 0)), ct.load(B, (0, 0), (tk, tn)), ct.zeros((tm, tn), ct.float32))
    ct.store(D, (0, 0), ct.mma(first.astype(dtype), ct.load(C, (0, 0), (tn, tn)), ct.zeros((tm, tn), ct.float32)))


def values(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random values of a type, all of those that have magnitudes of at most 8 and are multiples of 1/16."""
    codes = np.arange(1 << (int(name[5]) if name in PACKED else 8), dtype=np.uint8)
    every = codes.view(FORMATS[name][0]).astype(np.float32)
    chosen = every[np.isfinite(every) & (np.abs(every) <= _LARGEST) & (every / _LEAST == np.round(every / _LEAST))]
    return random.choice(chosen, shape)


def operand(numbers: np.ndarray, name: str) -> np.ndarray:
    """The array of an operand, which begins at a multiple of 32 bytes: of its type, or packed."""
    return aligned(ct.pack_rows(numbers, getattr(ct, name)) if name in PACKED else numbers.astype(FORMATS[name][0]))


def aligned(stored: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 32 bytes."""
    room = np.zeros(stored.nbytes + 32, np.uint8)
    start = -room.ctypes.data % 32
    placed = room[start : start + stored.nbytes].view(stored.dtype).reshape(stored.shape)
    placed[...] = stored
    return placed


def declared(array: np.ndarray, name: str) -> str:
    """The type of an operand in a signature whose facts let TMA unpack it."""
    return f"u8[?,{array.shape[1]}] align 32" if name in PACKED else f"{FORMATS[name][1]}[?,?]"


def constants(*names: str) -> list[Any]:
    """The element types of these names."""
    return [getattr(ct, name) for name in names]


@ct.kernel
def rounded(X, Y, tm: Const, tn: Const):
    tile = ct.load(X, (ct.bid(0), ct.bid(1)), (tm, tn))
    ct.packed_view(Y, dtype=ct.float6_e3m2fn, tile=(tm, tn)).store(
        (ct.bid(0), ct.bid(1)), tile.astype(ct.float6_e3m2fn)
    )


@ct.kernel
def low_bits(X, Y, tm: Const, tn: Const):
    """Bytes whose upper bits a store drops."""
    ct.packed_view(Y, bits=6, tile=(tm, tn)).store((ct.bid(0), ct.bid(1)), ct.load(X, (ct.bid(0), ct.bid(1)), (tm, tn)))


@ct.kernel
def product_and_bytes(A, B, C, S, tm: Const, tn: Const, tk: Const):
    """Threads read the bytes of A too."""
    total, sums = ct.zeros((tm, tn), ct.float32), ct.zeros((tm,), ct.int32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk // 2))):
        a = ct.load(A, (0, k), (tm, tk // 2))
        total = ct.mma(halves(a, tm, tk), ct.load(B, (0, k), (tn, tk)).transpose(), total)
        sums = sums + ct.sum(a.astype(ct.int32), 1)
    ct.store(C, (0, 0), total)
    ct.store(S, 0, sums)


@ct.kernel
def product_of_rows(A, B, C, tm: Const, tn: Const, tk: Const):
    """B is stored as K by N."""
    view, total = ct.packed_view(A, dtype=ct.float6_e2m3fn, tile=(tm, tk)), ct.zeros((tm, tn), ct.float32)
    for k in range(view.num_tiles(1)):
        total = ct.mma(view.load((0, k)), ct.load(B, (k, 0), (tk, tn)), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def product_of_columns(A, B, C, tm: Const, tn: Const, tk: Const):
    """A is stored as K by M, so that its packed rows are not along K."""
    view, total = ct.packed_view(A, dtype=ct.float6_e2m3fn, tile=(tk, tm)), ct.zeros((tm, tn), ct.float32)
    for k in range(view.num_tiles(0)):
        total = ct.mma(view.load((k, 0)).transpose(), ct.load(B, (k, 0), (tk, tn)), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def batch(A, B, C):
    a = ct.packed_view(A, dtype=ct.float6_e2m3fn, tile=(2, 64, 128)).load((0, 0, 0))
    ct.store(C, (0, 0, 0), ct.mma(a, ct.load(B, (0, 0, 0), (2, 128, 32)), ct.zeros((2, 64, 32), ct.float32)))


@ct.kernel
def product_of_strided_bytes(A, B, C, order: ct.Constant):
    """The bytes of A are loaded through a strided view, or through another one."""
    view = A.tiled_view((64, 64), traversal_steps=(32, 64)) if order is None else A
    a = view.load((0, 0)) if order is None else ct.load(A, (0, 0), (64, 64), order=order)
    b = ct.load(B, (0, 0), (128, 32))
    ct.store(C, (0, 0), ct.mma(halves(a, 64, 128), b, ct.zeros((64, 32), ct.float32)))
