"""Roles end where the role of the loads waits for threads, or where roles wait for each other in one branch alone."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.lowering.gpu import advance_multiplies
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
    """A sum of products of scores, without those of the blocks behind the last one, for which it is only rescaled."""
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


def test_deadlock_that_a_pass_makes_costs_speed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler executes the steps of reordered roles, and makes the kernel again if they do not end."""
    args = (integers(128, 64), integers(128, 64), indices(32), integers(64, 64), np.zeros((128, 64), np.float32), 1)
    signature = Signature.from_arguments(two_products, args)

    def messages() -> list[str]:
        compiled = ct.compile(two_products, target="sm_100a", signature=signature, stop="ptx")
        ct.run(compiled, (1,), args, backend="simulate")
        return [remark.message for remark in compiled.remarks if "would wait for each other" in remark.message]

    assert messages() == []
    monkeypatch.setattr(advance_multiplies, "_awaits_threads", lambda loads: False)
    assert messages() == ["loops keep the order of the program: in a faster one, roles would wait for each other"]
