"""Attention with one loop over keys or two: the order of loads, and columns and registers that both loops have."""

from __future__ import annotations

import math
import re
from itertools import groupby

import numpy as np
import pytest

import tilec as ct

ROWS = 128


def updated(scores, values, largest, total, result):
    """The largest score, the sum of weights and the weighted values of each row, with one more block of keys."""
    new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    weights = ct.exp2(scores - new, flush_to_zero=True)
    change = ct.exp2(largest - new, flush_to_zero=True)
    total = total * change + ct.sum(weights, axis=1, keepdims=True)
    return new, total, ct.mma(weights.astype(values.dtype), values, result * change)


@ct.kernel
def attention(Q, K, V, R, keys: ct.Constant[int], width: ct.Constant[int]):
    """The tiles of the block, one after the other, each with all blocks of keys."""
    for tile in range(ct.bid(0), ct.cdiv(Q.shape[0], ROWS), ct.num_blocks(0)):
        q = ct.load(Q, (tile, 0), (ROWS, width))
        largest = ct.full((ROWS, 1), -math.inf, ct.float32)
        total = ct.zeros((ROWS, 1), ct.float32)
        result = ct.zeros((ROWS, width), ct.float32)
        for step in range(ct.cdiv(K.shape[0], keys)):
            k = ct.load(K, (step, 0), (keys, width))
            scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, keys), ct.float32)) * 0.125
            values = ct.load(V, (step, 0), (keys, width))
            largest, total, result = updated(scores, values, largest, total, result)
        ct.store(R, (tile, 0), (result / total).astype(R.dtype))


@ct.kernel
def causal(Q, K, V, R, keys: ct.Constant[int], width: ct.Constant[int]):
    """Blocks of keys before the diagonal, then those with a mask: two loops with the same rings."""
    tile = ct.bid(0)
    q = ct.load(Q, (tile, 0), (ROWS, width))
    largest = ct.full((ROWS, 1), -1e30, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    result = ct.zeros((ROWS, width), ct.float32)
    rows = tile * ROWS + ct.arange(ROWS, dtype=ct.int32)[:, None]
    for part in ct.static_iter(range(2)):
        first = 0 if part == 0 else tile * ROWS // keys
        last = tile * ROWS // keys if part == 0 else ct.cdiv((tile + 1) * ROWS, keys)
        for step in range(first, last):
            k = ct.load(K, (step, 0), (keys, width))
            scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, keys), ct.float32)) * 0.125
            if part == 1:
                columns = step * keys + ct.arange(keys, dtype=ct.int32)[None, :]
                scores = ct.where(columns <= rows, scores, -1e30)
            values = ct.load(V, (step, 0), (keys, width))
            largest, total, result = updated(scores, values, largest, total, result)
    ct.store(R, (tile, 0), (result / total).astype(R.dtype))


def arguments(rows: int, count: int, keys: int, width: int) -> tuple[object, ...]:
    random = np.random.default_rng(rows + count + width)
    q, k, v = (random.standard_normal((size, width), np.float32).astype(np.float16) for size in (rows, count, count))
    return q, k, v, np.zeros((rows, width), np.float16), keys, width


def expected(args: tuple[object, ...], is_causal: bool) -> np.ndarray:
    q, k, v = (np.asarray(each, np.float64) for each in args[:3])
    scores = q @ k.T * 0.125
    if is_causal:
        scores = np.where(np.arange(len(k)) <= np.arange(len(q))[:, None], scores, -np.inf)
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    return weights @ v / weights.sum(axis=1, keepdims=True)


def compiled(kernel: object, args: tuple[object, ...], target: str, **hints: object) -> ct.Compiled:
    return ct.compile(kernel, target=target, signature=ct.Signature.from_arguments(kernel, args), hints=hints)


def run(made: ct.Compiled, args: tuple[object, ...], grid: int, backend: str, seed: int) -> np.ndarray:
    out = np.zeros_like(args[3])
    settings = {"seed": seed} if backend == "simulate" else {}
    ct.run(made, (grid,), (*args[:3], out, *args[4:]), backend=backend, **settings)
    return out


