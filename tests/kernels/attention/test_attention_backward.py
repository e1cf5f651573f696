"""Gradients of attention: statistics of rows come by TMA, operands are placed over the sums before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.explain.reports import reports_of

TARGETS = ("sm_100a", "sm_90a")
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def gradients(
    Q, K, V, G, L, D, DK, DV, width: ct.Constant[int], rows: ct.Constant[int], keys: ct.Constant[int]
):  # fmt: skip
    """dV = P.T @ G and dK = (P * (G @ V.T - D)).T @ Q, with P = exp2(Q @ K.T - L)."""
    block = ct.bid(0)
    k = ct.load(K, (block, 0), (keys, width), padding_mode=ZERO)
    v = ct.load(V, (block, 0), (keys, width), padding_mode=ZERO)
    dk = ct.zeros((keys, width), ct.float32)
    dv = ct.zeros((keys, width), ct.float32)
    for step in range(ct.num_tiles(Q, 0, (rows, width))):
        q = ct.load(Q, (step, 0), (rows, width), padding_mode=ZERO)
        g = ct.load(G, (step, 0), (rows, width), padding_mode=ZERO)
        statistics = ct.load(L, (step,), (rows,), padding_mode=ZERO)[None, :]
        delta = ct.load(D, (step,), (rows,), padding_mode=ZERO)[None, :]
        scores = ct.mma(k, q.transpose(), ct.zeros((keys, rows), ct.float32))
        weights = ct.exp2(scores - statistics)
        dv = ct.mma(weights.astype(ct.float16), g, dv)
        changes = ct.mma(v, g.transpose(), ct.zeros((keys, rows), ct.float32))
        dk = ct.mma((weights * (changes - delta)).astype(ct.float16), q, dk)
    ct.store(DK, (block, 0), dk)
    ct.store(DV, (block, 0), dv)


def arguments(rows: int, keys: int, width: int, seed: int) -> list[np.ndarray]:
    """Scores and gradients of a few bits, so that weights are powers of two and all products are exact."""
    random = np.random.default_rng(seed)

    def sparse(count: int) -> np.ndarray:
        made = np.zeros((count, width), np.float16)
        made[np.arange(count), random.integers(0, width, count)] = random.integers(-2, 3, count)
        return made

    q, g, k, v = sparse(rows), sparse(rows), sparse(keys), sparse(keys)
    statistics, delta = (random.integers(-1, 2, rows).astype(np.float32) for _ in range(2))
    return [q, k, v, g, statistics, delta, *(np.zeros((keys, width), np.float32) for _ in range(2))]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("width", "tile_rows", "tile_keys", "rows", "keys"),
    [(128, 128, 128, 128, 128), (128, 128, 128, 424, 136), (64, 128, 128, 300, 128), (128, 64, 128, 200, 128)],
)
def test_gradients(width: int, tile_rows: int, tile_keys: int, rows: int, keys: int, target: str) -> None:
    q, k, v, g, statistics, delta, dk, dv = arguments(rows, keys, width, rows)
    args = (q, k, v, g, statistics, delta, dk, dv, width, tile_rows, tile_keys)
    exact_q, exact_k, exact_v, exact_g = (np.asarray(each, np.float64) for each in (q, k, v, g))
    weights = np.exp2(exact_k @ exact_q.T - statistics)
    expected_dv = weights @ exact_g
    expected_dk = (weights * (exact_v @ exact_g.T - delta)) @ exact_q
    grid = (-(-keys // tile_keys),)
    for found_dk, found_dv in run_everywhere(gradients, grid, args, (6, 7), target=target, hints={}):
        np.testing.assert_array_equal(found_dv, expected_dv)
        np.testing.assert_array_equal(found_dk, expected_dk)


def test_operands_are_placed_over_sums_of_eight_warps() -> None:
    """Without columns that are left, each four warps have a piece of the sums, and place a piece of the operand."""
    args = (*arguments(256, 128, 128, 0), 128, 128, 128)
    signature = ct.Signature.from_arguments(gradients, args)
    plan = ct.compile(gradients, target="sm_100a", signature=signature).explain("plan")
    assert plan.count("left operand: tensor memory, 96 columns over its accumulator") == 2
    assert "warps that compute: 8" in plan


@ct.kernel
def all_gradients(
    Q, K, V, OUT, G, L, DQ, DK, DV, width: ct.Constant[int], rows: ct.Constant[int], keys: ct.Constant[int]
):  # fmt: skip
    """dV and dK as above with D = sum(OUT * G), dQ = (P * (G @ V.T - D)) @ K by atomics."""
    block = ct.bid(0)
    k = ct.load(K, (block, 0), (keys, width), padding_mode=ZERO)
    v = ct.load(V, (block, 0), (keys, width), padding_mode=ZERO)
    dk = ct.zeros((keys, width), ct.float32)
    dv = ct.zeros((keys, width), ct.float32)
    for step in range(ct.num_tiles(Q, 0, (rows, width))):
        q = ct.load(Q, (step, 0), (rows, width), padding_mode=ZERO)
        g = ct.load(G, (step, 0), (rows, width), padding_mode=ZERO)
        o = ct.load(OUT, (step, 0), (rows, width), padding_mode=ZERO)
        delta = ct.sum(o.astype(ct.float32) * g.astype(ct.float32), axis=1)[None, :]
        statistics = ct.load(L, (step,), (rows,), padding_mode=ZERO)[None, :]
        scores = ct.mma(k, q.transpose(), ct.zeros((keys, rows), ct.float32))
        weights = ct.exp2(scores - statistics)
        dv = ct.mma(weights.astype(ct.float16), g, dv)
        changes = ct.mma(v, g.transpose(), ct.zeros((keys, rows), ct.float32))
        changes = (weights * (changes - delta)).astype(ct.float16)
        dk = ct.mma(changes, q, dk)
        dq = ct.mma(changes.transpose(), k, ct.zeros((rows, width), ct.float32))
        row = step * rows + ct.arange(rows, dtype=ct.int32)[:, None]
        ct.atomic_add(DQ, (row, ct.arange(width, dtype=ct.int32)[None, :]), dq)
    ct.store(DK, (block, 0), dk)
    ct.store(DV, (block, 0), dv)


def with_outputs(rows: int, keys: int, width: int, tile_rows: int, tile_keys: int) -> tuple[Any, ...]:
    q, k, v, g, statistics, _, dk, dv = arguments(rows, keys, width, rows)
    o, dq = np.roll(g, 1, axis=0), np.zeros((rows, width), np.float32)
    return (q, k, v, o, g, statistics, dq, dk, dv, width, tile_rows, tile_keys)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("width", "tile_rows", "tile_keys", "rows", "keys"), [(64, 128, 128, 300, 200), (128, 64, 128, 200, 128)]
)
def test_all_gradients(width: int, tile_rows: int, tile_keys: int, rows: int, keys: int, target: str) -> None:
    args = with_outputs(rows, keys, width, tile_rows, tile_keys)
    q, k, v, o, g, statistics = (np.asarray(each, np.float64) for each in args[:6])
    weights = np.exp2(k @ q.T - statistics)
    changes = weights * (v @ g.T - (o * g).sum(1))
    grid = (-(-keys // tile_keys),)
    for dq, dk, dv in run_everywhere(all_gradients, grid, args, (6, 7, 8), target=target, hints={}):
        np.testing.assert_array_equal(dv, weights @ g)
        np.testing.assert_array_equal(dk, changes @ q)
        np.testing.assert_array_equal(dq, changes.T @ k)


def test_scores_run_ahead_in_rings_of_two_slots() -> None:
    """The ring of O leaves two slots to each operand: 3,916 cycles in program order."""
    signature = ct.Signature.from_arguments(all_gradients, with_outputs(512, 512, 128, 64, 128))
    compiled = ct.compile(all_gradients, target="sm_100a", signature=signature, stop="ptx")
    (report,) = reports_of(compiled, "cost")
    loop = report.fields()["loops"][-1]
    assert {ring["stages"] for ring in loop["rings"][:2]} == {2}
    assert loop["cycles"] < 3300
