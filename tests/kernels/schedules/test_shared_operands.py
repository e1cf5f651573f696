"""Loops whose multiplies share operands: those that wait for nothing of the iteration run ahead of those that do.

Gradients of attention, linear attention, and attention of two tiles have the results of numpy in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import SEEDS, assert_within, run_everywhere

import tilec as ct
from tilec.lowering.gpu.schedule.schedule_report import LoopReport, schedule_reports
from tilec.signature import Signature

Const = ct.Constant[int]
TARGETS = ("sm_100a", "sm_90a")
# Results and what is multiplied again are rounded to float16.
RELATIVE = 4 * 2.0**-11


@ct.kernel
def gradient_of_queries(Q, K, V, G, L, D, R, rows: Const, keys: Const, width: Const):
    """ds = p * (g @ v.T - d) for p = exp2(q @ k.T - l); the sums of ds @ k. Keys are used twice."""
    block = ct.bid(0)
    q, g = ct.load(Q, (block, 0), (rows, width)), ct.load(G, (block, 0), (rows, width))
    logarithms, means = ct.load(L, (block, 0), (rows, 1)), ct.load(D, (block, 0), (rows, 1))
    result = ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        k, v = ct.load(K, (j, 0), (keys, width)), ct.load(V, (j, 0), (keys, width))
        p = ct.exp2(ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32)) - logarithms)
        ds = p * (ct.mma(g, ct.transpose(v), ct.zeros((rows, keys), ct.float32)) - means)
        result = ct.mma(ds.astype(Q.dtype), k, result)
    ct.store(R, (block, 0), result.astype(R.dtype))


@ct.kernel
def gradients_of_keys(Q, K, V, G, L, D, RK, RV, rows: Const, keys: Const, width: Const):
    """The sums of p.T @ g and ds.T @ q over blocks of queries; both are used twice."""
    block = ct.bid(0)
    k, v = ct.load(K, (block, 0), (keys, width)), ct.load(V, (block, 0), (keys, width))
    result_k, result_v = ct.zeros((keys, width), ct.float32), ct.zeros((keys, width), ct.float32)
    for j in range(ct.num_tiles(Q, axis=0, shape=(rows, width))):
        q, g = ct.load(Q, (j, 0), (rows, width)), ct.load(G, (j, 0), (rows, width))
        logarithms = ct.transpose(ct.load(L, (j, 0), (rows, 1)))
        means = ct.transpose(ct.load(D, (j, 0), (rows, 1)))
        p = ct.exp2(ct.mma(k, ct.transpose(q), ct.zeros((keys, rows), ct.float32)) - logarithms)
        result_v = ct.mma(p.astype(Q.dtype), g, result_v)
        ds = p * (ct.mma(v, ct.transpose(g), ct.zeros((keys, rows), ct.float32)) - means)
        result_k = ct.mma(ds.astype(Q.dtype), q, result_k)
    ct.store(RK, (block, 0), result_k.astype(RK.dtype))
    ct.store(RV, (block, 0), result_v.astype(RV.dtype))


@ct.kernel
def linear_attention(Q, K, V, R, rows: Const, width: Const):
    """Each block of rows: (q @ k.T) @ v + q @ state; then the state grows by k.T @ v."""
    state = ct.zeros((width, width), ct.float32)
    for j in range(ct.num_tiles(Q, axis=0, shape=(rows, width))):
        q, k = ct.load(Q, (j, 0), (rows, width)), ct.load(K, (j, 0), (rows, width))
        v = ct.load(V, (j, 0), (rows, width))
        scores = ct.mma(q, ct.transpose(k), ct.zeros((rows, rows), ct.float32))
        result = ct.mma(scores.astype(Q.dtype), v, ct.zeros((rows, width), ct.float32))
        result = ct.mma(q, state.astype(Q.dtype), result)
        state = ct.mma(ct.transpose(k), v, state)
        ct.store(R, (j, 0), result.astype(R.dtype))


@ct.kernel
def attention_of_two_tiles(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """Two tiles of queries, each with its chain of operations, and the same keys and values."""
    tile = 2 * ct.bid(0)
    queries0, queries1 = ct.load(Q, (tile, 0), (rows, width)), ct.load(Q, (tile + 1, 0), (rows, width))
    largest0, largest1 = ct.full((rows, 1), -1e30, ct.float32), ct.full((rows, 1), -1e30, ct.float32)
    total0, total1 = ct.zeros((rows, 1), ct.float32), ct.zeros((rows, 1), ct.float32)
    first, second = ct.zeros((rows, width), ct.float32), ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        k, v = ct.transpose(ct.load(K, (j, 0), (keys, width))), ct.load(V, (j, 0), (keys, width))
        scores = ct.mma(queries0, k, ct.zeros((rows, keys), ct.float32))
        larger = ct.maximum(largest0, ct.max(scores, axis=1, keepdims=True))
        weights, factor = ct.exp2(scores - larger), ct.exp2(largest0 - larger)
        largest0, total0 = larger, total0 * factor + ct.sum(weights, axis=1, keepdims=True)
        first = ct.mma(weights.astype(Q.dtype), v, first * factor)
        scores = ct.mma(queries1, k, ct.zeros((rows, keys), ct.float32))
        larger = ct.maximum(largest1, ct.max(scores, axis=1, keepdims=True))
        weights, factor = ct.exp2(scores - larger), ct.exp2(largest1 - larger)
        largest1, total1 = larger, total1 * factor + ct.sum(weights, axis=1, keepdims=True)
        second = ct.mma(weights.astype(Q.dtype), v, second * factor)
    ct.store(R, (tile, 0), (first / total0).astype(R.dtype))
    ct.store(R, (tile + 1, 0), (second / total1).astype(R.dtype))


def matrices(random: np.random.Generator, *shapes: tuple[int, int]) -> list[np.ndarray]:
    return [(random.standard_normal(shape) / 4).astype(np.float16) for shape in shapes]


def gradients(blocks: int, rows: int, keys: int, width: int) -> tuple[tuple[Any, ...], Any, Any, Any]:
    """The arguments of both gradients for `blocks` blocks of each side, p and ds in float64, and those arguments."""
    random = np.random.default_rng(blocks + rows)
    Q, G = matrices(random, (blocks * rows, width), (blocks * rows, width))
    K, V = matrices(random, (blocks * keys, width), (blocks * keys, width))
    L, D = (random.standard_normal((blocks * rows, 1)).astype(np.float32) for _ in range(2))
    q, k, v, g = (each.astype(np.float64) for each in (Q, K, V, G))
    p = np.exp2(q @ k.T - L)
    return (Q, K, V, G, L, D), p, p * (g @ v.T - D), (q, k, g)


def two_tiles(blocks: int, rows: int, keys: int, width: int) -> tuple[tuple[Any, ...], np.ndarray]:
    random = np.random.default_rng(blocks)
    Q, K, V = matrices(random, (2 * rows, width), (blocks * keys, width), (blocks * keys, width))
    q, k, v = (each.astype(np.float64) for each in (Q, K, V))
    weights = np.exp2(q @ k.T)
    return (Q, K, V, np.zeros_like(Q), rows, keys, width), weights @ v / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_gradient_of_queries(blocks: int, target: str) -> None:
    given, _, ds, (_, k, _) = gradients(blocks, 128, 64, 64)
    args = (*given, np.zeros_like(given[0]), 128, 64, 64)
    for (found,) in run_everywhere(gradient_of_queries, (blocks,), args, (6,), target=target, hints={}, seeds=range(3)):
        assert_within(found, ds @ k, RELATIVE * (np.abs(ds) @ np.abs(k)) + 1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_gradients_of_keys(blocks: int, target: str) -> None:
    given, p, ds, (q, _, g) = gradients(blocks, 64, 128, 64)
    args = (*given, np.zeros_like(given[1]), np.zeros_like(given[2]), 64, 128, 64)
    for keys, values in run_everywhere(
        gradients_of_keys, (blocks,), args, (6, 7), target=target, hints={}, seeds=range(3)
    ):
        assert_within(keys, ds.T @ q, RELATIVE * (np.abs(ds.T) @ np.abs(q)) + 1e-5)
        assert_within(values, p.T @ g, RELATIVE * (p.T @ np.abs(g)) + 1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_linear_attention(blocks: int, target: str) -> None:
    Q, K, V = matrices(np.random.default_rng(blocks), *[(blocks * 128, 64)] * 3)
    q, k, v = (each.astype(np.float64) for each in (Q, K, V))
    block = np.arange(blocks * 128) // 128
    seen = block[:, None] >= block[None, :]
    expected, magnitudes = (q @ k.T * seen) @ v, (np.abs(q) @ np.abs(k).T * seen) @ np.abs(v)
    args = (Q, K, V, np.zeros_like(Q), 128, 64)
    for (found,) in run_everywhere(linear_attention, (1,), args, (3,), target=target, hints={}, seeds=range(3)):
        assert_within(found, expected, RELATIVE * magnitudes + 1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_two_tiles(blocks: int, target: str) -> None:
    args, expected = two_tiles(blocks, 128, 64, 64)
    for (found,) in run_everywhere(attention_of_two_tiles, (1,), args, (3,), target=target, hints={}, seeds=range(3)):
        assert_within(found, expected, RELATIVE * np.abs(expected).max() + 1e-5)


def report_of(kernel: Any, args: tuple[Any, ...]) -> LoopReport:
    compiled = ct.compile(kernel, target="sm_100a", signature=Signature.from_arguments(kernel, args), stop="gpu")
    (report,) = schedule_reports(compiled.stage("gpu").value, "sm_100a")
    return report


@pytest.mark.parametrize("kernel", [gradient_of_queries, gradients_of_keys])
def test_gradients_take_the_clocks_of_their_threads(kernel: Any) -> None:
    """In program order both multiplies that threads wait for would follow those of the iteration before."""
    rows, keys = (128, 128) if kernel is gradient_of_queries else (64, 128)
    given, *_ = gradients(1, rows, keys, 64)
    results = [given[0]] if kernel is gradient_of_queries else [given[1], given[2]]
    report = report_of(kernel, (*given, *results, rows, keys, 64))
    assert report.answer is not None and report.attained is not None
    assert report.attained <= 1.01 * report.answer.bound.interval
    assert report.answer.bound.reason.startswith("instructions of the role of load_tensor_memory")


def test_scores_of_both_tiles_run_ahead() -> None:
    """The keys are released before the values: each has a ring of its own."""
    report = report_of(attention_of_two_tiles, two_tiles(1, 128, 128, 128)[0])
    names = (each.name.partition("@")[0] for each in report.loop.problem.operations)
    multiplies = [ahead for name, ahead in zip(names, report.loop.ahead, strict=True) if name == "tcgen05_mma"]
    assert multiplies.count(1) == 2
    rings = [each for each in report.loop.problem.buffers if each.source.startswith("tma_load")]
    assert len(rings) == 2


@pytest.mark.parametrize("switch", ["roles", "pipeline", "register_budgets", "tma"])
def test_results_without_a_pass(switch: str) -> None:
    given, _, ds, (_, k, _) = gradients(2, 128, 64, 64)
    args = (*given, np.zeros_like(given[0]), 128, 64, 64)
    runs = run_everywhere(
        gradient_of_queries, (2,), args, (6,), target="sm_100a", hints={switch: False}, seeds=SEEDS[:2]
    )
    for (found,) in runs:
        assert_within(found, ds @ k, RELATIVE * (np.abs(ds) @ np.abs(k)) + 1e-5)