def role_of_loads(made: ct.Compiled) -> str:
    return made.stage("gpu").text.partition("} load warps")[2].partition("} mma warps")[0]


def order_of_loads(made: ct.Compiled) -> list[str]:
    """The maps of the loads in the innermost loops of the role `load`, and in branches without loops, in order."""
    load = role_of_loads(made)
    bodies = re.findall(r"(?=scf\.(?:for|if)[^{]*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\n\s+\})", load)
    return [map for body in bodies if "scf.for" not in body for map in re.findall(r"tma_load (%\w+)", body)]


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 2, 3, 5])
def test_any_number_of_blocks_in_rings_of_any_depth(blocks: int, stages: int, target: str) -> None:
    args = arguments(256, 64 * blocks, 64, 64)
    made = compiled(attention, args, target, stages=stages)
    for backend, seed in (("interpret", 0), ("simulate", 0), ("simulate", 1)):
        # One block computes both tiles.
        np.testing.assert_allclose(run(made, args, 1, backend, seed), expected(args, False), rtol=0.01, atol=0.005)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("keys", "width", "stages"), [(64, 64, 1), (64, 64, 2), (128, 128, None), (128, 256, None)])
def test_two_loops_with_the_same_rings(keys: int, width: int, stages: int | None, target: str) -> None:
    args = arguments(384, 384, keys, width)
    made = compiled(causal, args, target, **({} if stages is None else {"stages": stages}))
    for backend, seed in (("interpret", 0), ("simulate", 0), ("simulate", 1)):
        np.testing.assert_allclose(run(made, args, 3, backend, seed), expected(args, True), rtol=0.01, atol=0.005)


def test_no_block_of_keys_stores_what_the_accumulator_has() -> None:
    """0 / 0: the loops before the last loads and after the first ones are left out too."""
    args = arguments(128, 0, 64, 64)
    made = compiled(attention, (*args[:1], *(np.zeros((64, 64), np.float16),) * 2, *args[3:]), "sm_100a")
    out = run(made, (*args[:1], *(np.zeros((0, 64), np.float16),) * 2, *args[3:]), 1, "simulate", 0)
    assert np.isnan(out).all()


@pytest.mark.parametrize(("kernel", "blocks"), [(attention, 1), (causal, 2)])
def test_keys_of_the_next_block_are_loaded_before_the_values(kernel: object, blocks: int) -> None:
    """In a ring of one slot, values wait for the multiply of the block before; keys after them would wait too.

    Halves of a tile are loads one after the other. The second loop of `causal` runs once, and is a branch.
    """
    made = compiled(kernel, arguments(256, 256, 128, 256), "sm_100a")
    assert [map for map, _ in groupby(order_of_loads(made))] == ["%map_1", "%map_2"] * blocks
    # A load with the steps around it, and the loop. Late sums have a second such load before the loop.
    assert role_of_loads(made).count("tile_gpu.iterations_ahead = ") >= 4


def test_loops_have_the_same_columns_of_tensor_memory() -> None:
    """The loops have 128 columns of scores and 64 of weights each, beside 256 of results: 448 of 512, and 640 apart."""
    text = compiled(causal, arguments(256, 256, 128, 256), "sm_100a").stage("gpu").text
    # The scores are in slots of a ring, and are sums of two halves of the depth; the results are not.
    weights = re.findall(r"tile_gpu\.tcgen05_mma .* into %\d+ accumulate %true id \d+ : (!\w+),", text)
    assert len(weights) >= 2 and set(weights) == {"!tensor_128x128xf16"}


def test_loops_have_the_same_registers() -> None:
    """64 registers of a thread have the scores of either loop, 128 the results: the block needs no parts of rows."""
    made = compiled(causal, arguments(256, 256, 128, 256), "sm_90a")
    assert not [remark for remark in made.all_remarks if "parts" in remark.message]
