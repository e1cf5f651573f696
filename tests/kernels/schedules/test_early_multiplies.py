"""Loops of sm_90a whose multiplies are issued before their operation in program order, and waited for later.

Results of numpy in float64, also where a multiply must stay: its tile has a number that the iteration computes, or the
slot of the tile before it. The steady state of a loop shows that multiplies and threads overlap.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import assert_within, run_everywhere
from test_shared_operands import gradient_of_queries, gradients, gradients_of_keys, matrices

import tilec as ct
from tilec.lowering.gpu.schedule.schedule_report import schedule_reports
from tilec.signature import Signature

Const = ct.Constant[int]
TARGET = "sm_90a"
# Results and what is multiplied again are rounded to float16.
RELATIVE = 4 * 2.0**-11
# Data sheet of H100: 989 TFLOP/s of 16-bit floats, 4096 per clock of an SM (lowering/model/constants.py).
MULTIPLY_ADDS_PER_CLOCK = 2048
# The largest score of a block that chooses the first block of values.
LIMIT = 1


@ct.kernel
def gated_sums(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """The sums of exp2(q @ k.T) * (q @ v.T) over blocks of keys: two multiplies, for each of which threads wait."""
    q = ct.load(Q, (ct.bid(0), 0), (rows, width))
    result = ct.zeros((rows, keys), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        k = ct.load(K, (j, 0), (keys, width))
        weights = ct.exp2(ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32)))
        v = ct.load(V, (j, 0), (keys, width))
        result += weights * ct.mma(q, ct.transpose(v), ct.zeros((rows, keys), ct.float32))
    ct.store(R, (ct.bid(0), 0), result)


@ct.kernel
def chosen_values(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """The scores of an iteration choose the block of values that the iteration multiplies."""
    q = ct.load(Q, (ct.bid(0), 0), (rows, width))
    result = ct.zeros((rows, keys), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        k = ct.load(K, (j, 0), (keys, width))
        scores = ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32))
        chosen = ct.where(ct.max(scores) > LIMIT, 1, 0).item()
        v = ct.load(V, (chosen, 0), (keys, width))
        result += scores * ct.mma(q, ct.transpose(v), ct.zeros((rows, keys), ct.float32))
    ct.store(R, (ct.bid(0), 0), result)


@ct.kernel
def four_multiplies(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """Threads store the operand of the last multiply; a branch changes sums while others are in flight."""
    q = ct.load(Q, (ct.bid(0), 0), (rows, width))
    first, second = ct.zeros((rows, width), ct.float32), ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        k, v = ct.load(K, (j, 0), (keys, width)), ct.load(V, (j, 0), (keys, width))
        half = (k.astype(ct.float32) * 0.5).astype(K.dtype)
        p = ct.exp2(ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32)))
        first = ct.mma(p.astype(Q.dtype), v, first)
        if j % 2 == 1:
            second = second * 0.5
        t = ct.mma(q, ct.transpose(v), ct.zeros((rows, keys), ct.float32))
        second = ct.mma((p * t).astype(Q.dtype), half, second)
    ct.store(R, (ct.bid(0), 0), first + second)


@ct.kernel
def weighted_values(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """exp2(q @ k.T) @ v: the accumulator is carried as it is."""
    q = ct.load(Q, (ct.bid(0), 0), (rows, width))
    result = ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        k, v = ct.load(K, (j, 0), (keys, width)), ct.load(V, (j, 0), (keys, width))
        weights = ct.exp2(ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32)))
        result = ct.mma(weights.astype(Q.dtype), v, result)
    ct.store(R, (ct.bid(0), 0), result)


@ct.kernel
def two_products(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """The elementwise product of the sums of q @ k.T and of q @ v.T over blocks of columns."""
    first, second = ct.zeros((rows, keys), ct.float32), ct.zeros((rows, keys), ct.float32)
    for j in range(ct.num_tiles(Q, axis=1, shape=(rows, width))):
        q = ct.load(Q, (0, j), (rows, width))
        first = ct.mma(q, ct.transpose(ct.load(K, (0, j), (keys, width))), first)
        second = ct.mma(q, ct.transpose(ct.load(V, (0, j), (keys, width))), second)
    ct.store(R, (0, 0), first * second)


def arguments(blocks: int, rows: int, keys: int, width: int, columns: int) -> tuple[tuple[Any, ...], list[np.ndarray]]:
    """Arguments with a result of `columns` columns, and the matrices in float64."""
    shapes = (rows, width), (blocks * keys, width), (blocks * keys, width)
    given = matrices(np.random.default_rng(blocks + width), *shapes)
    args = (*given, np.zeros((rows, columns), np.float32), rows, keys, width)
    return args, [each.astype(np.float64) for each in given]


def by_blocks(matrix: np.ndarray, blocks: int) -> list[np.ndarray]:
    return list(np.split(matrix, blocks))


def assert_results(kernel: Any, args: tuple[Any, ...], expected: np.ndarray, magnitude: np.ndarray) -> None:
    for (found,) in run_everywhere(kernel, (1,), args, (3,), target=TARGET, hints={}, seeds=range(3)):
        assert_within(found, expected, RELATIVE * magnitude + 1e-5)


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize(("rows", "keys", "width"), [(64, 64, 64), (128, 64, 64), (64, 128, 512)])
def test_gated_sums(blocks: int, rows: int, keys: int, width: int) -> None:
    """With 512 columns both tiles are in the same slot: the second one is loaded when the first one is released."""
    args, (q, k, v) = arguments(blocks, rows, keys, width, keys)
    terms = [np.exp2(q @ k.T) * (q @ v.T) for k, v in zip(by_blocks(k, blocks), by_blocks(v, blocks), strict=True)]
    assert_results(gated_sums, args, sum(terms), sum(map(np.abs, terms)))


@pytest.mark.parametrize("blocks", [2, 5])
def test_chosen_values(blocks: int) -> None:
    """The role of the loads waits for the number, and the threads, before they have sent it, for no slot."""
    args, (q, k, v) = arguments(blocks, 64, 64, 64, 64)
    # Powers of two are exact in float16.
    for matrix in args[1], k:
        matrix[:64] /= 16
    scores = [q @ keys.T for keys in by_blocks(k, blocks)]
    assert {bool(each.max() > LIMIT) for each in scores} == {False, True}
    terms = [each * (q @ by_blocks(v, blocks)[int(each.max() > LIMIT)].T) for each in scores]
    assert_results(chosen_values, args, sum(terms), sum(map(np.abs, terms)))


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("rows", [64, 128])
def test_four_multiplies(blocks: int, rows: int) -> None:
    args, (q, k, v) = arguments(blocks, rows, 64, 64, 64)
    result, magnitude, second = np.zeros((rows, 64)), np.zeros((rows, 64)), np.zeros((rows, 64))
    for j, (keys, values) in enumerate(zip(by_blocks(k, blocks), by_blocks(v, blocks), strict=True)):
        p, t = np.exp2(q @ keys.T), q @ values.T
        result += p @ values
        second = second * (0.5 if j % 2 else 1) + (p * t) @ (keys / 2)
        magnitude += p @ np.abs(values) + np.abs(p * t) @ np.abs(keys)
    assert_results(four_multiplies, args, result + second, magnitude)


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_weighted_values(blocks: int) -> None:
    args, (q, k, v) = arguments(blocks, 128, 64, 64, 64)
    weights = np.exp2(q @ k.T)
    assert_results(weighted_values, args, weights @ v, weights @ np.abs(v))


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_two_products(blocks: int) -> None:
    given = matrices(np.random.default_rng(blocks), *[(64, blocks * 64)] * 3)
    q, k, v = (each.astype(np.float64) for each in given)
    args = (*given, np.zeros((64, 64), np.float32), 64, 64, 64)
    bound = (np.abs(q) @ np.abs(k).T) * (np.abs(q) @ np.abs(v).T)
    assert_results(two_products, args, (q @ k.T) * (q @ v.T), bound)


@pytest.mark.parametrize(
    ("kernel", "rows", "most"), [(gradient_of_queries, 128, 3 * 1.1), (gradients_of_keys, 64, 4 * 1.4)]
)
def test_gradients_take_the_clocks_of_their_multiplies(kernel: Any, rows: int, most: float) -> None:
    """At most 3.3 and 5.6 times those of one multiply; in program order 4.1 and 7.6, as threads wait for the second."""
    given, *_ = gradients(1, rows, 128, 64)
    results = [given[0]] if kernel is gradient_of_queries else [given[1], given[2]]
    signature = Signature.from_arguments(kernel, (*given, *results, rows, 128, 64))
    compiled = ct.compile(kernel, target=TARGET, signature=signature, stop="gpu")
    (report,) = schedule_reports(compiled.stage("gpu").value, TARGET)
    assert report.attained is not None
    assert report.attained <= most * (rows * 128 * 64 / MULTIPLY_ADDS_PER_CLOCK)


def test_products_of_one_operand_stay_in_flight() -> None:
    """Their waits have the order of the multiplies, so that those of an iteration are left to the next one."""
    given = matrices(np.random.default_rng(0), *[(64, 128)] * 3)
    args = (*given, np.zeros((64, 64), np.float32), 64, 64, 64)
    compiled = ct.compile(
        two_products, target=TARGET, signature=Signature.from_arguments(two_products, args), stop="gpu"
    )
    assert re.findall(r"tile_gpu.wgmma_wait .* pending (\d)", compiled.gpu) == ["2", "2", "0", "0"]
