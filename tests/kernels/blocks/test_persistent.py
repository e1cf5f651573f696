"""The hint `persistent`: blocks compute others that have not started, and each block of the grid is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import persistent_kernels as kernels
import pytest
from compare import assert_within, product_tolerance, run_everywhere

import tilec as ct
from tilec.signature import Signature

TARGET, HINT = "sm_100a", {"persistent": True}
SEEDS = range(5)
# The rounding of float16.
HALF = 2.0**-11


def run_persistent(kernel: Any, grid: Any, args: Any, output: int, seeds: Any = SEEDS, **hints: Any) -> list[Any]:
    """The output of each seed of the simulator, and of the interpreter."""
    found = run_everywhere(kernel, grid, args, [output], target=TARGET, hints={**HINT, **hints}, seeds=seeds)
    return [arrays[0] for arrays in found]


def integers(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Small integers, whose products have exact sums."""
    return random.integers(-3, 4, shape).astype(np.float16)


@pytest.mark.parametrize("grid", [(1,), (2,), (7,), (1000,), (31, 5), (1, 1, 9), (4, 3, 6)])
def test_every_block_runs_once(grid):
    for runs in run_persistent(kernels.count_runs, grid, [np.zeros(np.prod(grid), np.int32)], 0):
        assert (runs == 1).all()


def test_kernel_that_reads_no_index_of_a_block():
    for runs in run_persistent(kernels.count_all, (40, 3), [np.zeros(1, np.int32)], 0):
        assert runs[0] == 120


def test_blocks_compute_others():
    """The simulator starts two blocks, and without others on the device these compute all of the grid."""
    args = [np.zeros(100, np.int32)]
    assert ct.launch(None, (100,), kernels.count_runs, args, target=TARGET, hints=HINT)["clusters_canceled"] == 98
    assert "clusters_canceled" not in ct.launch(None, (100,), kernels.count_runs, args, target=TARGET)


@pytest.mark.parametrize(
    ("tile", "hints"),
    [
        ((128, 128, 64), {}),
        ((128, 64, 32), {"roles": False}),
        ((128, 128, 64), {"pipeline": False}),
        ((128, 128, 64), {"tma": False}),
        ((64, 64, 64), {}),
        ((128, 256, 64), {"num_ctas": 1}),
        ((256, 128, 64), {"num_ctas": 2}),
        ((256, 128, 64), {"num_ctas": 2, "multicast": False}),
        ((512, 64, 64), {"num_ctas": 4}),
        ((128, 128, 64), {"occupancy": 2}),
        ((16, 16, 32), {}),
    ],
)
def test_product(random, tile, hints):
    tm, tn, tk = tile
    a, b = integers(random, (3 * tm - 5, 3 * tk)), integers(random, (3 * tk, 2 * tn))
    exact = a.astype(np.float64) @ b
    args = (a, b, np.full(exact.shape, np.nan, np.float16), tm, tn, tk)
    for found in run_persistent(kernels.product, (3, 2), args, 2, **hints):
        assert (found == exact).all()


def test_product_without_steps(random):
    """Each block stores zeros: the accumulator is not multiplied in any of them."""
    args = (np.zeros((256, 0), np.float16), np.zeros((0, 256), np.float16), np.ones((256, 256), np.float16))
    for found in run_persistent(kernels.product, (2, 2), (*args, 128, 128, 64), 2):
        assert (found == 0).all()


@pytest.mark.parametrize(("rows", "columns", "hints"), [(1, 1000, {}), (4, 256, {}), (1, 4000, {"num_ctas": 2})])
def test_softmax(random, rows, columns, hints):
    """Without multiplies; with num_ctas, two blocks have a part of each row and exchange their sums."""
    x = random.standard_normal((9 * rows, columns)).astype(np.float32)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    exact = powers / powers.sum(1, keepdims=True)
    args = (x, np.full_like(x, np.nan), rows, 1 << (columns - 1).bit_length())
    # Weights are in the dividend and in the divisor: a difference below 10, log2(e) and their product are rounded, and
    # ex2.approx has an error of 2^-22. A thread adds at most 32 weights, and threads add their sums in at most 10
    # steps. The division has an error of 2 ulp.
    error = 2 * (3 * 10 * 2.0**-24 + 2.0**-22) + (32 + 10 + 4) * 2.0**-24
    for found in run_persistent(kernels.softmax, (9,), args, 1, **hints):
        assert_within(found, exact, error * exact)


