"""Multiplies of batches of matrices."""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def batched(A, B, C, tm: Const, tn: Const, tk: Const):
    """Three-dimensional tiles whose first extent is 1, reshaped before and after mma."""
    i, j, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(1, tm, tk))):
        a = ct.load(A, index=(batch, i, k), shape=(1, tm, tk), padding_mode=ZERO).reshape((tm, tk))
        b = ct.load(B, index=(batch, k, j), shape=(1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(batch, i, j), tile=acc.astype(C.dtype).reshape((1, tm, tn)))


@ct.kernel
def batches(A, B, C, tb: Const, tm: Const, tn: Const, tk: Const):
    """Several products per block: mma of three-dimensional tiles, whose accumulators the loop over K carries."""
    i, j, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.full((tb, tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(tb, tm, tk))):
        a = ct.load(A, index=(batch, i, k), shape=(tb, tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(batch, k, j), shape=(tb, tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(batch, i, j), tile=acc.astype(C.dtype))


@ct.kernel
def batches_of_type(A, B, C, tb: Const, tm: Const, tn: Const, tk: Const):
    """The products of one tile each of A, and of B for the whole batch, in accumulators of the type of C."""
    a = ct.load(A, index=(ct.bid(0), 0, 0), shape=(tb, tm, tk))
    b = ct.broadcast_to(ct.load(B, index=(0, 0, 0), shape=(1, tk, tn)), (tb, tk, tn))
    ct.store(C, index=(ct.bid(0), 0, 0), tile=ct.mma(a, b, ct.full((tb, tm, tn), 1, dtype=C.dtype)))


@ct.kernel
def batches_from_memory(A, B, C, D, tb: Const, tm: Const, tn: Const, tk: Const):
    """D = (|A| @ B^T + C) * 2: a computed operand, a transposed one, and an accumulator from memory that is scaled."""
    a = abs(ct.load(A, index=(0, 0, 0), shape=(tb, tm, tk)))
    b = ct.permute(ct.load(B, index=(0, 0, 0), shape=(tb, tn, tk)), (0, 2, 1))
    c = ct.mma(a, b, ct.load(C, index=(0, 0, 0), shape=(tb, tm, tn)))
    ct.store(D, index=(0, 0, 0), tile=c * 2.0)


@ct.kernel
def batches_chained(A, B, D, tb: Const, t: Const):
    """D = ((A @ B) @ B) + 1 with accumulators that a branch and a loop change as a whole."""
    a = ct.load(A, index=(0, 0, 0), shape=(tb, t, t))
    b = ct.load(B, index=(0, 0, 0), shape=(tb, t, t))
    acc = ct.full((tb, t, t), 0, dtype=ct.float32)
    for _ in range(2):
        acc = ct.mma(a, b, acc * 0.0)
        a = acc.astype(A.dtype)
    if ct.bid(0) == 0:
        acc = acc + 1.0
    ct.store(D, index=(0, 0, 0), tile=acc)


@ct.kernel
def fourier(X, R, Y, tb: Const, f: Const, g: Const):
    """The discrete Fourier transform of f * g complex points per row as products of real tiles, batched.

    X and Y are (rows, f * g, 2), R the roots of unity of f * g as (f * g, 2).
    """
    n = f * g
    x = ct.load(X, index=(ct.bid(0), 0, 0), shape=(tb, n, 2))
    re = ct.extract(x, index=(0, 0, 0), shape=(tb, n, 1)).reshape((tb, f, g))
    im = ct.extract(x, index=(0, 0, 1), shape=(tb, n, 1)).reshape((tb, f, g))
    # The transform of the columns, of f points each.
    powers = ct.arange(f, dtype=ct.int32)[:, None] * ct.arange(f, dtype=ct.int32)[None, :] % f * g
    c, s = ct.gather(R, (powers, 0)), ct.gather(R, (powers, 1))
    c, s = ct.broadcast_to(c[None, :, :], (tb, f, f)), ct.broadcast_to(s[None, :, :], (tb, f, f))
    re, im = ct.matmul(c, re) - ct.matmul(s, im), ct.matmul(c, im) + ct.matmul(s, re)
    # The twiddle factors between the columns and the rows.
    powers = ct.arange(f, dtype=ct.int32)[:, None] * ct.arange(g, dtype=ct.int32)[None, :]
    c, s = ct.gather(R, (powers, 0)), ct.gather(R, (powers, 1))
    re, im = re * c[None, :, :] - im * s[None, :, :], re * s[None, :, :] + im * c[None, :, :]
    # The transform of the rows, of g points each.
    powers = ct.arange(g, dtype=ct.int32)[:, None] * ct.arange(g, dtype=ct.int32)[None, :] % g * f
    c, s = ct.gather(R, (powers, 0)), ct.gather(R, (powers, 1))
    c, s = ct.broadcast_to(c[None, :, :], (tb, g, g)), ct.broadcast_to(s[None, :, :], (tb, g, g))
    re, im = ct.matmul(re, c) - ct.matmul(im, s), ct.matmul(im, c) + ct.matmul(re, s)
    re, im = ct.permute(re, (0, 2, 1)).reshape((tb, n, 1)), ct.permute(im, (0, 2, 1)).reshape((tb, n, 1))
    ct.store(Y, index=(ct.bid(0), 0, 0), tile=ct.cat((re, im), 2))
