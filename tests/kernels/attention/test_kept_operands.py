"""A left operand that a loop reads in each iteration is in tensor memory where shared memory bounds the loop.

Operands are small integers, so that every sum is exact.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from attention_kernels import softmax_step
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

CONSTANT = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
TYPES = {"float16": np.float16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn}


def with_keys(total, q, K, V, j, limit, width, keys):
    """The weights of the keys of tile j, which are clipped products, and the sum with the products of their values."""
    k = ct.load(K, (j, 0), (keys, width), padding_mode=ZERO)
    scores = ct.mma(q, ct.transpose(k), ct.zeros((128, keys), ct.float32))
    weights = ct.minimum(ct.maximum(scores, -limit), limit).astype(V.dtype)
    return weights, ct.mma(weights, ct.load(V, (j, 0), (keys, width), padding_mode=ZERO), total)


@ct.kernel
def chain(Q, K, V, Y, width: CONSTANT, keys: CONSTANT):
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (keys, width))):
        _, total = with_keys(total, q, K, V, j, 2.0, width, keys)
    ct.store(Y, (ct.bid(0), 0), total)


@ct.kernel
def twice(Q, K, V, Y, width: CONSTANT, keys: CONSTANT):
    """Two loops read the operand, and the last one may run no iteration."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.bid(0) + 1):
        _, total = with_keys(total, q, K, V, j, 2.0, width, keys)
    for j in range(ct.bid(0)):
        _, total = with_keys(total, q, K, V, j, 1.0, width, keys)
    ct.store(Y, (ct.bid(0), 0), total)


@ct.kernel
def causal(Q, K, V, Y, width: CONSTANT, keys: CONSTANT):
    """Attention, whose loop is split where the mask starts."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    largest, sums = ct.full((128, 1), -math.inf, ct.float32), ct.zeros((128, 1), ct.float32)
    total = ct.zeros((128, width), ct.float32)
    rows = ct.bid(0) * 128 + ct.arange(128, dtype=ct.int32)[:, None]
    for j in range(ct.cdiv((ct.bid(0) + 1) * 128, keys)):
        k = ct.load(K, (j, 0), (keys, width), padding_mode=ZERO)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((128, keys), ct.float32))
        scores = ct.where(j * keys + ct.arange(keys, dtype=ct.int32)[None, :] <= rows, scores, -math.inf)
        weights, factor, largest, sums = softmax_step(scores, largest, sums)
        v = ct.load(V, (j, 0), (keys, width), padding_mode=ZERO)
        total = ct.mma(weights.astype(V.dtype), v, total * factor)
    ct.store(Y, (ct.bid(0), 0), total / sums)


@ct.kernel
def also_right(Q, K, V, Y, width: CONSTANT, keys: CONSTANT):
    """The operand is the right one of another multiply, which reads it from shared memory."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (keys, width))):
        weights, total = with_keys(total, q, K, V, j, 2.0, width, keys)
        total = ct.mma(weights, q, total)
    ct.store(Y, (ct.bid(0), 0), total)


