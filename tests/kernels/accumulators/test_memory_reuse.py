"""Memory that is in use at different times is the same: results are exact in every order of the threads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import reuse_kernels
from compare import assert_within, run_everywhere

import tilec
from tilec.signature import Signature

SEEDS = range(2)
# Each of these drops roles, copies that run ahead, or TMA.
SWITCHES = [{}, {"roles": False}, {"pipeline": False, "tma": False}]


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers whose products and sums are exact in float32."""
    return random.integers(-4, 5, shape).astype(np.float16)


def rings(kernel: Any, args: tuple[Any, ...], target: str, producer: str) -> list[int]:
    """The number of slots of each ring of a producer."""
    compiled = tilec.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="gpu")
    found = re.findall(r"make_channel stages (\d+) producer (\w+) .*(continues)?", compiled.stage("gpu").text)
    return [int(stages) for stages, name, continues in found if name == producer and not continues]


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize("bounds", [(0, 3, 4, 9), (0, 0, 6, 6), (2, 2, 2, 2)], ids=str)
def test_loops_of_other_lengths(target, hints, bounds, random):
    A, B = integers(random, 64, 9 * 32), integers(random, 9 * 32, 64)
    C = np.zeros((3 * 64, 64), np.float32)
    args = (A, B, C, bounds, 64, 64, 32)
    parts = [slice(32 * first, 32 * last) for first, last in zip(bounds, bounds[1:], strict=False)]
    exact = np.concatenate([A[:, part].astype(np.float64) @ B[part] for part in parts])
    kernel = reuse_kernels.products_in_sequence
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_slots_of_other_sizes(target, hints, steps, random):
    A, B = integers(random, 128, 5 * 32), integers(random, 5 * 32, 128)
    C = np.zeros((3 * 128, 128), np.float32)
    args = (A, B, C, steps, 128, 128, 32)
    k = 32 * steps
    exact = np.zeros((3 * 128, 128))
    exact[:128] = A[:, :k].astype(np.float64) @ B[:k]
    exact[128:192, :64] = A[:64, :k].astype(np.float64) @ B[:k, :64]
    kernel = reuse_kernels.unlike_products
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize(("tiles", "steps"), [(0, 2), (3, 0), (4, 3)])
def test_loops_in_branches_of_a_loop(target, hints, tiles, steps, random):
    A, B = integers(random, 64, 6 * 32), integers(random, 6 * 32, 64)
    C = np.zeros((8 * 64, 64), np.float32)
    exact = np.zeros((8, 64, 64))
    k = 32 * steps
    for i in range(tiles):
        part = slice(0, k) if i % 2 == 0 else slice(k, 2 * k)
        exact[2 * i] = A[:, part].astype(np.float64) @ B[part]
        exact[2 * i + 1] = A[:, 32 * i : k].astype(np.float64) @ B[32 * i : k] if i < steps else 0
    args = (A, B, C, tiles, steps, 64, 64, 32)
    kernel = reuse_kernels.nested_products
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact.reshape(8 * 64, 64), 0.0)


@pytest.mark.parametrize("count", [2, 5])
def test_chained_products_without_a_loop(target, count, random):
    """Permutations keep every element exact; five accumulators of 128 columns need more than tensor memory has."""
    X = integers(random, 128, 128)
    W = np.concatenate([np.eye(128, dtype=np.float16)[random.permutation(128)] for _ in range(count)])
    exact = X.astype(np.float64)
    for part in W.reshape(count, 128, 128):
        exact = exact @ part
    args = (X, W, np.zeros((128, 128), np.float16), count, 128)
    for (found,) in run_everywhere(reuse_kernels.chain, (1,), args, (2,), target=target, hints={}, seeds=SEEDS):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("hints", [{}, {"roles": False}], ids=str)
def test_three_layers(target, hints, random):
    """432 KB of operands and results, of which 192 KB are in use at once; permutations keep every element exact."""
    X, first = integers(random, 128, 64), random.integers(-1, 2, (64, 256)).astype(np.float16)
    second = np.eye(256, dtype=np.float16)[random.permutation(256)]
    third = second[:, :128]
    exact = X.astype(np.float64) @ first @ second @ third
    args = (X, first, second, third, np.zeros((128, 128), np.float32), 128, 64, 256)
    for (found,) in run_everywhere(
        reuse_kernels.three_layers, (1,), args, (4,), target=target, hints=hints, seeds=SEEDS, interpret=False
    ):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("hints", [{}, {"tma": False}], ids=str)
def test_operands_of_threads_are_in_memory_while_they_are_multiplied(target, hints, random):
    """Each of the left operands has 64 KB, the right one 32 KB: an operand per product would take 384 KB."""
    A, B = random.integers(0, 9, (128, 64)).astype(np.float64), random.integers(0, 9, (64, 64)).astype(np.float64)
    args = (A, B, np.zeros((128, 64)), 128, 64, 64)
    kernel = reuse_kernels.products_of_threads
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, 3 * A @ B + A * A @ B, 0.0)


