"""`astype(tfloat32)` rounds once, to nearest even, on every path of an operand, for both A and B."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

# f32 and the nearest tf32 (10 fraction bits), by hand: above a tie, ties to even, a carry into the exponent.
ROUNDED = [
    (1 + 2.0**-11 + 2.0**-12, 1 + 2.0**-10),
    (1 + 2.0**-11, 1.0),
    (1 + 2.0**-10 + 2.0**-11, 1 + 2.0**-9),
    (1 + 2.0**-12, 1.0),
    (1 + 2.0**-11 + 2.0**-23, 1 + 2.0**-10),
    (2 - 2.0**-12, 2.0),
    (-(1 + 2.0**-11 + 2.0**-12), -(1 + 2.0**-10)),
    (-(1 + 2.0**-11), -1.0),
    (1 + 2.0**-10, 1 + 2.0**-10),
    (2.0**-100 * (1 + 2.0**-11 + 2.0**-12), 2.0**-100 * (1 + 2.0**-10)),
]
M, N, K = 128, 64, 32


@ct.kernel
def loaded(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 32)), ct.load(B, (0, 0), (32, 64))
    c = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), ct.zeros((128, 64), ct.float32))
    ct.store(C, (0, 0), c)


@ct.kernel
def permuted(A, B, C):
    a, b = ct.load(A, (0, 0), (32, 128)), ct.load(B, (0, 0), (64, 32))
    a, b = ct.permute(a.astype(ct.tfloat32), (1, 0)), ct.permute(b, (1, 0)).astype(ct.tfloat32)
    ct.store(C, (0, 0), ct.mma(a, b, ct.zeros((128, 64), ct.float32)))


@ct.kernel
def computed(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 32)) * -1.0, ct.load(B, (0, 0), (32, 64)) * -1.0
    c = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), ct.zeros((128, 64), ct.float32))
    ct.store(C, (0, 0), c)


@ct.kernel
def also_used_as_f32(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 32)), ct.load(B, (0, 0), (32, 64))
    c = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), ct.zeros((128, 64), ct.float32))
    exact = ct.sum(a, axis=1, keepdims=True) + ct.sum(b, axis=0, keepdims=True)
    ct.store(C, (0, 0), c)
    ct.store(C, (1, 0), exact)


@ct.kernel
def in_a_loop(A, B, C):
    c = ct.zeros((128, 64), ct.float32)
    for k in range(2):
        a, b = ct.load(A, (0, k), (128, 16)), ct.load(B, (k, 0), (16, 64))
        c = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), c)
    ct.store(C, (0, 0), c)


@ct.kernel
def by_warps(A, B, C):
    """Tiles of 16 rows and columns, which mma.sync multiplies."""
    for i in range(8):
        for j in range(4):
            a, b = ct.load(A, (i, 0), (16, 32)), ct.load(B, (0, j), (32, 16))
            c = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), ct.zeros((16, 16), ct.float32))
            ct.store(C, (i, j), c)


KERNELS = [loaded, permuted, computed, also_used_as_f32, in_a_loop, by_warps]


def _operands(side: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B whose product has each value of one operand in one row (A) or column (B), and that product."""
    given, expected = (np.array(column, np.float32) for column in zip(*ROUNDED, strict=True))
    a, b, c = np.zeros((M, K), np.float32), np.zeros((K, N), np.float32), np.zeros((M, N), np.float32)
    count = len(given)
    if side == "A":
        a[:count, 17], b[17, :] = given, 1
        c[:count] = expected[:, None]
    else:
        a[:, 17], b[17, :count] = 1, given
        c[:, :count] = expected
    return a, b, c


