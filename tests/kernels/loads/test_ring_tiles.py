"""Tiles that are not operands, in loops of multiplies: TMA loads them ahead of the threads that read them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compare import ROUNDINGS, SUM_CUT, assert_within, run_everywhere

import tilec as ct
from tilec.dialect.tile_gpu.operations.view import LoadViewOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.ir.enclosing import is_repeated

TARGETS = ("sm_100a", "sm_90a")
ZERO = ct.PaddingMode.ZERO
ROWS, KEYS, WIDTH = 128, 128, 64


@ct.kernel
def attention(Q, K, V, B, R, variant: ct.Constant[str]):
    """R = softmax2(Q @ K.T / 8 + bias) @ V, with a bias of each element, each column or each row, or a mask."""
    block = ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, WIDTH), padding_mode=ZERO)
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    result = ct.zeros((ROWS, WIDTH), ct.float32)
    for step in range(ct.num_tiles(K, 0, (KEYS, WIDTH))):
        k = ct.load(K, (step, 0), (KEYS, WIDTH), padding_mode=ZERO)
        scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, KEYS), ct.float32)) * 0.125
        columns = step * KEYS + ct.arange(KEYS, dtype=ct.int32)[None, :]
        if variant == "tile":
            scores = scores + ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO).astype(ct.float32)
        if variant == "columns":
            scores = scores + ct.load(B, (0, step), (1, KEYS), padding_mode=ZERO)
        if variant == "vector":
            scores = scores * ct.load(B, (step,), (KEYS,), padding_mode=ZERO)[None, :]
        if variant == "predicates":
            scores = ct.where(ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO), scores, -1000.0)
        if variant == "mask":
            scores = ct.where(ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO) != 0, scores, -1000.0)
        scores = ct.where(columns < K.shape[0], scores, -math.inf)
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - new, flush_to_zero=True)
        change = ct.exp2(largest - new, flush_to_zero=True)
        total = total * change + ct.sum(weights, axis=1, keepdims=True)
        v = ct.load(V, (step, 0), (KEYS, WIDTH), padding_mode=ZERO)
        result = ct.mma(weights.astype(ct.float16), v, result * change)
        largest = new
    ct.store(R, (block, 0), (result / total).astype(ct.float16))


def attention_arguments(rows: int, keys: int, variant: str, seed: int) -> tuple[object, ...]:
    random = np.random.default_rng(seed)
    q, k, v = (random.standard_normal((size, WIDTH), np.float32).astype(np.float16) for size in (rows, keys, keys))
    bias = {
        "tile": lambda: random.standard_normal((rows, keys), np.float32).astype(np.float16),
        "columns": lambda: random.standard_normal((1, keys), np.float32),
        "vector": lambda: random.standard_normal(keys, np.float32),
        "mask": lambda: random.integers(0, 2, (rows, keys), np.int8),
        "predicates": lambda: random.integers(0, 2, (rows, keys)).astype(bool),
    }[variant]()
    return q, k, v, bias, np.zeros((rows, WIDTH), np.float16), variant


def softmax_product(q, k, v, bias, _result, variant: str) -> tuple[np.ndarray, np.ndarray]:
    """The exact result, and the bound of the rounding error of each element."""
    q, k, v, bias = (np.asarray(each, np.float64) for each in (q, k, v, bias))
    # The products are sums in float32. The bias and the maximum add one rounding each.
    lost_of_scores = math.ceil(WIDTH / 8) * SUM_CUT * (np.abs(q) @ np.abs(k).T) * 0.125
    scores = q @ k.T * 0.125
    scores = {
        "tile": lambda: scores + bias,
        "columns": lambda: scores + bias,
        "vector": lambda: scores * bias,
        "mask": lambda: np.where(bias != 0, scores, -1000.0),
        "predicates": lambda: np.where(bias != 0, scores, -1000.0),
    }[variant]()
    if variant == "vector":
        lost_of_scores = lost_of_scores * np.abs(bias)
    exponents = scores - scores.max(axis=1, keepdims=True)
    lost_of_scores += ROUNDINGS["float32"] * (np.abs(scores) + np.abs(exponents))
    weights = np.exp2(exponents)
    total = weights.sum(axis=1, keepdims=True)
    exact, magnitude = weights @ v / total, weights @ np.abs(v) / total
    # ex2.approx is accurate to 2^-22. The weights are in the dividend and in the divisor, which are float32 sums over
    # all keys. The dividend has weights rounded to float16: subnormal weights become multiples of 2^-24.
    of_weight = math.log(2) * lost_of_scores[weights > 2.0**-126].max() + 2.0**-22
    keys = len(v)
    of_sums = math.ceil(keys / 8) * SUM_CUT + (keys + 2 * math.ceil(keys / KEYS)) * ROUNDINGS["float32"]
    lost = magnitude * (2 * of_weight + of_sums + ROUNDINGS["float16"]) + keys * 2.0**-25 * np.abs(v).max()
    return exact, lost + ROUNDINGS["float16"] * (np.abs(exact) + lost)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("variant", ["tile", "columns", "vector", "mask", "predicates"])
@pytest.mark.parametrize(("rows", "keys"), [(128, 128), (200, 336)])
def test_attention_with_a_bias(rows: int, keys: int, variant: str, target: str) -> None:
    args = attention_arguments(rows, keys, variant, rows + keys)
    exact, tolerance = softmax_product(*args)
    for (found,) in run_everywhere(attention, (-(-rows // ROWS),), args, (4,), target=target, hints={}):
        assert_within(found, exact, tolerance)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("variant", ["tile", "columns", "vector", "mask", "predicates"])
def test_threads_load_no_bias(variant: str, target: str) -> None:
    """Nor with two blocks on an SM, which leave the mask of predicates a ring of one slot, at no cost by the model."""
    signature = ct.Signature.from_arguments(attention, attention_arguments(128, 256, variant, 0))
    for hints in ({}, {"occupancy": 1}):
        made = ct.compile(attention, target=target, signature=signature, hints=hints)
        loads = operations_named(made.stage("gpu").value, (LoadViewOp.OPERATION_NAME,))
        # Threads may load the queries, once.
        assert [load for load in loads if is_repeated(load.operation)] == []
        assert not made.remarks
    assert made.all_remarks == ()


@ct.kernel
def weighted(Q, K, V, F, B, R):
    """R = (Q @ K.T * F + B) @ V, with two tiles of 64 KiB for each tile of keys."""
    result, block = ct.zeros((ROWS, WIDTH), ct.float32), ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, WIDTH), padding_mode=ZERO)
    for step in range(ct.num_tiles(K, 0, (KEYS, WIDTH))):
        k = ct.load(K, (step, 0), (KEYS, WIDTH), padding_mode=ZERO)
        scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, KEYS), ct.float32))
        factors = ct.load(F, (block, step), (ROWS, KEYS), padding_mode=ZERO)
        scores = scores * factors + ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO)
        v = ct.load(V, (step, 0), (KEYS, WIDTH), padding_mode=ZERO)
        result = ct.mma(scores.astype(ct.float16), v, result)
    ct.store(R, (block, 0), result)


@pytest.mark.parametrize("target", TARGETS)
def test_an_operand_in_tensor_memory_or_registers_leaves_shared_memory_to_tiles(target: str) -> None:
    """With the scores, of 32 KiB, in shared memory too, threads would load the second tile of float32."""
    signature = "Q: f16[?,64], K: f16[?,64], V: f16[?,64], F: f32[?,?], B: f32[?,?], R: f32[?,64]"
    module = ct.compile(weighted, target=target, signature=signature, stop="ptx").stage("gpu").value
    loads = operations_named(module, (LoadViewOp.OPERATION_NAME,))
    # Threads may load the queries, once.
    assert [load for load in loads if "f32" in str(load.result.type)] == []


@ct.kernel
def added(A, B, R, C):
    """C = A @ B + R, a tile after the other, with tiles of R that an outer loop loads."""
    columns = ct.num_tiles(B, 1, (64, 128))
    for tile in range(ct.bid(0), ct.num_tiles(A, 0, (128, 64)) * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        total = ct.zeros((128, 128), ct.float32)
        for k in range(ct.num_tiles(A, 1, (128, 64))):
            a = ct.load(A, (i, k), (128, 64), padding_mode=ZERO)
            total = ct.mma(a, ct.load(B, (k, j), (64, 128), padding_mode=ZERO), total)
        ct.store(C, (i, j), total + ct.load(R, (i, j), (128, 128), padding_mode=ZERO).astype(ct.float32))


@ct.kernel
def dequantized(A, W, S, Z, C):
    """C = A @ ((W - Z) * S), with a zero point and a factor for each column of 64 rows of weights."""
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        w = ct.load(W, (k, ct.bid(0)), (64, 128), padding_mode=ZERO).astype(ct.float16)
        z = ct.load(Z, (k, ct.bid(0)), (1, 128), padding_mode=ZERO).astype(ct.float16)
        s = ct.load(S, (k, ct.bid(0)), (1, 128), padding_mode=ZERO)
        total = ct.mma(ct.load(A, (0, k), (128, 64), padding_mode=ZERO), (w - z) * s, total)
    ct.store(C, (0, ct.bid(0)), total)


def integers(seed: int, shape: tuple[int, int], dtype: type, least: int = -3) -> np.ndarray:
    return np.random.default_rng(seed).integers(least, 4, shape).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [64, 200])
def test_a_tile_is_added_after_each_inner_loop(depth: int, target: str) -> None:
    a, b, r = (
        integers(1, (300, depth), np.float16),
        integers(2, (depth, 264), np.float16),
        integers(3, (300, 264), np.float16),
    )
    expected = a.astype(np.float64) @ b.astype(np.float64) + r
    args = (a, b, r, np.zeros((300, 264), np.float32))
    for (found,) in run_everywhere(added, (2,), args, (3,), target=target, hints={}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("groups", [1, 5])
def test_weights_with_zero_points(groups: int, target: str) -> None:
    a, w = integers(4, (128, 64 * groups), np.float16), integers(5, (64 * groups, 256), np.int8, least=-128)
    s, z = 2.0 ** integers(6, (groups, 256), np.float16), integers(7, (groups, 256), np.int8, least=-8)
    weights = (w - np.repeat(z, 64, 0).astype(np.float64)) * np.repeat(s, 64, 0)
    args = (a, w, s.astype(np.float16), z, np.zeros((128, 256), np.float32))
    for (found,) in run_everywhere(dequantized, (2,), args, (4,), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(found, a.astype(np.float64) @ weights)


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_that_threads_convert_to_operands_have_no_ring(target: str) -> None:
    signature = "A: f16[?,?], W: i8[?,?], S: f16[?,?], Z: i8[?,?], C: f32[?,?]"
    made = ct.compile(dequantized, target=target, signature=signature, stop="gpu-raw")
    reason = "threads load ahead the elements that they convert and store as an operand of a multiply"
    assert any(reason in str(remark) for remark in made.all_remarks)