@ct.kernel
def shifted(Q, K, V, shift, Y, width: CONSTANT, keys: CONSTANT):
    """Threads read a tile that is added to the scores."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (keys, width))):
        k = ct.load(K, (j, 0), (keys, width), padding_mode=ZERO)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((128, keys), ct.float32))
        scores = scores + ct.load(shift, (ct.bid(0), j), (128, keys), padding_mode=ZERO).astype(ct.float32)
        weights = ct.minimum(ct.maximum(scores, -2.0), 2.0).astype(V.dtype)
        total = ct.mma(weights, ct.load(V, (j, 0), (keys, width), padding_mode=ZERO), total)
    ct.store(Y, (ct.bid(0), 0), total)


def operands(random: np.random.Generator, width: int, dtype: Any = np.float16) -> list[np.ndarray]:
    """Q, K and V; the last tiles of both are not whole."""
    return [random.integers(-2, 3, (rows, width)).astype(np.float32).astype(dtype) for rows in (200, 300, 300)]


def clipped(q: np.ndarray, k: np.ndarray, v: np.ndarray, limit: float = 2.0) -> np.ndarray:
    return (q @ k.T).clip(-limit, limit) @ v


@pytest.mark.parametrize(
    ("dtype", "width", "keys"), [("float16", 256, 64), ("float16", 128, 128), ("float8_e4m3fn", 256, 64)]
)
def test_results(dtype: str, width: int, keys: int, random: np.random.Generator, target: str) -> None:
    given = operands(random, width, TYPES[dtype])
    expected = clipped(*(each.astype(np.float64) for each in given))
    args = [*given, np.zeros((200, width), np.float32), width, keys]
    for (found,) in run_everywhere(chain, (2,), args, (3,), target=target, hints={}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected)


def test_loops_in_a_row(random: np.random.Generator, target: str) -> None:
    given = operands(random, 256)
    q, k, v = (each.astype(np.float64) for each in given)
    expected = np.zeros((200, 256))
    for block in range(2):
        rows, first, second = slice(128 * block, 128 * block + 128), 64 * (block + 1), 64 * block
        expected[rows] = clipped(q[rows], k[:first], v[:first]) + clipped(q[rows], k[:second], v[:second], 1.0)
    args = [*given, np.zeros((200, 256), np.float32), 256, 64]
    for (found,) in run_everywhere(twice, (2,), args, (3,), target=target, hints={}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected)


def test_causal_attention(random: np.random.Generator, target: str) -> None:
    q, k, v = operands(random, 128)
    args = q, k, v, np.zeros((200, 128), np.float32), 128, 128
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    scores = np.where(np.arange(300)[None, :] <= np.arange(200)[:, None], scores, -np.inf)
    powers = np.exp2(scores - scores.max(1, keepdims=True))
    exact = powers @ v.astype(np.float64) / powers.sum(1, keepdims=True)
    for (result,) in run_everywhere(causal, (2,), args, (3,), target=target, hints={}, seeds=(0, 1)):
        # Weights are rounded to 11 bits, and values are at most 2.
        np.testing.assert_allclose(result, exact, rtol=0, atol=2 * 2.0**-10)


def shifts(random: np.random.Generator) -> np.ndarray:
    """Tiles that are added to the scores of `operands`: rows of whole 16 bytes."""
    return random.integers(-2, 3, (200, 304)).astype(np.float16)[:, :300]


def test_scores_with_a_tile_of_threads(random: np.random.Generator, target: str) -> None:
    given, shift = operands(random, 64), shifts(random)
    q, k, v = (each.astype(np.float64) for each in given)
    expected = (q @ k.T + shift).clip(-2.0, 2.0) @ v
    args = [*given, shift, np.zeros((200, 64), np.float32), 64, 128]
    for (found,) in run_everywhere(shifted, (2,), args, (4,), target=target, hints={}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected)


def left_operands(kernel: Any, width: int, keys: int, *tiles: np.ndarray, **hints: int) -> list[str]:
    """Where the plan has the left operand of each multiply."""
    args = [*operands(np.random.default_rng(0), width), *tiles, np.zeros((200, width), np.float32), width, keys]
    signature = Signature.from_arguments(kernel, args)
    made = ct.compile(kernel, signature=signature, target="sm_100a", hints=hints, stop="gpu")
    lines = [line.strip() for line in made.explain("plan").splitlines()]
    return [line.removeprefix("left operand: ") for line in lines if line.startswith("left operand")]


def test_operand_of_each_iteration_is_in_tensor_memory() -> None:
    assert left_operands(chain, 256, 64) == ["tensor memory, 128 columns", "tensor memory, 32 columns"]


def test_tile_of_threads_takes_the_port() -> None:
    """It crosses the port twice: 64 columns alone take the port less time than the elements of the scores."""
    in_shared_memory = "TMA to shared memory, swizzle 128B"
    assert left_operands(chain, 64, 128) == [in_shared_memory, "tensor memory, 64 columns"]
    tile = shifts(np.random.default_rng(0))
    assert left_operands(shifted, 64, 128, tile) == ["tensor memory, 32 columns", "tensor memory, 64 columns"]


def test_sums_of_loops_in_a_row_leave_columns() -> None:
    """Scores and weights have columns of the other loop: 128 + 64 beside the 128 of the output that both carry."""
    assert left_operands(causal, width=128, keys=128) == ["tensor memory, 64 columns"] * 4


def test_columns_of_another_block_are_left() -> None:
    """Scores and weights take 64 and 32 beside the output: with 64 more of 512 columns, one block is on an SM."""
    in_shared_memory = "TMA to shared memory, swizzle 128B"
    assert left_operands(causal, width=128, keys=64) == [in_shared_memory, "tensor memory, 32 columns"] * 2
    # With half of the keys, each of two blocks has them: 32 and 16 beside the output.
    assert left_operands(causal, width=128, keys=32) == ["tensor memory, 64 columns", "tensor memory, 16 columns"] * 2


def test_operand_has_the_columns_that_are_left() -> None:
    """The accumulators and the weights leave 64 of 512 columns, which one half of the operand has."""
    in_tensor_memory = "tensor memory, 64 columns"
    assert left_operands(chain, 256, 128) == [
        in_tensor_memory,
        "TMA to shared memory, swizzle 128B",
        in_tensor_memory,
        in_tensor_memory,
    ]


def test_operand_that_is_also_a_right_one_is_in_shared_memory() -> None:
    assert left_operands(also_right, 128, 128)[0] == "TMA to shared memory, swizzle 128B"


def test_rows_that_end_within_a_vector(random: np.random.Generator, target: str) -> None:
    """TMA loads the operand, whose rows of 250 elements threads would load one by one."""
    given = [each[:, :250] for each in operands(random, 256)]
    expected = clipped(*(each.astype(np.float64) for each in given))
    args = [*given, np.zeros((200, 250), np.float32), 256, 64]
    for (found,) in run_everywhere(chain, (2,), args, (3,), target=target, hints={}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected)
