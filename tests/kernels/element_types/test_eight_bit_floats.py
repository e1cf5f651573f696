"""8-bit floats without arithmetic: every operation that moves elements preserves their bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Const = ct.Constant[int]
DTYPES = [ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@ct.kernel
def copied(X, Y, Z, rows: Const, columns: Const):
    ct.store(Z, index=(ct.bid(0), 0), tile=ct.load(X, index=(ct.bid(0), 0), shape=(rows, columns)))


@ct.kernel
def permuted(X, Y, Z, rows: Const, columns: Const):
    ct.store(Z, index=(0, 0), tile=ct.transpose(ct.load(X, index=(0, 0), shape=(rows, columns))))


@ct.kernel
def reshaped(X, Y, Z, rows: Const, columns: Const):
    ct.store(Z, index=(0, 0), tile=ct.load(X, index=(0, 0), shape=(rows, columns)).reshape((columns, rows)))


@ct.kernel
def joined(X, Y, Z, rows: Const, columns: Const):
    x, y = (ct.load(X, index=(0, 0), shape=(rows, columns)), ct.load(Y, index=(0, 0), shape=(rows, columns)))
    ct.store(Z, index=(0, 0), tile=ct.cat((x, y), 0))


@ct.kernel
def stretched(X, Y, Z, rows: Const, columns: Const):
    ct.store(Z, index=(0, 0), tile=ct.broadcast_to(ct.load(X, index=(0, 0), shape=(rows, 1)), (rows, columns)))


@ct.kernel
def chosen(X, Y, Z, rows: Const, columns: Const):
    x, y = (ct.load(X, index=(0, 0), shape=(rows, columns)), ct.load(Y, index=(0, 0), shape=(rows, columns)))
    even = ct.arange(columns, dtype=ct.int32)[None, :] % 2 == 0
    ct.store(Z, index=(0, 0), tile=ct.where(even, x, y))


@ct.kernel
def carried(X, Y, Z, rows: Const, columns: Const):
    x, y = (ct.load(X, index=(0, 0), shape=(rows, columns)), ct.load(Y, index=(0, 0), shape=(rows, columns)))
    for _ in range(ct.num_blocks(0) + 2):
        x, y = y, x
    ct.store(Z, index=(0, 0), tile=x)


@ct.kernel
def reinterpreted(X, Y, Z, rows: Const, columns: Const):
    bits = ct.bitcast(ct.load(X, index=(0, 0), shape=(rows, columns)), ct.int8)
    ct.store(Z, index=(0, 0), tile=ct.bitcast(bits ^ 1, X.dtype))


@ct.kernel
def gathered(X, Y, Z, rows: Const, columns: Const):
    across = ct.arange(columns, dtype=ct.int32)[None, :]
    down = ct.arange(rows, dtype=ct.int32)[:, None]
    ct.scatter(Z, (down, across), ct.gather(X, (down, columns - 1 - across)))


CASES = {
    copied: lambda x, y: x,
    permuted: lambda x, y: x.T,
    reshaped: lambda x, y: x.reshape(x.shape[1], x.shape[0]),
    joined: lambda x, y: np.concatenate([x, y]),
    stretched: lambda x, y: np.broadcast_to(x[:, :1], x.shape),
    chosen: lambda x, y: np.where(np.arange(x.shape[1]) % 2 == 0, x, y),
    carried: lambda x, y: y,
    reinterpreted: lambda x, y: x ^ np.uint8(1),
    gathered: lambda x, y: x[:, ::-1],
}


@pytest.mark.covering
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.name)
def test_data_movement_preserves_bits(target, dtype, kernel):
    random = np.random.default_rng(3)
    for rows, columns in ((16, 64), (64, 16), (1, 256)):
        x, y = (random.integers(0, 256, (rows, columns)).astype(np.uint8) for _ in range(2))
        exact = CASES[kernel](x, y)
        # Bits are compared, because numpy may replace the encoding of a NaN by another one.
        args = (x.view(dtype), y.view(dtype), np.zeros(exact.shape, dtype), rows, columns)
        for (z,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints={}):
            assert np.array_equal(z.view(np.uint8), exact)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_elements_out_of_bounds_load_as_zero_bits(target, dtype):
    x = np.random.default_rng(4).integers(0, 256, (20, 48)).astype(np.uint8)
    args = (x.view(dtype), x.view(dtype), np.full((32, 64), 2, dtype), 16, 64)
    exact = np.zeros((32, 64), np.uint8)
    exact[:20, :48] = x
    for (z,) in run_everywhere(copied, (2,), args, (2,), target=target, hints={}):
        assert np.array_equal(z.view(np.uint8), exact)
