"""A compile visits an operation once, not once for each path to it: an operand that is used twice doubles the paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec as ct

# 2^24 paths: a pass that follows each of them takes longer than the limit.
SQUARES = 24
LIMIT_S = 20
BLOCK = 128


def squared(value):
    for _ in ct.static_iter(range(SQUARES)):
        value = value * value + value
    return value


@ct.kernel
def of_index(A, B, R):
    """The role of the loads computes the index of a row."""
    for t in range(ct.bid(0), 4, ct.num_blocks(0)):
        rows = ct.load(A, (squared(t), 0), (16, 1024)).astype(ct.float32)
        ct.store(R, (t, 0), ct.sum(rows, axis=1, keepdims=True))


@ct.kernel
def of_row(A, B, R):
    """A row that a broadcast repeats."""
    row = squared(ct.load(B, (0, 0), (1, 64)).astype(ct.float32))
    ct.store(R, (0, 0), ct.load(A, (0, 0), (BLOCK, 64)).astype(ct.float32) * row)


@ct.kernel
def of_operand(A, B, R):
    """The lhs of a multiply, whose operations are counted for the depth of the rings."""
    total = ct.zeros((BLOCK, 64), ct.float32)
    for step in range(4):
        lhs = squared(ct.load(A, (0, step), (BLOCK, 64)))
        total = ct.mma(lhs, ct.load(B, (step, 0), (64, 64)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def of_chains(A, B, R):
    """Attention of two chains, each of which computes the tile that both need."""
    total = ct.zeros((2 * BLOCK, 64), ct.float32)
    bias = squared(ct.arange(2 * BLOCK, dtype=ct.int32)[:, None].astype(ct.float32))
    q = ct.load(A, (0, 0), (2 * BLOCK, 64))
    for step in range(4):
        keys = ct.load(B, (step, 0), (64, 64))
        scores = ct.mma(q, keys.transpose(), ct.zeros((2 * BLOCK, 64), ct.float32)) + bias
        total = ct.mma(scores.astype(ct.float16), keys, total)
    ct.store(R, (0, 0), total)


@ct.kernel
def of_factor(A, B, R):
    """The factor of a row, which crosses to the role that multiplies accumulators by it."""
    total, largest = ct.zeros((2 * BLOCK, 64), ct.float32), ct.zeros((2 * BLOCK, 1), ct.float32)
    q = ct.load(A, (0, 0), (2 * BLOCK, 64))
    for step in range(4):
        keys = ct.load(B, (step, 0), (64, 64))
        scores = ct.mma(q, keys.transpose(), ct.zeros((2 * BLOCK, 64), ct.float32))
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        factor = squared(ct.exp2(largest - new))
        total = ct.mma(ct.exp2(scores - new).astype(ct.float16), keys, total * factor)
        largest = new
    ct.store(R, (0, 0), total)


@pytest.mark.parametrize(
    "kernel", [of_index, of_row, of_operand, of_chains, of_factor], ids=lambda kernel: kernel.__name__
)
def test_compile_in_time(kernel: Any) -> None:
    args = np.zeros((512, 1024), np.float16), np.zeros((1024, 64), np.float16), np.zeros((512, 64), np.float32)
    with ct.compiler_timeout(LIMIT_S):
        ct.compile(kernel, target="sm_100a", signature=ct.Signature.from_arguments(kernel, args))
