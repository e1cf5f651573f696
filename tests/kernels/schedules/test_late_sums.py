"""Attention whose scores are multiplied two iterations ahead (sm_100a) has the results of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec
import tilec as ct
from tilec.lowering.gpu.schedule.schedule_report import schedule_reports
from tilec.signature import Signature

Const = ct.Constant[int]
# The weights are rounded to float16 before the second multiply, the result too; everything else is float32.
RELATIVE = 3 * 2.0**-11
TWO_AHEAD = "iterations_ahead = 2"
# Two blocks on an SM, which the plan chooses for these tiles, have no correction role.
ONE_BLOCK = {"occupancy": 1}


def attend(q, K, V, j, state, scale, tn, width):
    """The running maximum, sum and product of the weights, with those of one more block of keys."""
    largest, total, acc = state
    s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (tn, width))), ct.zeros((q.shape[0], tn), ct.float32))
    new_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True) * scale)
    p = ct.exp2(s * scale - new_largest, flush_to_zero=True)
    factor = ct.exp2(largest - new_largest, flush_to_zero=True)
    total = total * factor + ct.sum(p, axis=1, keepdims=True)
    return new_largest, total, ct.mma(p.astype(q.dtype), ct.load(V, (j, 0), (tn, width)), acc * factor)


@ct.kernel
def attention(Q, K, V, O, scale: ct.Constant[float], tm: Const, tn: Const, width: Const):  # noqa: E741
    """Attention with exponentials of base 2, some of which polynomials compute, and with a correction role."""
    q = ct.load(Q, index=(ct.bid(0), 0), shape=(tm, width))
    largest, total = ct.full((tm, 1), -1e30, dtype=ct.float32), ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(tn, width))):
        largest, total, acc = attend(q, K, V, j, (largest, total, acc), scale, tn, width)
    ct.store(O, (ct.bid(0), 0), (acc / total).astype(O.dtype))


@ct.kernel
def attention_of_tiles(
    Q, K, V, O, scale: ct.Constant[float], tm: Const, tn: Const, width: Const, first: int, step: int,  # noqa: E741
):  # fmt: skip
    """A block computes several tiles of queries, each over blocks of keys with distances that are not constant."""
    for tile in range(ct.bid(0), ct.num_tiles(Q, axis=0, shape=(tm, width)), ct.num_blocks(0)):
        q = ct.load(Q, index=(tile, 0), shape=(tm, width))
        largest, total = ct.full((tm, 1), -1e30, dtype=ct.float32), ct.zeros((tm, 1), ct.float32)
        acc = ct.zeros((tm, width), ct.float32)
        for j in range(first, ct.num_tiles(K, axis=0, shape=(tn, width)), step):
            largest, total, acc = attend(q, K, V, j, (largest, total, acc), scale, tn, width)
        ct.store(O, (tile, 0), (acc / ct.maximum(total, 1e-30)).astype(O.dtype))


def gpu_stage(kernel, args, target):
    signature = Signature.from_arguments(kernel, args)
    return tilec.compile(kernel, target=target, signature=signature, hints=ONE_BLOCK, stop="gpu").stage("gpu")


def is_two_ahead(kernel, args, target):
    return TWO_AHEAD in str(gpu_stage(kernel, args, target).content(False))


def arguments(random, blocks, keys=32, width=128, tiles=1, used=slice(None)):
    """The arguments of attention, its result in float64, and the sums of the magnitudes in it.

    `used` are the blocks of keys that count.
    """
    shapes = (tiles * 128, width), (blocks * keys, width), (blocks * keys, width)
    Q, K, V = (random.standard_normal(shape).astype(np.float16) for shape in shapes)
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    k, v = (array.reshape(blocks, keys, width)[used].reshape(-1, width) for array in (k, v))
    weights = np.exp2(0.125 * (q @ k.T))
    weights /= weights.sum(axis=1, keepdims=True)
    args = (Q, K, V, np.zeros((tiles * 128, width), np.float16), 0.125, 128, keys, width)
    return args, weights @ v, weights @ np.abs(v)


# Two iterations are before the loop, and two after it.
@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 7])
def test_attention_of_few_blocks_of_keys(blocks, random):
    args, expected, magnitudes = arguments(random, blocks)
    runs = run_everywhere(attention, (1,), args, (3,), target="sm_100a", hints=ONE_BLOCK, seeds=range(4))
    for (found,) in runs:
        assert_within(found, expected, RELATIVE * magnitudes + 1e-6)
    assert is_two_ahead(attention, args, "sm_100a")


# With 64 columns threads take more than twice the time of the multiplies. With 64 keys scores are late, but the product
# of the weights would wait for them on the tensor core, and the next correction for that product.
@pytest.mark.parametrize(("target", "keys", "width"), [("sm_100a", 128, 64), ("sm_100a", 64, 128), ("sm_90a", 32, 128)])
def test_scores_that_are_not_late_are_one_iteration_ahead(target, keys, width, random):
    args, _, _ = arguments(random, 1, keys, width)
    assert not is_two_ahead(attention, args, target)


def test_iterations_are_as_short_as_the_correction_of_the_result_allows(random):
    """Load, correct, store and multiply it: 708 clocks. With scores one iteration ahead, an iteration takes 772."""
    args, _, _ = arguments(random, 1)
    (report,) = schedule_reports(gpu_stage(attention, args, "sm_100a").value, "sm_100a")
    assert report.answer is not None and report.attained is not None
    assert report.attained <= 1.01 * report.answer.bound.interval
    names = (each.name.partition("@")[0] for each in report.loop.problem.operations)
    ahead = [(name, count) for name, count in zip(names, report.loop.ahead, strict=True) if count]
    assert ahead == [("tma_load", 2), ("tcgen05_mma", 2)]


@pytest.mark.parametrize(("blocks", "first", "step"), [(3, 3, 1), (2, 1, 3), (4, 1, 2), (9, 0, 4), (8, 1, 1)])
def test_tiles_with_few_blocks_of_keys(blocks, first, step, random):
    args, expected, magnitudes = arguments(random, blocks, tiles=3, used=slice(first, None, step))
    args = (*args, first, step)
    runs = run_everywhere(attention_of_tiles, (2,), args, (3,), target="sm_100a", hints=ONE_BLOCK, seeds=range(3))
    for (found,) in runs:
        assert_within(found, expected, RELATIVE * magnitudes + 1e-6)
    assert is_two_ahead(attention_of_tiles, args, "sm_100a")
