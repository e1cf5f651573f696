"""Kernels whose loop carries a matrix: their threads store operands and accumulators of several multiplies."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.explain.cost import kernel_costs
from tilec.lowering.model.step import CHAIN, RING
from tilec.signature import Signature

Const = ct.Constant[int]
ROWS, WIDTH = 64, 128
# Scores, the state, the values and the decayed keys are rounded to float16.
RELATIVE = 5 * 2.0**-11


@ct.kernel
def gated_states(Q, K, W, U, G, Y, rows: Const, width: Const, adds_products: Const):
    """V = U - W S;  Y = 2^g Q S + (Q K^T L) V;  S = 2^last S + (2^(last - g) K)^T V: a gated delta rule."""
    place = ct.arange(rows, dtype=ct.int32)
    state = ct.zeros((width, width), ct.float32)
    for t in range(ct.num_tiles(Q, 0, (rows, width))):
        q, k = ct.load(Q, (t, 0), (rows, width)), ct.load(K, (t, 0), (rows, width))
        w, u = ct.load(W, (t, 0), (rows, width)), ct.load(U, (t, 0), (rows, width))
        g, last = ct.load(G, (t,), (rows,)), ct.load(G, (t * rows + rows - 1,), (1,)).item()
        read, zero = state.astype(ct.float16), ct.zeros((rows, width), ct.float32)
        v = (u.astype(ct.float32) - ct.mma(w, read, zero)).astype(ct.float16)
        decay = ct.where(place[:, None] >= place[None, :], ct.exp2(g[:, None] - g[None, :]), 0.0)
        y = ct.mma(q, read, zero) * ct.exp2(g)[:, None]
        scores = (ct.mma(q, ct.transpose(k), ct.zeros((rows, rows), ct.float32)) * decay).astype(ct.float16)
        y = y + ct.mma(scores, v, zero) if adds_products else ct.mma(scores, v, y)
        ct.store(Y, (t, 0), y)
        late = (k.astype(ct.float32) * ct.exp2(last - g)[:, None]).astype(ct.float16)
        state = ct.mma(ct.transpose(late), v, state * ct.exp2(last))


def arguments(tiles: int, adds_products: int) -> list:
    random = np.random.default_rng(5)
    q, k, w, u = (random.standard_normal((tiles * ROWS, WIDTH)) * scale for scale in (0.2, 0.2, 0.05, 0.2))
    gates = -np.cumsum(random.random((tiles, ROWS)) / 16, axis=1).reshape(-1).astype(np.float32)
    matrices = [each.astype(np.float16) for each in (q, k, w, u)]
    return [*matrices, gates, np.zeros((tiles * ROWS, WIDTH), np.float32), ROWS, WIDTH, adds_products]


def expected(args: list, tiles: int, size=np.array) -> np.ndarray:
    """Y in float64; with `size`, the magnitudes of all that is added."""
    q, k, w, u = (size(each.astype(np.float64)) for each in args[:4])
    sign = -1 if size is np.array else 1
    state, found = np.zeros((WIDTH, WIDTH)), []
    for t in range(tiles):
        own = slice(t * ROWS, t * ROWS + ROWS)
        g = args[4][own].astype(np.float64)
        v = u[own] + sign * w[own] @ state
        decay = np.tril(np.exp2(np.minimum(g[:, None] - g[None, :], 0)))
        found.append(np.exp2(g)[:, None] * q[own] @ state + (q[own] @ k[own].T * decay) @ v)
        state = np.exp2(g[-1]) * state + (np.exp2(g[-1] - g)[:, None] * k[own]).T @ v
    return np.concatenate(found)


@pytest.mark.parametrize("tiles", [1, 2, 6])
@pytest.mark.parametrize("adds_products", [0, 1])
def test_results_are_those_of_numpy(target, adds_products, tiles):
    args = arguments(tiles, adds_products)
    exact, magnitudes = expected(args, tiles), expected(args, tiles, np.abs)
    for (found,) in run_everywhere(gated_states, (1,), args, (5,), target=target, hints={}, seeds=range(2)):
        assert_within(found, exact, RELATIVE * magnitudes)


@pytest.mark.parametrize("adds_products", [0, 1])
def test_threads_store_accumulators_in_the_order_of_the_schedule(adds_products):
    """A unit is nearly always busy, as operands are stored before accumulators that the program stores before them."""
    signature = Signature.from_arguments(gated_states, arguments(6, adds_products))
    stage = ct.compile(gated_states, target="sm_100a", signature=signature, stop="gpu").stage("gpu")
    (cost,) = kernel_costs(stage.value, "sm_100a")
    units = cost.loops[-1].cycles.units
    busiest = max(cycles for unit, cycles in units.items() if unit not in (CHAIN, RING))
    assert units[CHAIN] <= 1.05 * busiest