@pytest.mark.parametrize("row", [0, 77])
def test_rings_leave_memory_to_a_tile_that_is_exchanged_as_a_whole(target, row, random):
    """The product takes 64 KB of scratch memory, and six slots of 32 KB would leave 35 KB, five leave 67 KB."""
    A, B = integers(random, 128, 5 * 64), integers(random, 5 * 64, 128)
    args = (A, B, np.zeros((1, 128), np.float32), 5, row, 128, 128, 64)
    kernel = reuse_kernels.row_of_product
    exact = A[row : row + 1].astype(np.float64) @ B
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints={"stages": 6}, seeds=SEEDS):
        assert_within(found, exact, 0.0)
    assert rings(kernel, args, target, "tma") == [5]


# Accumulators of 448, 640, 640 and 1,024 columns, of which sm_100a has 512.
@pytest.mark.parametrize("rows, narrow, wide", [(128, 64, 256), (128, 128, 256), (64, 128, 256), (64, 256, 256)])
@pytest.mark.parametrize("hints", [{}, {"roles": False}], ids=str)
def test_accumulators_that_are_in_use_together_have_columns_of_their_own(target, rows, narrow, wide, hints, random):
    A, B = integers(random, rows, 2 * 32), integers(random, 2 * 32, 3 * 256)
    exact = np.zeros((4 * rows, max(wide, 3 * narrow)))
    for step in range(2):
        a, at = A[:, 32 * step : 32 * (step + 1)].astype(np.float64), 2 * step * rows
        exact[at : at + rows, :wide] = 2 + a @ B[32 * step : 32 * (step + 1), :wide]
        exact[at + rows : at + 2 * rows, : 3 * narrow] = np.repeat([3, 4, 5], narrow) + a @ B[:32, : 3 * narrow]
    args = (A, B, np.zeros(exact.shape, np.float32), 2, rows, narrow, wide, 32)
    kernel = reuse_kernels.sums_in_use_together
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact, 0.0)
    compiled = tilec.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="ptx")
    assert "mma.sync" not in compiled.ptx


# Accumulators of 256 rows, of 832 and 896 columns together: multiplies of the next step await the stores of this one.
# Rows that are 129 of 132 numbers are stored by TMA or by threads, which the end of the last row decides.
@pytest.mark.parametrize("narrow", [32, 64])
def test_multiplies_do_not_run_ahead_of_stores_that_free_their_columns(target, narrow, random):
    rows, wide, steps = 256, 128, 3
    A, B = integers(random, rows, 2 * 32), integers(random, 2 * 32, wide)
    left, right = A.astype(np.float64).reshape(rows, 2, 32), B.astype(np.float64).reshape(2, 32, wide)
    exact = np.zeros((steps, 4, rows, wide + 1))
    for i in range(steps):
        exact[i, 0, :, :narrow] = left[:, 0] @ right[0, :, :narrow]
        exact[i, 1, :, :wide] = left[:, 1] @ right[1]
        exact[i, 2, :, :wide] = 5 + sum(left[:, k] @ right[k] for k in range(i, 2))
        exact[i, 3, :, :wide] = 4 + left[:, 1] @ right[1]
    C = np.zeros((steps * 4 * rows, wide + 4), np.float32)[:, : wide + 1]
    args = (A, B, C, steps, rows, narrow, wide, 32)
    kernel = reuse_kernels.sums_stored_at_the_end
    for (found,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints={}, seeds=SEEDS):
        assert_within(found, exact.reshape(found.shape), 0.0)
    compiled = tilec.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="gpu")
    assert not [remark.message for remark in compiled.all_remarks if "would wait for each other" in remark.message]


# The weights are rounded to float16 before the second multiply, the result too; everything else is float32.
ATTENTION_RELATIVE = 3 * 2.0**-11


@pytest.mark.parametrize("split", [0, 1])
def test_attention_in_two_loops(target, split, random):
    """Tiles of 128x128 of width 128: two sets of tiles of keys, values and weights do not fit in shared memory."""
    Q, K, V = (random.standard_normal((size, 128), np.float32).astype(np.float16) for size in (128, 384, 384))
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    s = q @ k.T * 0.125
    weights = np.exp(s - s.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    args = (Q, K, V, np.zeros((128, 128), np.float16), split, 0.125, 128, 128, 128)
    kernel = reuse_kernels.attention_in_two_loops
    for (found,) in run_everywhere(kernel, (1,), args, (3,), target=target, hints={}, seeds=SEEDS):
        assert_within(found, weights @ v, ATTENTION_RELATIVE * (weights @ np.abs(v)) + 1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_number_of_loops_keeps_the_depth_of_one(target, count):
    A, B, C = (np.zeros(shape, np.float16) for shape in ((128, 512), (512, 256), (8 * 128, 256)))
    args = (A, B, C, tuple(range(count + 1)), 128, 256, 64)
    assert rings(reuse_kernels.products_in_sequence, args, target, "tma") == [4]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_multiplies_of_every_loop_are_in_flight(count):
    args = (*(np.zeros(shape, np.float16) for shape in ((128, 512), (512, 256), (8 * 128, 256))),)
    args = (*args, tuple(range(count + 1)), 128, 256, 64)
    kernel = reuse_kernels.products_in_sequence
    compiled = tilec.compile(kernel, target="sm_90a", signature=Signature.from_arguments(kernel, args), stop="ptx")
    assert compiled.ptx.count("wgmma.wait_group.sync.aligned 1;") == count