@pytest.mark.covering
@pytest.mark.parametrize("tma", [True, False], ids=["tma", "registers"])
@pytest.mark.parametrize("side", ["A", "B"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_path_rounds_to_nearest_even(kernel, side, tma, target):
    a, b, expected = _operands(side)
    args = [a.T.copy(), b.T.copy()] if kernel is permuted else [a, b]
    rows = 2 * M if kernel is also_used_as_f32 else M
    out = np.zeros((rows, N), np.float32)
    for (found,) in run_everywhere(kernel, (1,), [*args, out], (2,), target=target, hints={"tma": tma}):
        np.testing.assert_array_equal(found[:M], expected)
        if kernel is also_used_as_f32:
            # The same tile as f32 keeps all of its bits: each sum has one or two terms that f64 adds exactly.
            sums = a.sum(1, keepdims=True, dtype=np.float64) + b.sum(0, keepdims=True, dtype=np.float64)
            np.testing.assert_array_equal(found[M:], sums.astype(np.float32))


@pytest.mark.parametrize("mode", ["nearest_away", "zero"])
def test_other_rounding_modes(mode, target):
    """The tensor map rounds to nearest even only, so other modes are converted in registers."""
    text = _tile(mode)
    a, b, _ = _operands("A")
    bits = a.view(np.uint32)
    expected = (bits + (0x1000 if mode == "nearest_away" else 0) & 0xFFFFE000).view(np.float32)
    module = ct.Module.parse(text)
    for backend in ("simulate", "interpret"):
        c = np.zeros((M, N), np.float32)
        ct.run(ct.compile(module, target=target), (1,), [a, b, c], backend=backend)
        np.testing.assert_array_equal(c, expected @ b)


def _view(rows: int, columns: int) -> str:
    strided = f"tensor_view<{rows}x{columns}xf32, strides=[{columns},1]>"
    return f"partition_view<tile=({rows}x{columns}), {strided}>"


def _view_of(name: str, pointer: str, rows: int, columns: int) -> str:
    strided = f"tensor_view<{rows}x{columns}xf32, strides=[{columns},1]>"
    return f"""
    %t{name} = make_tensor_view {pointer}, shape = [{rows}, {columns}], strides = [{columns}, 1] : {strided}
    %v{name} = make_partition_view %t{name} : {_view(rows, columns)}"""


def _tile(mode: str) -> str:
    return f"""
cuda_tile.module @module {{
  entry @kernel(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {{
    %pa = assume div_by<16>, %a : tile<ptr<f32>>
    %pb = assume div_by<16>, %b : tile<ptr<f32>>
{_view_of("a", "%pa", 128, 32)}{_view_of("b", "%pb", 32, 64)}{_view_of("c", "%c", 128, 64)}
    %0 = constant <i32: 0> : tile<i32>
    %x, %x_token = load_view_tko weak %va[%0, %0] : {_view(128, 32)}, tile<i32> -> tile<128x32xf32>, token
    %y, %y_token = load_view_tko weak %vb[%0, %0] : {_view(32, 64)}, tile<i32> -> tile<32x64xf32>, token
    %left = ftof %x rounding<{mode}> : tile<128x32xf32> -> tile<128x32xtf32>
    %right = ftof %y rounding<{mode}> : tile<32x64xf32> -> tile<32x64xtf32>
    %none = constant <f32: 0.0> : tile<128x64xf32>
    %c0 = mmaf %left, %right, %none : tile<128x32xtf32>, tile<32x64xtf32>, tile<128x64xf32>
    %done = store_view_tko weak %c0, %vc[%0, %0] : tile<128x64xf32>, {_view(128, 64)}, tile<i32> -> token
    return
  }}
}}
"""


@ct.kernel
def both_majors(A, C):
    """The tile is K-major as the left operand and MN-major as the right one, which need different swizzles."""
    a = ct.load(A, (0, 0), (128, 128)).astype(ct.tfloat32)
    ct.store(C, (0, 0), ct.mma(a, a, ct.zeros((128, 128), ct.float32)))


def test_one_tile_as_k_major_and_mn_major_operand(target):
    a = np.random.default_rng(1).integers(-8, 8, (128, 128)).astype(np.float32)
    out = np.zeros_like(a)
    for (found,) in run_everywhere(both_majors, (1,), [a, out], (1,), target=target, hints={}):
        np.testing.assert_array_equal(found, a @ a)
