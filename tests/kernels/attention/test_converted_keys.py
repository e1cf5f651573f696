"""Attention to keys and values of bytes: TMA loads them, threads convert them, and multiplies run meanwhile."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
COLUMNS, KEYS = 128, 200
# The products of weights and factors are rounded to float16 before the second multiply; everything else is float32.
RELATIVE = 2.0**-11


@ct.kernel
def attention(Q, K, SK, V, SV, R, scale, rows: Const, keys: Const):
    q = ct.load(Q, (ct.bid(0), 0), (rows, COLUMNS), padding_mode=ZERO)
    m, total = ct.full((rows, 1), -math.inf, ct.float32), ct.zeros((rows, 1), ct.float32)
    acc = ct.zeros((rows, COLUMNS), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, COLUMNS))):
        k = ct.load(K, (j, 0), (keys, COLUMNS), padding_mode=ZERO).astype(Q.dtype)
        factors = ct.load(SK, (0, j), (1, keys), padding_mode=ZERO)
        s = ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32)) * (factors * scale)
        s = ct.where(j * keys + ct.arange(keys, dtype=ct.int32)[None, :] < K.shape[0], s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p, alpha = ct.exp2(s - new), ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, (j, 0), (keys, COLUMNS), padding_mode=ZERO).astype(Q.dtype)
        p = p * ct.load(SV, (0, j), (1, keys), padding_mode=ZERO)
        acc = ct.mma(p.astype(Q.dtype), v, acc * alpha)
        m = new
    ct.store(R, (ct.bid(0), 0), acc / total)


def arguments(rows: int, keys: int) -> list:
    random = np.random.default_rng(5)
    q = random.standard_normal((rows, COLUMNS)).astype(np.float16)
    k, v = (random.integers(-100, 100, (KEYS, COLUMNS)).astype(np.int8) for _ in range(2))
    sk, sv = (random.random((1, 208)).astype(np.float32) * 0.02 for _ in range(2))
    return [q, k, sk, v, sv, np.zeros((rows, COLUMNS), np.float32), 0.1, rows, keys]


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("rows", "keys"), [(128, 64), (16, 128)])
def test_keys_of_bytes(target, rows, keys):
    args = arguments(rows, keys)
    q, k, sk, v, sv, *_ = (each.astype(np.float64) if isinstance(each, np.ndarray) else each for each in args)
    weights = np.exp2(q @ (k * sk[:, :KEYS].T).T * 0.1)
    weights /= weights.sum(1, keepdims=True)
    exact, magnitudes = weights @ (v * sv[:, :KEYS].T), weights @ np.abs(v * sv[:, :KEYS].T)
    for (result,) in run_everywhere(attention, (1,), args, (5,), target=target, hints={}):
        assert_within(result, exact, RELATIVE * magnitudes + 1e-6)


def kernel_text(target: str, rows: int, keys: int) -> str:
    args = arguments(rows, keys)
    signature = Signature.from_arguments(attention, args)
    return ct.compile(attention, target=target, signature=signature, stop="ptx").gpu


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("rows", [16, 128])
def test_no_thread_waits_for_global_memory(target, rows):
    assert "load_view" not in kernel_text(target, rows, 64)


def test_the_second_multiply_runs_during_the_next_iteration():
    """Threads store the values of the next iteration after the wait for it, in the only slot or another one."""
    text = kernel_text("sm_90a", 128, 64)
    loop = text[text.index("scf.for") : text.index("scf.yield")]
    order = re.findall(r"tile_gpu\.wgmma f16 .*? id (\d)|(wgmma_wait)", loop, re.DOTALL)
    assert [number or wait for number, wait in order] == ["1", "2", "wgmma_wait", "wgmma_wait"]
