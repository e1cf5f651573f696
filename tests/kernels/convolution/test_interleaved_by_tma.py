"""Images in slices of channels, NC/8HWC8 and NC/16HWC16, that TMA loads for multiplies: equal to numpy in integers."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from direct_convolution import conv_forward
from test_interleaved_convolution import sliced

import tilec as ct
from tilec.errors import UnsupportedError
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn}
STRIDE, DILATION, PADDING = (2, 1), (1, 2), ((1, 0), (2, 2))


def operand(tile):
    return tile.astype(ct.tfloat32) if tile.dtype == ct.float32 else tile


@ct.kernel
def convolution(X, F, Y, c: Const, tm: Const, tn: Const, tk: Const, extra: Const, mode: ct.Constant[str]):
    """`extra` tiles of channels beyond the last one are zero. F is [K, taps, C], K-major."""
    i, j = ct.bid(0), ct.bid(1)
    x = ct.im2col_view(
        X, (3, 2), stride=STRIDE, dilation=DILATION, padding=PADDING, tile=(tm, tk), interleave=c, mode=mode
    )
    total = ct.zeros((tm, tn), ct.float32)
    for r in range(3):
        for s in range(2):
            for k in range(x.num_tiles(1) + extra):
                f = ct.load(F, (j, r * 2 + s, k), (tn, 1, tk), padding_mode=ZERO).reshape((tn, tk)).transpose()
                total = ct.mma(operand(x.load((i, k), offset=(r, s))), operand(f), total)
    ct.store(Y, (i, j), total)


@ct.kernel
def convolution_1d(X, F, Y, c: Const, tm: Const, tn: Const, tk: Const):
    i, j = ct.bid(0), ct.bid(1)
    x = ct.im2col_view(X, 3, stride=2, dilation=3, padding=((2, 4),), tile=(tm, tk), interleave=c)
    total = ct.zeros((tm, tn), ct.float32)
    for s in range(3):
        for k in range(x.num_tiles(1)):
            f = ct.load(F, (j, s, k), (tn, 1, tk), padding_mode=ZERO).reshape((tn, tk)).transpose()
            total = ct.mma(x.load((i, k), offset=s), f, total)
    ct.store(Y, (i, j), total)


@ct.kernel
def gradient(X, D, G, c: Const, tm: Const, tn: Const, tk: Const):
    """G[c, k] = the sum over pixels of X[pixel, c] D[pixel, k], at one tap: the slices are along M."""
    x = ct.im2col_view(X, (1, 1), tile=(tk, tm), interleave=c)
    total = ct.zeros((tm, tn), ct.float32)
    for p in range(x.num_tiles(0)):
        d = ct.load(D, (p, 0), (tk, tn), padding_mode=ZERO)
        total = ct.mma(operand(x.load((p, ct.bid(0)), offset=(0, 0)).transpose()), operand(d), total)
    ct.store(G, (ct.bid(0), 0), total)


def signature_of(kernel, args, **shape):
    """The signature of a launch whose first array has known slices."""
    first, *others = Signature.from_arguments(kernel, args).arguments
    known = [None] * len(args[0].shape)
    known[1], known[-1] = args[0].shape[1], args[0].shape[-1]
    return Signature((replace(first, shape=tuple(known)), *others))


def run(kernel, grid, args, target, seeds=(0, 1)):
    """The third argument, from the simulator and the interpreter, of a kernel that TMA loads images for."""
    compiled = ct.compile(kernel, signature=signature_of(kernel, args), target=target)
    assert ".im2col." in compiled.ptx and ("tcgen05.mma." in compiled.ptx or "wgmma.mma_async" in compiled.ptx)
    found = []
    for settings in [*({"backend": "simulate", "seed": seed} for seed in seeds), {"backend": "interpret"}]:
        result = np.full_like(args[2], 99)
        ct.run(compiled, grid, (*args[:2], result, *args[3:]), **settings)
        found.append(result)
    return found


def problem(random, channels, filters, dtype, taps):
    X = random.integers(-3, 4, (2, 12, 9, channels)).astype(dtype)
    F = random.integers(-3, 4, (filters, *taps, channels)).astype(dtype)
    return X, F


@pytest.mark.parametrize(
    ("kind", "c", "channels", "tk"),
    [
        ("f16", 8, 20, 16), ("f16", 8, 40, 32), ("f16", 8, 64, 64), ("f16", 16, 20, 16), ("f16", 16, 72, 64),
        ("bf16", 8, 72, 64), ("bf16", 16, 48, 32), ("tf32", 4, 20, 16), ("tf32", 8, 20, 16), ("tf32", 8, 40, 32),
        ("e4m3", 16, 40, 32), ("e4m3", 32, 70, 64), ("e4m3", 16, 16, 64),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("tm", "tn"), [(128, 64), (64, 32)], ids=["128", "64"])
def test_convolution(target, random, kind, c, channels, tk, tm, tn):
    X, F = problem(random, channels, 72, KINDS[kind], (3, 2))
    exact = conv_forward(X, F, STRIDE, DILATION, PADDING)
    flat, columns = exact.reshape(-1, 72).astype(np.float32), -(-channels // c) * c
    padded = np.zeros((72, 6, -(-columns // 16) * 16), F.dtype)
    padded[..., :channels] = F.reshape(72, 6, channels)
    # Five tiles of 64 channels begin beyond the slices that an offset of 5 bits reaches.
    extra = 5 if tk == 64 else 1
    args = (sliced(X, c), padded, np.zeros_like(flat), c, tm, tn, tk, extra, "im2col")
    for found in run(convolution, (-(-len(flat) // tm), -(-72 // tn)), args, target):
        np.testing.assert_array_equal(found, flat)


@pytest.mark.parametrize("c", [8, 16])
def test_images_of_one_dimension(target, random, c):
    X, F = random.integers(-3, 4, (3, 37, 40)).astype("f2"), random.integers(-3, 4, (64, 3, 40)).astype("f2")
    flat = conv_forward(X, F, (2,), (3,), ((2, 4),)).reshape(-1, 64).astype(np.float32)
    args = (sliced(X, c), F, np.zeros_like(flat), c, 64, 64, 32)
    for found in run(convolution_1d, (-(-len(flat) // 64), 1), args, target):
        np.testing.assert_array_equal(found, flat)


@pytest.mark.parametrize(("kind", "c"), [("f16", 8), ("f16", 16), ("bf16", 8)])
@pytest.mark.parametrize("tm", [64, 128])
def test_slices_along_the_rows_of_a_multiply(target, random, kind, c, tm):
    X = random.integers(-3, 4, (2, 6, 9, 120)).astype(KINDS[kind])
    D = random.integers(-3, 4, (108, 64)).astype(KINDS[kind])
    exact = X.reshape(108, 120).astype("f4").T @ D.astype("f4")
    args = (sliced(X, c), D, np.zeros((120, 64), np.float32), c, tm, 64, 32)
    for found in run(gradient, (-(-120 // tm),), args, target):
        np.testing.assert_array_equal(found, exact)


def test_no_slices_of_tf32_along_the_rows(random):
    """tcgen05 reads them in the swizzle of atoms of 32 bytes alone, so threads prepare the operand."""
    X, D = random.integers(-3, 4, (2, 6, 9, 64)).astype("f4"), random.integers(-3, 4, (108, 64)).astype("f4")
    args = (sliced(X, 8), D, np.zeros((64, 64), np.float32), 8, 64, 64, 32)
    compiled = ct.compile(gradient, signature=signature_of(gradient, args), target="sm_100a")
    reason = "tcgen05 needs tf32 in swizzle 128B_atom_32B, which is wider than a slice of channels"
    assert any(reason in str(remark) for remark in compiled.all_remarks), compiled.all_remarks
    for backend in ("simulate", "interpret"):
        found = np.zeros_like(args[2])
        ct.run(compiled, (1,), (*args[:2], found, *args[3:]), backend=backend)
        np.testing.assert_array_equal(found, X.reshape(108, 64).T @ D)


REFUSED = {
    "unknown slices": ("f16[?,?,?,?,8]", 8, 32, "the number of slices is not a constant: state the second extent"),
    "part of a slice": ("f16[?,4,?,?,16]", 16, 8, "TMA loads whole slices of 16 channels, got 8"),
    "many slices": ("f16[?,18,?,?,8]", 8, 32, "TMA expects -16 to 15 along D for kind im2col of 5 dimensions, got -17"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(target, case):
    images, c, tk, reason = REFUSED[case]
    signature = f"X: {images}, F: f16[?,?,?%8], Y: f32[?,?%4], c={c}, tm=64, tn=32, tk={tk}, extra=0, mode={{}}"
    compiled = ct.compile(convolution, signature=signature.format("None"), target=target, stop="ptx")
    assert any(reason in str(remark) for remark in compiled.all_remarks) and ".im2col." not in compiled.ptx
    with pytest.raises(UnsupportedError, match="mode=im2col cannot be followed"):
        ct.compile(convolution, signature=signature.format("'im2col'"), target=target, stop="ptx")


def test_no_slices_of_3d_images(target):
    @ct.kernel
    def kernel(X, F, Y):
        x = ct.im2col_view(X, (1, 1, 1), tile=(64, 32), interleave=8)
        f = ct.load(F, (0, 0), (32, 32))
        ct.store(Y, (ct.bid(0), 0), ct.mma(x.load((ct.bid(0), 0), offset=(0, 0, 0)), f, ct.zeros((64, 32), ct.float32)))

    compiled = ct.compile(
        kernel, signature="X: f16[?,2,?,?,?,8], F: f16[32,32], Y: f32[?,32]", target=target, stop="ptx"
    )
    assert any("TMA has 5 dimensions, and slices of 3D images 6" in str(remark) for remark in compiled.all_remarks)
