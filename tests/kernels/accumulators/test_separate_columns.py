"""Multiplies whose accumulators do not fit tensor memory: the last of outer loops use registers, and a remark says so.

The weights of attention in a branch are in tensor memory from the start of the kernel on, so that accumulators share
columns only from loop to loop: for scores and weights of `size` keys, 32 for the output, 256 and 128 for the products.
They fit in 512 with 64 keys; with 128 keys each accumulator has columns of its own in the end.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.dialect.walk import operations_named
from tilec.lowering.tile_to_gpu.kernel import convert


@ct.kernel
def attention_then_products(A, B, wanted: int, split: int, attended, C, D, size: ct.Constant[int]):
    if wanted > 0:
        q = ct.load(A, (0, 0), (64, 32))
        largest = ct.full((64, 1), -8, dtype=ct.float32)
        acc = ct.full((64, 32), 0, dtype=ct.float32)
        for j in range(split):
            k, v = ct.load(B, (0, j), (32, size)), ct.load(B, (j, 0), (size, 32))
            scores = ct.mma(q, k, ct.full((64, size), 0, dtype=ct.float32))
            peak = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
            p = ct.exp2(scores - peak)
            acc = ct.mma(p.astype(ct.float16), v, acc * ct.exp2(largest - peak))
            largest = peak
        for j in range(split, 256 // size):
            k, v = ct.load(B, (0, j), (32, size)), ct.load(B, (j, 0), (size, 32))
            scores = ct.mma(q, k, ct.full((64, size), 0, dtype=ct.float32))
            keys = j * size + ct.arange(size, dtype=ct.int32)[None, :]
            scores = ct.where(ct.arange(64, dtype=ct.int32)[:, None] + 128 >= keys, scores, -8.0)
            peak = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
            p = ct.exp2(scores - peak)
            acc = ct.mma(p.astype(ct.float16), v, acc * ct.exp2(largest - peak))
            largest = peak
        ct.store(attended, (0, 0), acc)
        wide = ct.full((64, 256), 0, dtype=ct.float32)
        for j in range(split + 1):
            wide = ct.mma(ct.load(A, (0, j), (64, 32)), ct.load(B, (j, 0), (32, 256)), wide)
        ct.store(C, (0, 0), wide)
    sums = ct.full((128, 128), 0, dtype=ct.float32)
    for j in range(split + 1):
        sums = ct.mma(ct.load(A, (0, j), (128, 32)), ct.load(B, (j, 0), (32, 128)), sums)
        ct.store(D, (j, 0), sums)


def expected(a: np.ndarray, b: np.ndarray, split: int, size: int) -> tuple[np.ndarray, ...]:
    """The results in float64, after the first one its errors if the weights are rounded to float16.

    The operands are small integers, so that the products are exact.
    """
    a, b = a.astype(float), b.astype(float)
    keys = np.arange(256)
    scores = a[:64, :32] @ b[:32, :256]
    masked = (keys >= size * split) & (np.arange(64)[:, None] + 128 < keys)
    scores = np.where(masked, -8.0, scores)
    weights = np.exp2(scores - np.maximum(-8.0, scores.max(1, keepdims=True)))
    sums = [a[:128, : 32 * n] @ b[: 32 * n, :128] for n in range(1, split + 2)]
    depth = 32 * (split + 1)
    values = b[:256, :32]
    rounding = 2**-10 * weights + 2**-24
    return weights @ values, rounding @ abs(values), a[:64, :depth] @ b[:depth, :256], np.concatenate(sums)


@pytest.mark.parametrize("size", [64, 128])
def test_products_without_columns_of_their_own_use_registers(size: int, target, random) -> None:
    A, B = (random.integers(-2, 3, (256, 256)).astype(np.float16) for _ in range(2))
    for split in (0, 1, 2):
        results = [np.zeros(shape, np.float32) for shape in ((64, 32), (64, 256), (128 * (split + 1), 128))]
        arguments = (A, B, 1, split, *results, size)
        signature = ct.Signature.from_arguments(attention_then_products, arguments)
        compiled = ct.compile(attention_then_products, target=target, signature=signature, stop="ptx")
        found = [remark.message for remark in compiled.all_remarks if "columns of tensor memory" in remark.message]
        if target == "sm_100a":
            refused = (
                "the multiply is done by mma.sync: other multiplies leave 224 columns of tensor memory, and this one "
                "needs 256"
            )
            assert found == ([] if size == 64 else [refused])
        ct.run(compiled, (1,), arguments, backend="simulate")
        output, errors, *products = expected(A, B, split, size)
        assert np.all(abs(results[0] - output) <= errors)
        for result, product in zip(results[1:], products, strict=True):
            np.testing.assert_array_equal(result, product)


def test_operands_have_columns_of_their_own_before_accumulators_have() -> None:
    """Each time that columns do not suffice, less is in columns that others have had before; the last has no choice."""
    A, B = (np.zeros((256, 256), np.float16) for _ in range(2))
    results = [np.zeros(shape, np.float32) for shape in ((64, 32), (64, 256), (256, 128))]
    signature = ct.Signature.from_arguments(attention_then_products, (A, B, 1, 1, *results, 64))
    module = (
        ct.compile(attention_then_products, target="sm_100a", signature=signature, stop="tile-opt").stages[-1].value
    )
    over_accumulators = []

    def count(candidate, target, options) -> int:
        placed = operations_named(candidate, ("tile_gpu.place",))
        over_accumulators.append(sum(op.over is not None for op in placed))
        assert not operations_named(candidate, ("tile_gpu.mma_sync",))
        return target.tensor_memory_columns + 1

    made = convert(module, target="sm_100a", count_columns=count)
    assert over_accumulators == [0, 2]
    assert operations_named(made, ("tile_gpu.mma_sync",))


def test_a_kernel_whose_columns_suffice_without_sharing_is_not_counted() -> None:
    @ct.kernel
    def product(A, B, C):
        ct.store(C, (0, 0), ct.load(A, (0, 0), (128, 64)) @ ct.load(B, (0, 0), (64, 128)))

    signature = "A: f16[128,64], B: f16[64,128], C: f16[128,128]"
    module = ct.compile(product, target="sm_100a", signature=signature, stop="tile-opt").stages[-1].value

    def count(candidate, target, options) -> int:
        raise AssertionError("the columns of a kernel are counted")

    assert operations_named(convert(module, target="sm_100a", count_columns=count), ("tile_gpu.multiply",))