@pytest.mark.parametrize("hints", [{}, {"roles": False}])
def test_attention_with_blocks_that_end_early(random, hints):
    """Blocks beyond the length of their head end at once, and all others have loops of different lengths."""
    heads, size, depth, lengths = 3, 384, 64, np.array([384, 100, 256], np.int32)
    q, k, v = (random.standard_normal((heads, size, depth)).astype(np.float16) for _ in range(3))
    scale = 1.4426950408889634 / 8
    exact = np.full((heads, size, depth), -7.0)
    for head, length in enumerate(lengths):
        n = -(-int(length) // 128) * 128
        scores = q[head, :n].astype(np.float64) @ k[head, :length].astype(np.float64).T * scale
        scores[np.arange(n)[:, None] < np.arange(length)[None, :]] = -np.inf
        powers = np.exp2(scores - scores.max(1, keepdims=True))
        exact[head, :n] = powers @ v[head, :length].astype(np.float64) / powers.sum(1, keepdims=True)
    args = (q, k, v, lengths, np.full(q.shape, -7, np.float16), scale, 128, 128, depth)
    # A row is a mean of values of at most 5. Its weights and the result are rounded to float16. Scores of 64 products
    # and the sums are float32, whose errors are below those of two more such roundings.
    for found in run_persistent(kernels.attention, (3, heads), args, 4, seeds=(0, 1, 2), **hints):
        assert_within(found, exact, 5 * 4 * HALF)


def test_depth_in_steps_of_the_grid(random):
    """The extent of the grid stays that of the launch."""
    a, b = integers(random, (256, 640)), integers(random, (640, 128))
    args = (a, b, np.zeros((256, 128), np.float32), 128, 128, 64)
    for found in run_persistent(kernels.split_depth, (2, 1, 3), args, 2):
        assert (found == a.astype(np.float64) @ b).all()


def test_loop_that_ends_by_values_of_the_block():
    x = np.linspace(0.1, 99, 32 * 5).astype(np.float32)
    for found in run_persistent(kernels.until_converged, (5,), [x, np.zeros_like(x)], 1):
        for block, got in zip(x.reshape(5, 32), found.reshape(5, 32), strict=True):
            steps = max(0, int(np.ceil(np.log2(block.max()))))
            assert (got == block * np.float32(0.5) ** steps + steps).all()


ARRAYS = "A: f16[512,512], B: f16[512,512], C: f16[512,512], TM=128, TN=128, TK=64"


@pytest.mark.parametrize(
    ("kernel", "signature", "target", "reason"),
    [
        (kernels.product, ARRAYS, "sm_90a", "sm_90a cannot cancel the launch of blocks, which needs sm_100a"),
        (kernels.strided, ARRAYS, TARGET, "the loop over num_blocks computes all tiles of the block already"),
        (kernels.waits, "flags: i32[?], out: i32[?]", TARGET, "the loop may wait for another block"),
    ],
)
def test_kernel_that_cannot_take_over_blocks(kernel, signature, target, reason):
    """A remark has the reason, and the code is that without the hint."""
    plain, hinted = (
        ct.compile(kernel, target=target, signature=signature, hints=hints, stop="ptx") for hints in ({}, HINT)
    )
    (remark,) = [each for each in hinted.remarks if each.topic == "hint"]
    assert remark.message.startswith(f"persistent=on is not followed: {reason}")
    assert remark.location is not None and remark.location.file == kernels.__file__
    assert "clusterlaunchcontrol" not in hinted.ptx
    assert plain.ptx == hinted.ptx


ALLOCATES = """entry @k(%p: tile<ptr<i32>>) {
  %i, %j, %k = get_tile_block_id : tile<i32>
  %a = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<ptr<i32>>, tile<i32> -> token
  %x, %u = load_ptr_tko weak %a token=%t : tile<ptr<i32>> -> tile<i32>, token
  %v = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


def test_kernel_that_allocates_memory_does_not_take_over_blocks():
    compiled = ct.compile(ALLOCATES, target=TARGET, hints=HINT, stop="ptx")
    (remark,) = [each for each in compiled.remarks if each.topic == "hint"]
    reason = "the block allocates memory, which lives until the kernel ends"
    assert remark.message == f"persistent=on is not followed: {reason}"
    assert remark.location is not None and remark.location.line == 3
    assert "clusterlaunchcontrol" not in compiled.ptx


@pytest.mark.parametrize("kernel", [kernels.product, kernels.split_depth])
def test_kernel_without_the_hint_requests_nothing(kernel):
    signature = ARRAYS.replace("C: f16", "C: f32") if kernel is kernels.split_depth else ARRAYS
    for hints, requests in (({}, 0), (HINT, 1)):
        compiled = ct.compile(kernel, target=TARGET, signature=signature, hints=hints, stop="ptx")
        assert compiled.ptx.count("clusterlaunchcontrol.try_cancel") == requests


def test_epilogue_overlaps_the_next_block():
    """Loads and multiplies of a block run while the block before it is stored: two accumulators, and one ring."""
    compiled = ct.compile(kernels.product, target=TARGET, signature=ARRAYS, hints=HINT, stop="gpu")
    assert "make_channel stages 2 producer mma consumers [threads] reuse ring" in compiled.gpu
    explained = compiled.explain("cost")
    assert "blocks take over others, which would take" in explained
    assert "not hidden by inner loops" in explained
    plain = ct.compile(kernels.product, target=TARGET, signature=ARRAYS, stop="gpu")
    assert "blocks take over others" not in plain.explain("cost")


def test_roles_of_two_chains_take_over_blocks_together(random):
    """Each half of the rows of an attention has a role, as without the hint, and is a consumer of the responses."""
    tile, keys, depth = 256, 256, 64
    q, k, v = (random.standard_normal((1, rows, depth)).astype(np.float16) for rows in (4 * tile, keys, keys))
    lengths, out = np.array([4 * tile], np.int32), np.zeros(q.shape, np.float16)
    args = (q, k, v, lengths, out, 1.4426950408889634 / 8, tile, 128, depth)
    signature = Signature.from_arguments(kernels.chains, args)
    compiled = ct.compile(kernels.chains, target=TARGET, signature=signature, hints=HINT, stop="gpu")
    assert "producer claims consumers [threads, threads, threads, warp, warp]" in compiled.gpu
    scores = q[0].astype(np.float64) @ k[0].astype(np.float64).T * args[5]
    powers = np.exp2(scores - scores.max(1, keepdims=True))
    exact = powers @ v[0].astype(np.float64) / powers.sum(1, keepdims=True)
    for found in run_persistent(kernels.chains, (4, 1), args, 4, seeds=(0, 1, 2)):
        assert_within(found[0], exact, 5 * 4 * HALF)


def test_kernel_that_is_not_split_into_roles(random):
    """One role requests and reads the responses, although a role of loads would have been a consumer too."""
    a, b = integers(random, (5 * 128, 64)), integers(random, (64, 64))
    flags = np.tile(np.array([1, 1, 0, 1, 0, 0, 1, 0], np.int32), 3)[:20]
    args = (a, b, flags, np.full((5 * 128, 64), np.nan, np.float16), 128, 64, 64)
    signature = Signature.from_arguments(kernels.depth_of_a_bit, args)
    compiled = ct.compile(kernels.depth_of_a_bit, target=TARGET, signature=signature, hints=HINT, stop="gpu")
    assert "tile_gpu.roles" not in compiled.gpu
    assert "stages 1 producer claims consumers [threads] reuse ring" in compiled.gpu
    chosen = [flags[4 * block + block % 4] > 0 for block in range(5)]
    exact = (a.astype(np.float64) @ b) * np.repeat(chosen, 128)[:, None]
    for found in run_persistent(kernels.depth_of_a_bit, (5,), args, 3):
        assert (found == exact).all()


def test_tolerances_are_those_of_products(random):
    """Blocks that run after each other round as blocks of their own."""
    a, b = (random.standard_normal((256, 256)).astype(np.float16) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    args = (a, b, np.zeros((256, 256), np.float32), 128, 128, 64)
    found = run_persistent(kernels.product, (2, 2), args, 2)
    assert_within(found[0], exact, product_tolerance(a.astype(np.float64), b.astype(np.float64), exact, np.float32))
    signature = Signature.from_arguments(kernels.product, args)
    plain = ct.compile(kernels.product, target=TARGET, signature=signature)
    alone = [args[0], args[1], np.zeros((256, 256), np.float32), *args[3:]]
    ct.run(plain, (2, 2), alone, backend="simulate")
    assert all((each == alone[2]).all() for each in found[:-1])
