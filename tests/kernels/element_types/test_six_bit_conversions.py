"""Conversions from and to floats of 6 bits: each code, and the nearest of all values by search."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
SIX_BITS = {"float6_e2m3fn": ml_dtypes.float6_e2m3fn, "float6_e3m2fn": ml_dtypes.float6_e3m2fn}
WIDER = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "int32": np.int32,
}


@ct.kernel
def widened(X, Y, dtype: ct.Constant):
    ct.store(Y, (0, 0), ct.packed_view(X, dtype=dtype, tile=(4, 16)).load((0, 0)).astype(Y.dtype))


@ct.kernel
def narrowed(X, Y, dtype: ct.Constant):
    ct.packed_view(Y, dtype=dtype, tile=(4, 64)).store((0, 0), ct.load(X, (0, 0), (4, 64)).astype(dtype))


@ct.kernel
def moved(X, Y, dtype: ct.Constant):
    """Shapes, loops, branches and scratch memory carry the elements."""
    source, output = ct.packed_view(X, dtype=dtype, tile=(4, 16)), ct.packed_view(Y, dtype=dtype, tile=(16, 4))
    tile, other = source.load((0, 0)), ct.full((4, 16), 1.5, dtype)
    for _ in range(ct.num_blocks(0) + 1):
        tile, other = other, tile
    if ct.bid(0) == 0:
        tile = ct.where(ct.arange(16, dtype=ct.int32)[None, :] < 8, tile, other)
    output.store((0, 0), tile.transpose())


def every(name):
    return np.arange(64, dtype=np.uint8).view(SIX_BITS[name]).astype(np.float64).reshape(4, 16)


def nearest(values, name):
    """The value of the nearest code, ties to the even one, found among all; the largest for NaN and beyond it."""
    codes = np.arange(32)
    known = codes.astype(np.uint8).view(SIX_BITS[name]).astype(np.float64)
    magnitude = np.minimum(np.abs(np.where(np.isnan(values), np.inf, values)), known[-1])
    distance = np.abs(magnitude[..., None] - known)
    ties = distance == distance.min(-1, keepdims=True)
    chosen = np.where(ties & (codes % 2 == 0), codes, np.where(ties, codes, 0) * (ties.sum(-1, keepdims=True) == 1))
    found = known[chosen.max(-1)]
    return np.where(np.isnan(values), found, np.copysign(found, values))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SIX_BITS)
@pytest.mark.parametrize("wider", WIDER)
def test_every_code(target, name, wider):
    packed = ct.pack_rows(every(name), getattr(ct, name))
    exact = (np.trunc(every(name)) if wider == "int32" else every(name)).astype(WIDER[wider])
    args = [packed, np.zeros((4, 16), WIDER[wider]), getattr(ct, name)]
    for (y,) in run_everywhere(widened, (1,), args, (1,), target=target, hints={}):
        assert y.tobytes() == exact.tobytes()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SIX_BITS)
@pytest.mark.parametrize("source", ["float32", "float16", "float8_e5m2", "float8_e4m3fn"])
def test_rounding(target, name, source):
    """Halfway between neighbours and just beside it, subnormal numbers, zeros, infinity, NaN, random numbers."""
    known = np.unique(np.abs(every(name)))
    middle = (known[1:] + known[:-1]) / 2
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 1e30, known[-1] * 1.1, -known[-1] * 1.03]
    random = np.random.default_rng(3).standard_normal(256) * 4
    values = np.concatenate([special, middle, -middle, middle * (1 + 2.0**-10), -middle * (1 - 2.0**-10), random])
    with np.errstate(over="ignore"):
        x = values[:256].astype(WIDER[source]).reshape(4, 64)
    wanted = nearest(x.astype(np.float64), name)
    args = [x, np.zeros((4, 48), np.uint8), getattr(ct, name)]
    for (y,) in run_everywhere(narrowed, (1,), args, (1,), target=target, hints={}):
        found = ct.unpack_rows(y, getattr(ct, name))
        assert np.array_equal(found, wanted)
        assert np.array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SIX_BITS)
def test_moves(target, name):
    values = every(name)
    args = [ct.pack_rows(values, getattr(ct, name)), np.zeros((16, 3), np.uint8), getattr(ct, name)]
    exact = np.where(np.arange(16) < 8, values, 1.5)
    for (y,) in run_everywhere(moved, (1,), args, (1,), target=target, hints={}):
        assert y.tobytes() == ct.pack_rows(exact.T, getattr(ct, name)).tobytes()
