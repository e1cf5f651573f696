"""Roles terminate where loads await threads, in one branch alone, and where a ring has slots of two loops."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.errors import InternalError
from tilec.lowering.gpu.schedule import legal_schedules
from tilec.signature import Signature

TARGETS = ["sm_100a", "sm_90a"]
HINTS = [{}, {"pipeline": False}]
SEEDS = range(4)


def integers(*shape: int) -> np.ndarray:
    """Small integers, whose sums of products are exact."""
    return np.random.default_rng(sum(shape)).integers(-2, 3, shape).astype(np.float16)


def indices(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 8, count).astype(np.int32)


@ct.kernel
def two_products(A, B, rows, H, C, n: int):
    """The first product needs loads alone, of rows that threads choose; threads give the second one its accumulator."""
    for i in range(n):
        b = ct.load_advanced_indexing(B, (ct.load(rows, (i,), (32,)) * 16, ct.Slice(0, 64)))
        first = ct.mma(ct.load(A, (0, 0), (64, 32)), b, ct.zeros((64, 64), ct.float32))
        ct.store(C, (2 * i, 0), ct.maximum(first, 0))
        second = ct.load(H, (i, 0), (64, 64)).astype(ct.float32)
        second = ct.mma(ct.load(A, (i % 2, 1), (64, 32)), ct.load(B, (i % 4, 0), (32, 64)), second)
        ct.store(C, (2 * i + 1, 0), second)


@pytest.mark.parametrize("hints", HINTS, ids=["", "no pipeline"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("target", TARGETS)
def test_multiplies_do_not_run_ahead_of_loads_that_await_threads(target: str, n: int, hints: dict[str, bool]) -> None:
    A, B, H, rows = integers(128, 64), integers(128, 64), integers(5 * 64, 64), indices(5 * 32)
    expected = np.zeros((10 * 64, 64), np.float32)
    a, b, h = (array.astype(np.float32) for array in (A, B, H))
    for i in range(n):
        first = a[:64, :32] @ b[rows[32 * i : 32 * i + 32] * 16]
        expected[128 * i : 128 * i + 64] = np.maximum(first, 0)
        left, right = a[i % 2 * 64 : i % 2 * 64 + 64, 32:], b[i % 4 * 32 : i % 4 * 32 + 32]
        expected[128 * i + 64 : 128 * i + 128] = left @ right + h[64 * i : 64 * i + 64]
    args = (A, B, rows, H, np.zeros_like(expected), n)
    for (found,) in run_everywhere(two_products, (1,), args, (4,), target=target, hints=hints, seeds=SEEDS):
        np.testing.assert_array_equal(found, expected)


@ct.kernel
def some_blocks(Q, K, rows, V, C, n: int, last: int):
    """A sum of products of scores, without those of the blocks after the last one, for which it is only rescaled."""
    q, order = ct.load(Q, (0, 0), (64, 64)), ct.arange(64, dtype=ct.int32)
    total, largest = ct.zeros((64, 64), ct.float32), ct.full((64, 1), -4, dtype=ct.float32)
    for i in range(n):
        keys = ct.gather(K, (((order * 3 + i) % 128)[:, None], ct.arange(32, dtype=ct.int32)[None, :]))
        scores = ct.mma(q, keys, ct.zeros((64, 32), ct.float32))
        scores = ct.minimum(ct.maximum(scores, -4), 0)
        p = ct.exp2(scores - ct.maximum(largest, ct.max(scores, 1, keepdims=True)))
        total = total * 0.5
        if i > last:
            continue
        v = ct.load_advanced_indexing(V, (ct.load(rows, (i,), (32,)) * 16, ct.Slice(0, 64)))
        total = ct.mma(p.astype(ct.float16), v, total)
    ct.store(C, (0, 0), total)


@pytest.mark.parametrize("hints", HINTS, ids=["", "no pipeline"])
@pytest.mark.parametrize(("n", "last"), [(0, 0), (1, 5), (2, -1), (2, 5), (5, 1), (5, 5)])
@pytest.mark.parametrize("target", TARGETS)
def test_schedule_of_steps_in_one_branch(target: str, n: int, last: int, hints: dict[str, bool]) -> None:
    Q, K, V, rows = integers(64, 64), integers(128, 32), integers(128, 64), indices(5 * 32)
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    expected = np.zeros((64, 64))
    for i in range(n):
        scores = np.clip(q @ k[(np.arange(64) * 3 + i) % 128], -4, 0)
        p = np.exp2(scores - np.maximum(-4, scores.max(1, keepdims=True)))
        expected *= 0.5
        if i <= last:
            expected += p @ v[rows[32 * i : 32 * i + 32] * 16]
    args = (Q, K, rows, V, np.zeros((64, 64), np.float32), n, last)
    for (found,) in run_everywhere(some_blocks, (1,), args, (4,), target=target, hints=hints, seeds=SEEDS):
        np.testing.assert_array_equal(found, expected)


def clipped(tile):
    return ct.minimum(ct.maximum(tile, -2), 2)


@ct.kernel
def products_then_scores(A, B, H, C, n: int, m: int):
    """The sums of the second loop are in the ring of the first one, and threads wait for both sums of an iteration."""
    for i in range(n):
        first, second = ct.zeros((128, 64), ct.float32), ct.zeros((128, 128), ct.float32)
        for k in range(n):
            a = ct.permute(ct.load(A, (2, k % 2), (32, 128)), (1, 0))
            first = ct.mma(a, ct.load(B, (k % 8, 1), (32, 64)), first)
            second = ct.mma(a, ct.load(B, (1, k % 2), (32, 128)), second)
        ct.store(C, (i, 0), second)
        ct.store(C, (3 + i, 0), first)
    rows, columns = ct.arange(64, dtype=ct.int32)[:, None], ct.arange(32, dtype=ct.int32)[None, :]
    for j in range(2):
        q = ct.load(A, (0, j), (256, 32))
        largest = ct.full((256, 1), -3, dtype=ct.float32)
        total, p = ct.zeros((256, 32), ct.float32), ct.zeros((256, 64), ct.float16)
        for k in range(m):
            keys = ct.permute(ct.load(B, (1, k % 8), (64, 32)), (1, 0))
            total = ct.mma(p, ct.gather(B, (rows + 3 * j, columns)), total)
            scores = clipped(ct.mma(q, keys, ct.zeros((256, 64), ct.float32)))
            now = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
            total = total * ct.exp2(largest - now)
            p, largest = ct.exp2(scores - now).astype(ct.float16), now
        ct.store(C, (4 + j, 0), total)
        last = ct.load(H, (j % 2, 0), (64, 128))
        last = ct.mma(ct.permute(ct.load(A, (2, j), (32, 64)), (1, 0)), ct.load(B, (j, 0), (32, 128)), last)
        ct.store(C, (24 + j, 0), last)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (3, 1), (2, 3)])
@pytest.mark.parametrize("target", TARGETS)
def test_sums_whose_ring_a_loop_before_uses_too(target: str, n: int, m: int) -> None:
    A, B, H = integers(256, 256), integers(256, 256), integers(128, 128).astype(np.float32)
    a, b = A.astype(np.float64), B.astype(np.float64)
    expected = np.zeros((26 * 64, 128))
    for i in range(n):
        lhs = [a[64:96, k % 2 * 128 :][:, :128].T for k in range(n)]
        expected[128 * i :][:128] = sum(x @ b[32:64, k % 2 * 128 :][:, :128] for k, x in enumerate(lhs))
        expected[128 * (3 + i) :][:128, :64] = sum(x @ b[32 * k :][:32, 64:128] for k, x in enumerate(lhs))
    for j in range(2):
        largest, total, p = np.full((256, 1), -3.0), np.zeros((256, 32)), np.zeros((256, 64))
        for k in range(m):
            total += p @ b[3 * j : 3 * j + 64, :32]
            scores = np.clip(a[:, 32 * j :][:, :32] @ b[64:128, 32 * k :][:, :32].T, -2, 2)
            now = np.maximum(largest, scores.max(1, keepdims=True))
            total, p, largest = total * np.exp2(largest - now), np.exp2(scores - now), now
        expected[256 * (4 + j) :][:256, :32] = total
        product = a[64:96, 64 * j :][:, :64].T @ b[32 * j :][:32, :128]
        expected[64 * (24 + j) :][:64] = product + H[64 * j :][:64]
    args = (A, B, H, np.zeros(expected.shape, np.float32), n, m)
    made = run_everywhere(products_then_scores, (1,), args, (3,), target=target, hints={}, seeds=range(2))
    for (found,) in made:
        np.testing.assert_array_equal(found, expected)


def test_deadlock_that_a_pass_makes_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass proves before it rewrites a loop that all roles terminate; the compiler proves it of its result, too."""
    args = (integers(128, 64), integers(128, 64), indices(32), integers(64, 64), np.zeros((128, 64), np.float32), 1)
    signature = Signature.from_arguments(two_products, args)
    ct.compile(two_products, target="sm_100a", signature=signature, stop="gpu")
    monkeypatch.setattr(legal_schedules, "are_legal", lambda *_, **__: True)
    with pytest.raises(InternalError, match="the roles of a kernel deadlock: role '.*' waits in .* to execute"):
        ct.compile(two_products, target="sm_100a", signature=signature, stop="gpu")
