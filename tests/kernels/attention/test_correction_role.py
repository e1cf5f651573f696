"""Attention of 128 rows: one role computes exponentials, another one scales the results by factors that cross."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import tilec as ct

ROWS, KEYS = 128, 128


@ct.kernel
def attention(Q, K, V, R, L, scale: ct.Constant[float], width: ct.Constant[int], variant: ct.Constant[str]):
    block = ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, width), padding_mode=ct.PaddingMode.ZERO)
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    result = ct.zeros((ROWS, width), ct.float32)
    for step in range(ct.cdiv(K.shape[0], KEYS)):
        k = ct.load(K, (step, 0), (KEYS, width), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, KEYS), ct.float32)) * scale
        columns = step * KEYS + ct.arange(KEYS, dtype=ct.int32)[None, :]
        scores = ct.where(columns < K.shape[0], scores, -math.inf)
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - new, flush_to_zero=True)
        change = ct.exp2(largest - new, flush_to_zero=True)
        total = total * change + ct.sum(weights, axis=1, keepdims=True)
        v = ct.load(V, (step, 0), (KEYS, width), padding_mode=ct.PaddingMode.ZERO)
        if variant == "shifted":
            result = ct.mma(weights.astype(Q.dtype), v, (result + 1.0) * change - change)
        else:
            result = ct.mma(weights.astype(Q.dtype), v, result * change)
        largest = new
        if variant == "fed back":
            # The chain needs the results too, so that no other role may have them.
            largest = new + 0.0 * ct.max(result, axis=1, keepdims=True)
    if variant == "statistics":
        ct.store(L, (block, 0), largest + ct.log2(total))
    out = result / total
    if variant == "residual":
        out = out + q.astype(ct.float32)
    ct.store(R, (block, 0), out.astype(R.dtype))


def arguments(rows: int, count: int, width: int, variant: str) -> tuple[object, ...]:
    random = np.random.default_rng(rows + count + width)
    q, k, v = (random.standard_normal((size, width), np.float32).astype(np.float16) for size in (rows, count, count))
    return q, k, v, np.zeros((rows, width), np.float16), np.zeros((rows, 1), np.float32), 0.125, width, variant


def expected(args: tuple[object, ...]) -> tuple[np.ndarray, np.ndarray]:
    q, k, v = (np.asarray(each, np.float64) for each in args[:3])
    scores = q @ k.T * args[5]
    largest = scores.max(axis=1, keepdims=True)
    weights = np.exp2(scores - largest)
    total = weights.sum(axis=1, keepdims=True)
    out = weights @ v / total
    return out + q if args[7] == "residual" else out, largest + np.log2(total)


def compiled(args: tuple[object, ...], target: str, **hints: object) -> ct.Compiled:
    return ct.compile(attention, target=target, signature=ct.Signature.from_arguments(attention, args), hints=hints)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(
    ("rows", "count", "width", "variant"),
    [
        (128, 300, 64, "plain"),
        (200, 256, 128, "statistics"),
        (128, 384, 64, "shifted"),
        (128, 256, 64, "residual"),
        (128, 256, 64, "fed back"),
        # The threads of the chain would lack registers if they had the 256 columns of the result.
        (128, 256, 256, "plain"),
    ],
)
@pytest.mark.parametrize("hints", [{}, {"occupancy": 1}], ids=str)
def test_results_are_those_of_numpy(
    rows: int, count: int, width: int, variant: str, hints: dict[str, int], target: str
) -> None:
    """Two blocks on an SM, which 64 columns have without the hint, have no second role."""
    args = arguments(rows, count, width, variant)
    made = compiled(args, target, **hints)
    wanted, statistics = expected(args)
    for backend, seeds in (("interpret", (0,)), ("simulate", (0, 1))):
        for seed in seeds:
            out, logarithms = np.zeros_like(args[3]), np.zeros_like(args[4])
            settings = {"seed": seed} if backend == "simulate" else {}
            ct.run(made, (-(-rows // ROWS),), (*args[:3], out, logarithms, *args[5:]), backend=backend, **settings)
            # The weights are rounded to f16, 11 bits.
            np.testing.assert_allclose(out, wanted, rtol=0.01, atol=0.005)
            if variant == "statistics":
                np.testing.assert_allclose(logarithms, statistics, rtol=1e-4)


@pytest.mark.parametrize(("variant", "width"), [("plain", 128), ("statistics", 128), ("shifted", 128), ("plain", 256)])
def test_second_role_scales_and_divides(variant: str, width: int) -> None:
    text = compiled(arguments(256, 256, width, variant), "sm_100a").stage("gpu").text
    chain, rest = text.split("} compute1 warps 4 ")
    assert "exp2" in chain and "arith.divf" not in chain
    assert "arith.divf" in rest and "exp2" not in rest


# With 64 columns the threads of the second role have other rows of the factors than those of the chain.
@pytest.mark.parametrize("width", [64, 128])
def test_factors_cross_before_the_exponentials(width: int) -> None:
    text = compiled(arguments(256, 256, width, "plain"), "sm_100a", occupancy=1).stage("gpu").text
    loop = text.split("scf.for", 1)[1].split("} compute1 warps 4 ")[0]
    exponentials = re.search(rf'"exp2[^:]*: !tile_{ROWS}x(?:32|{KEYS})xf32', loop)
    assert exponentials is not None
    assert loop.index("tile_gpu.store_shared") < exponentials.start()


def test_results_that_the_chain_needs_stay_with_it() -> None:
    assert "} compute1 warps" not in compiled(arguments(256, 256, 128, "fed back"), "sm_100a").stage("gpu").text


@pytest.mark.parametrize("switch", ["roles", "pipeline", "register_budgets"])
def test_results_without_a_pass(switch: str) -> None:
    args = arguments(128, 256, 128, "plain")
    out = np.zeros_like(args[3])
    ct.run(compiled(args, "sm_100a", **{switch: False}), (1,), (*args[:3], out, *args[4:]), backend="simulate", seed=3)
    np.testing.assert_allclose(out, expected(args)[0], rtol=0.01, atol=0.005)
