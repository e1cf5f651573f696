"""Warpgroups of attention that multiply one after the other (sm_90a) have the results of numpy."""

from __future__ import annotations

import matrix_kernels
import numpy as np
import programs
import pytest
from compare import assert_within, run_everywhere

import tilec
import tilec as ct
from tilec.errors import TilecError
from tilec.signature import Signature

Const = ct.Constant[int]

# The weights are rounded to float16 before the second multiply, the result too; everything else is float32.
RELATIVE = 3 * 2.0**-11
SCALE = 0.125


def attention_arguments(random, rows, keys, width, blocks, tiles=1):
    """The arguments of programs.attention, its result in float64, and the sums of the magnitudes in it."""
    shapes = (tiles * rows, width), (blocks * keys, width), (blocks * keys, width)
    Q, K, V = (random.standard_normal(shape).astype(np.float16) for shape in shapes)
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    weights = np.exp(SCALE * (q @ k.T))
    weights /= weights.sum(axis=1, keepdims=True)
    args = (Q, K, V, np.zeros((tiles * rows, width), np.float16), SCALE, rows, keys, width)
    return args, weights @ v, weights @ np.abs(v)


def gpu_text(kernel, args, target, **hints):
    signature = Signature.from_arguments(kernel, args)
    return tilec.compile(kernel, target=target, signature=signature, hints=hints, stop="gpu").gpu


# Two warpgroups, or one, which has no other to alternate with; 256 rows are two halves in turn. The first iteration is
# before the loop.
@pytest.mark.parametrize(
    ("rows", "keys", "width", "groups"), [(128, 128, 64, 2), (128, 64, 128, 2), (256, 64, 128, 2), (256, 64, 64, 1)]
)
@pytest.mark.parametrize("blocks", [1, 2, 3, 6])
def test_attention_of_few_blocks_of_keys(target, rows, keys, width, groups, blocks, random):
    args, expected, magnitudes = attention_arguments(random, rows, keys, width, blocks)
    for (found,) in run_everywhere(programs.attention, (1,), args, (3,), target=target, hints={}, seeds=range(3)):
        assert_within(found, expected, RELATIVE * magnitudes + 1e-6)
    assert ("order_wait" in gpu_text(programs.attention, args, target)) == (target == "sm_90a" and groups == 2)


def add_keys(q, K, V, j, state, scale, tn, width):
    """The running maximum, sum and product of the weights, with those of one more block of keys."""
    largest, total, acc = state
    s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (tn, width))), ct.zeros((q.shape[0], tn), ct.float32)) * scale
    new_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
    p, factor = ct.exp(s - new_largest), ct.exp(largest - new_largest)
    total = total * factor + ct.sum(p, axis=1, keepdims=True)
    return new_largest, total, ct.mma(p.astype(q.dtype), ct.load(V, (j, 0), (tn, width)), acc * factor)


@ct.kernel
def attention_in_two_loops(Q, K, V, O, scale: ct.Constant[float], tm: Const, tn: Const, width: Const):  # noqa: E741
    """A block computes several tiles of queries, each with two loops: over the first half of the keys, and the rest."""
    blocks = ct.num_tiles(K, axis=0, shape=(tn, width))
    for tile in range(ct.bid(0), ct.num_tiles(Q, axis=0, shape=(tm, width)), ct.num_blocks(0)):
        q = ct.load(Q, index=(tile, 0), shape=(tm, width))
        largest, total = ct.full((tm, 1), -1e30, dtype=ct.float32), ct.zeros((tm, 1), ct.float32)
        acc = ct.zeros((tm, width), ct.float32)
        for j in range(blocks // 2):
            largest, total, acc = add_keys(q, K, V, j, (largest, total, acc), scale, tn, width)
        for j in range(blocks // 2, blocks):
            largest, total, acc = add_keys(q, K, V, j, (largest, total, acc), scale, tn, width)
        ct.store(O, (tile, 0), (acc / total).astype(O.dtype))


@pytest.mark.parametrize("blocks", [1, 3, 4, 7])
def test_signals_of_one_loop_are_those_that_the_next_one_waits_for(target, blocks, random):
    args, expected, magnitudes = attention_arguments(random, 128, 64, 64, blocks, tiles=5)
    runs = run_everywhere(attention_in_two_loops, (2,), args, (3,), target=target, hints={"warps": 8}, seeds=range(3))
    for (found,) in runs:
        assert_within(found, expected, RELATIVE * magnitudes + 1e-6)
    text = gpu_text(attention_in_two_loops, args, target, warps=8)
    expected = [2, 1, 2, 1] if target == "sm_90a" else [0, 0, 0, 0]
    steps = ("order_wait\n", "order_wait last\n", "order_signal\n", "order_signal first\n")
    assert [text.count(f"tile_gpu.{step}") for step in steps] == expected


# The rule follows FlashAttention 3: an order for 64 and 128 columns, and none for 256.
@pytest.mark.parametrize(("width", "is_ordered"), [(64, True), (128, True), (256, False)])
def test_order_where_threads_and_multiplies_take_similar_times(width, is_ordered, random):
    args, _, _ = attention_arguments(random, 128, 128, width, 1)
    assert ("order_wait" in gpu_text(programs.attention, args, "sm_90a")) == is_ordered


def test_one_warpgroup_has_no_order(random):
    args, _, _ = attention_arguments(random, 64, 64, 64, 1)
    assert "order_wait" not in gpu_text(programs.attention, args, "sm_90a")


def test_a_loop_with_one_multiply_has_no_order():
    half = np.float16
    args = (np.zeros((128, 512), half), np.zeros((512, 256), half), np.zeros((128, 256), half), 128, 256, 64)
    assert "order_wait" not in gpu_text(matrix_kernels.matmul, args, "sm_90a", warps=8)


def test_a_role_of_one_warpgroup_is_reported():
    text = (
        'tile_gpu.kernel @k() target "sm_90a" warps 4 {\n'
        "  tile_gpu.roles compute warps 4 {\n    tile_gpu.order_wait\n  } load warps 1 {\n  }\n}\n"
    )
    with pytest.raises(TilecError, match="expected a role of 8, 12 or 16 warps, .* but got 4"):
        tilec.compile(text, target="sm_90a")
