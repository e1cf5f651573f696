"""Kernels whose 256 rows are divided into two chains of 128: the results are equal, on the CPU and on both targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.signature import Signature
from tilec.text_input.module import Module

TARGETS = ("sm_100a", "sm_90a")
ROWS = 256


@ct.kernel
def attention(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    block = ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, width), padding_mode=ct.PaddingMode.ZERO)
    largest = ct.full((ROWS, 1), -1e30, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    result = ct.zeros((ROWS, width), ct.float32)
    for step in range(ct.cdiv(K.shape[0], keys)):
        k = ct.load(K, (step, 0), (keys, width), padding_mode=ct.PaddingMode.ZERO)
        v = ct.load(V, (step, 0), (keys, width), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((ROWS, keys), ct.float32))
        inside = ct.reshape(ct.arange(keys, dtype=ct.int32), (1, keys)) + step * keys < K.shape[0]
        scores = ct.where(inside, scores, -1e30)
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp(scores - new)
        scale = ct.exp(largest - new)
        total = total * scale + ct.sum(weights, axis=1, keepdims=True)
        result = ct.mma(weights.astype(Q.dtype), v, result * scale)
        largest = new
    ct.store(R, (block, 0), (result / total).astype(R.dtype))


@ct.kernel
def product(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    """R = Q @ V[:width] + the number of each row, if K is not empty; the tile is stored after it is loaded."""
    block = ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, width), padding_mode=ct.PaddingMode.ZERO)
    v = ct.load(V, (0, 0), (width, width), padding_mode=ct.PaddingMode.ZERO)
    total = ct.zeros((ROWS, width), ct.float32)
    if K.shape[0] > 0:
        total = ct.mma(q, v, total)
    numbers = ct.reshape(ct.arange(ROWS, dtype=ct.int32), (ROWS, 1)).astype(ct.float32)
    before = ct.load(R, (block, 0), (ROWS, width), padding_mode=ct.PaddingMode.ZERO)
    ct.store(R, (block, 0), (total + numbers + before.astype(ct.float32)).astype(R.dtype))


@ct.kernel
def stored_in_turn(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    """R = Q @ V[:width] three times, if K is not empty; a branch waits for the store, and the store after it too."""
    total = ct.zeros((ROWS, width), ct.float32)
    total = ct.mma(ct.load(Q, (0, 0), (ROWS, width)), ct.load(V, (0, 0), (width, width)), total)
    ct.store(R, (0, 0), total)
    if K.shape[0] > 0:
        ct.store(R, (0, 0), ct.load(R, (0, 0), (ROWS, width)) * 3)
    ct.store(R, (0, 0), ct.load(R, (0, 0), (ROWS, width)))


@ct.kernel
def carried_by_two_loops(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    """R = K.shape[0] * (Q @ V[:width]); the second loop also carries on the order of the stores of the first."""
    q, v = ct.load(Q, (0, 0), (ROWS, width)), ct.load(V, (0, 0), (width, width))
    total = ct.zeros((ROWS, width), ct.float32)
    for _ in range(1):
        total = ct.mma(q, v, total)
        ct.store(R, (0, 0), ct.full((1, 1), 2, ct.float32))
    for _ in range(1, K.shape[0]):
        total = ct.mma(q, v, total)
        ct.store(R, (0, 0), ct.full((1, 1), 3, ct.float32))
    ct.store(R, (0, 0), total)


@ct.kernel
def by_pointers(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    """R = 2 * Q @ V[:width], the rows in reverse order; threads load the rows, and store all but the first."""
    rows = ct.reshape(ct.arange(ROWS, dtype=ct.int32), (ROWS, 1))
    columns = ct.reshape(ct.arange(width, dtype=ct.int32), (1, width))
    total = ct.zeros((ROWS, width), ct.float32)
    for _ in range(K.shape[0] // keys):
        total = ct.mma(ct.gather(Q, (rows, columns)), ct.load(V, (0, 0), (width, width)), total)
    ct.scatter(R, (ROWS - 1 - rows, columns), total, mask=rows > 0)
    ct.store(R, (0, 0), ct.load(R, (0, 0), (ROWS, width)) * 2)


@ct.kernel
def mixed_by_pointers(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    """The store of the rows is visible to other blocks."""
    rows = ct.reshape(ct.arange(ROWS, dtype=ct.int32), (ROWS, 1))
    total = ct.mma(
        ct.load(Q, (0, 0), (ROWS, width)), ct.load(V, (0, 0), (width, width)), ct.zeros((ROWS, width), ct.float32)
    )
    ct.atomic_xchg(R, (rows, 0), ct.max(total, 1, keepdims=True))


@ct.kernel
def mixed(Q, K, V, R, width: ct.Constant[int], keys: ct.Constant[int]):
    """Sums along the rows."""
    q = ct.load(Q, (0, 0), (ROWS, width))
    total = ct.mma(q, ct.transpose(ct.load(K, (0, 0), (keys, width))), ct.zeros((ROWS, keys), ct.float32))
    ct.store(R, (0, 0), ct.cumsum(total, axis=0).astype(R.dtype))


def arguments(kernel: Any, rows: int, count: int) -> tuple[Any, ...]:
    random = np.random.default_rng(rows)
    Q, K, V = (random.standard_normal((size, 64), np.float32).astype(np.float16) for size in (rows, count, count))
    return Q, K, V, np.ones((rows, 64), np.float32), 64, 64


def divided(kernel: Any, args: tuple[Any, ...], target: str) -> tuple[str, str]:
    """The Tile IR of a kernel before and after the pass."""
    signature = Signature.from_arguments(kernel, args)
    text = ct.compile(kernel, target=target, signature=signature, stop="tile").stage("tile").text
    module = Module.parse(text)
    run(module.ir, ("split-rows", "simplify", "cse", "prune-tokens", "remove-dead"), evaluate=evaluate)
    module.verify()
    return text, module.to_text()


def result(text: str, args: tuple[Any, ...], target: str, backend: str) -> np.ndarray:
    compiled = ct.compile(Module.parse(text), target=target)
    out = args[3].copy()
    ct.run(compiled, (-(-len(args[0]) // ROWS),), (*args[:3], out, *args[4:]), backend=backend)
    return out


def expected(kernel: Any, args: tuple[Any, ...]) -> np.ndarray:
    q, k, v = (array.astype(np.float64) for array in args[:3])
    if kernel is product:
        return q @ v[:64] + (np.arange(len(q)) % ROWS)[:, None] + 1
    s = q @ k.T
    weights = np.exp(s - s.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("kernel", "rows", "count"), [(attention, 264, 100), (product, 380, 64)], ids=str)
def test_halves_have_the_results_of_the_whole(kernel: Any, rows: int, count: int, target: str) -> None:
    args = arguments(kernel, rows, count)
    before, after = divided(kernel, args, target)
    assert "tile<256x" in before and "tile<256x" not in after
    np.testing.assert_array_equal(result(after, args, target, "interpret"), result(before, args, target, "interpret"))
    # The weights are rounded to f16, 11 bits.
    np.testing.assert_allclose(result(after, args, target, "simulate"), expected(kernel, args), rtol=0.01, atol=0.01)


@pytest.mark.parametrize("target", TARGETS)
def test_branches_wait_for_stores_of_halves(target: str) -> None:
    args = arguments(stored_in_turn, ROWS, 64)
    _, after = divided(stored_in_turn, args, target)
    q, v = (args[number].astype(np.float64) for number in (0, 2))
    np.testing.assert_allclose(result(after, args, target, "simulate"), 3 * (q @ v[:64]), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("target", TARGETS)
def test_loops_in_a_row_carry_halves_and_the_order_of_stores(target: str) -> None:
    args = arguments(carried_by_two_loops, ROWS, 64)
    before, after = divided(carried_by_two_loops, args, target)
    assert "tile<256x" in before and "tile<256x" not in after
    q, v = (args[number].astype(np.float64) for number in (0, 2))
    np.testing.assert_allclose(result(after, args, target, "simulate"), 64 * (q @ v[:64]), rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_that_threads_load_and_store(target: str) -> None:
    args = arguments(by_pointers, ROWS, 64)
    before, after = divided(by_pointers, args, target)
    assert "tile<256x64xptr" in before and "tile<256x64xptr" not in after
    # Sums of small integers are exact.
    random = np.random.default_rng(7)
    for number in (0, 2):
        args[number][...] = random.integers(-3, 4, args[number].shape)
    q, v = (args[number].astype(np.float64) for number in (0, 2))
    wanted = 2 * (q @ v)[::-1]
    wanted[-1] = 2
    for backend in ("interpret", "simulate"):
        np.testing.assert_array_equal(result(before, args, target, backend), wanted)
        np.testing.assert_array_equal(result(after, args, target, backend), wanted)


def test_operands_of_both_halves_are_loaded_once() -> None:
    _, after = divided(attention, arguments(attention, 256, 64), "sm_100a")
    assert after.count("-> tile<64x64xf16>, token") == 2 and after.count("-> tile<128x64xf16>, token") == 2
    assert after.count("= mmaf ") == 4


@pytest.mark.parametrize("kernel", [mixed, mixed_by_pointers], ids=str)
def test_kernel_that_mixes_rows_is_left_alone(kernel: Any) -> None:
    _, after = divided(kernel, arguments(kernel, 256, 64), "sm_100a")
    assert "mmaf" in after and "tile<128x64xf32>" not in after
