"""Attention of 256 rows: two chains of 128 rows, each computed by a role of its own, have the results of numpy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tilec as ct
from tilec.lowering.target import TARGETS

ROWS = 256


@ct.kernel
def product_of_product(A, B, V, R):
    """R = (A @ B) @ V, whose first product warps compute if tensor memory has 32 columns."""
    total = ct.zeros((128, 32), ct.float32)
    for step in range(ct.num_tiles(B, 1, (16, 64))):
        scores = ct.mma(ct.load(A, (0, 0), (128, 16)), ct.load(B, (0, step), (16, 64)), ct.zeros((128, 64), ct.float32))
        total = ct.mma(scores.astype(A.dtype), ct.load(V, (step, 0), (64, 32)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def weights_of_the_iteration_before(A, B, R, steps: int):
    """The threads take the result back from the multiplies before the scores of the same iteration."""
    result, weights = ct.zeros((128, 32), ct.float32), ct.ones((128, 32), ct.float16)
    for k in range(steps):
        result = ct.mma(weights, ct.load(B, (k, 0), (32, 32)), result)
        right = ct.load(B, ((k + 1) % steps, 0), (32, 32))
        scores = ct.mma(ct.load(A, (0, k), (128, 32)), right, ct.zeros((128, 32), ct.float32))
        result = result * ct.exp2(ct.minimum(ct.max(scores, 1, keepdims=True), 1))
        weights = ct.minimum(scores, 1).astype(A.dtype)
    ct.store(R, (0, 0), result)


@ct.kernel
def attention(
    Q, K, V, R, scale: ct.Constant[float], width: ct.Constant[int], keys: ct.Constant[int], causal: ct.Constant[bool]
):
    block = ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, width), padding_mode=ct.PaddingMode.ZERO)
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    result = ct.zeros((ROWS, width), ct.float32)
    rows = block * ROWS + ct.arange(ROWS, dtype=ct.int32)[:, None]
    steps = ct.cdiv(K.shape[0], keys)
    if causal:
        steps = ct.minimum(steps, ct.cdiv((block + 1) * ROWS, keys))
    for step in range(steps):
        k = ct.load(K, (step, 0), (keys, width), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, keys), ct.float32)) * scale
        columns = step * keys + ct.arange(keys, dtype=ct.int32)[None, :]
        inside = columns < K.shape[0]
        if causal:
            inside = inside & (columns <= rows)
        scores = ct.where(inside, scores, -math.inf)
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - new)
        change = ct.exp2(largest - new)
        total = total * change + ct.sum(weights, axis=1, keepdims=True)
        v = ct.load(V, (step, 0), (keys, width), padding_mode=ct.PaddingMode.ZERO)
        result = ct.mma(weights.astype(Q.dtype), v, result * change)
        largest = new
    ct.store(R, (block, 0), (result / total).astype(R.dtype))


@ct.kernel
def chains_with_shared_tiles(A, B, R, S, steps: int, changed: int):
    """Both chains need the tiles `one` and `two`, also as values that the loop carries, and that branches give.

    On sm_90a the operands of each first product are in one channel, which the role of the chain reads.
    """
    one, two = ct.full((128, 32), 1, ct.float32), ct.full((128, 32), 2, ct.float32)
    first, second = ct.zeros((128, 32), ct.float32), ct.zeros((128, 32), ct.float32)
    first_added, second_added = two, two
    step = 0
    while step < steps:
        right = ct.load(B, (step, 0), (32, 32))
        scores = ct.mma(ct.load(A, (0, step), (128, 32)), right, ct.zeros((128, 32), ct.float32))
        b = ct.load(B, (step, 0), (32, 32))
        if step == changed:
            scores = scores + two
        else:
            first_added = one
        first = ct.mma((scores + first_added).astype(A.dtype), b, first)
        right = ct.load(B, (step, 0), (32, 32))
        scores = ct.mma(ct.load(A, (1, step), (128, 32)), right, ct.zeros((128, 32), ct.float32))
        if step == changed:
            second_added = one
        else:
            scores = two
        second = ct.mma((scores + second_added).astype(A.dtype), b, second)
        step = step + 1
    ct.store(R, (0, 0), first + first_added)
    ct.store(S, (0, 0), second + second_added)


def shared_tiles_expected(a: np.ndarray, b: np.ndarray, steps: int, changed: int) -> tuple[np.ndarray, np.ndarray]:
    first, second, first_added, second_added = np.zeros((128, 32)), np.zeros((128, 32)), 2, 2
    for step in range(steps):
        right = b[step * 32 :][:32].astype(np.float64)
        upper, lower = (a[rows, step * 32 :][:, :32] @ right for rows in (slice(128), slice(128, None)))
        first_added = first_added if step == changed else 1
        second_added = 1 if step == changed else second_added
        first = first + (upper + 2 * (step == changed) + first_added) @ right
        second = second + ((lower if step == changed else 2 * np.ones((128, 32))) + second_added) @ right
    return first + first_added, second + second_added


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        scores[np.arange(len(k)) > np.arange(len(q))[:, None]] = -np.inf
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def arguments(rows: int, count: int, width: int, causal: bool, keys: int = 128) -> tuple[object, ...]:
    random = np.random.default_rng(rows + count + width)
    q, k, v = (random.standard_normal((size, width), np.float32).astype(np.float16) for size in (rows, count, count))
    return q, k, v, np.zeros((rows, width), np.float16), 0.125, width, keys, causal


def compiled(args: tuple[object, ...], target: str, **hints: object) -> ct.Compiled:
    return ct.compile(attention, target=target, signature=ct.Signature.from_arguments(attention, args), hints=hints)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(
    ("rows", "count", "width", "causal"), [(256, 128, 128, False), (300, 400, 64, False), (500, 500, 128, True)]
)
def test_chains_have_the_results_of_numpy(rows: int, count: int, width: int, causal: bool, target: str) -> None:
    args = arguments(rows, count, width, causal)
    made = compiled(args, target)
    wanted = expected(*args[:3], args[4], causal)
    for backend, seeds in (("interpret", (0,)), ("simulate", (0, 1))):
        for seed in seeds:
            out = np.zeros_like(args[3])
            settings = {"seed": seed} if backend == "simulate" else {}
            ct.run(made, (-(-rows // ROWS),), (*args[:3], out, *args[4:]), backend=backend, **settings)
            # The weights are rounded to f16, 11 bits.
            np.testing.assert_allclose(out, wanted, rtol=0.01, atol=0.005)


@pytest.mark.parametrize(
    ("width", "keys", "hints", "in_turn"),
    [(64, 128, {}, True), (128, 64, {}, True), (64, 128, {"num_ctas": 1}, True), (32, 32, {}, False)],
)
def test_threads_that_multiply_compute_halves_in_turn(width: int, keys: int, hints: dict, in_turn: bool) -> None:
    """By the model half of the sums in registers are faster, but not those of few columns."""
    args = arguments(300, 300, width, True, keys)
    made = compiled(args, "sm_90a", **hints)
    is_whole = f"tile<{ROWS}x{keys}xf32>" in made.stage("tile-opt").text
    assert is_whole == (not in_turn)
    out = np.zeros_like(args[3])
    ct.run(made, (2,), (*args[:3], out, *args[4:]), backend="simulate", seed=1)
    np.testing.assert_allclose(out, expected(*args[:3], args[4], True), rtol=0.01, atol=0.005)


def test_three_roles_of_four_warps_compute() -> None:
    text = compiled(arguments(256, 256, 128, False), "sm_100a").stage("gpu").text
    assert "tile_gpu.roles compute warps 4 " in text and "} compute1 warps 4 " in text and "} compute2 warps 4 " in text


@pytest.mark.parametrize("width", [64, 128])
def test_third_role_scales_and_stores_the_results(width: int) -> None:
    text = compiled(arguments(256, 256, width, False), "sm_100a").stage("gpu").text
    chains, rest = text.split("} compute2 warps 4 ")
    assert "math.exp2" in chains and "math.exp2" not in rest
    assert "arith.divf" in rest and "arith.divf" not in chains
    assert "tma_store" in rest and "tma_store" not in chains


def test_operands_have_the_columns_of_the_scores() -> None:
    """Two chains of 128 columns of scores and 128 of results are all 512 columns of tensor memory.

    Each has a multiply in the loop over whole tiles of keys, and in that over the tile with the last ones.
    """
    raw = compiled(arguments(256, 256, 128, False), "sm_100a").stage("gpu-raw").text
    assert raw.count(" over %") == 4
    assert " over %" not in compiled(arguments(256, 256, 64, False), "sm_100a").stage("gpu-raw").text


@pytest.mark.parametrize("switch", ["roles", "pipeline", "register_budgets"])
def test_results_without_a_pass(switch: str) -> None:
    args = arguments(256, 256, 128, False)
    out = np.zeros_like(args[3])
    made = compiled(args, "sm_100a", **{switch: False})
    ct.run(made, (1,), (*args[:3], out, *args[4:]), backend="simulate", seed=3)
    np.testing.assert_allclose(out, expected(*args[:3], args[4], False), rtol=0.01, atol=0.005)


def test_cluster_divides_the_rows_itself() -> None:
    args = arguments(256, 256, 128, False)
    assert "compute1" not in compiled(args, "sm_100a", num_ctas=2).stage("gpu").text


def test_sums_in_registers_lend_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "sm_100a", replace(TARGETS["sm_100a"], tensor_memory_columns=32))
    random = np.random.default_rng(5)
    a, b, v = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 16), (16, 128), (128, 32)))
    out = np.zeros((128, 32), np.float32)
    signature = ct.Signature.from_arguments(product_of_product, (a, b, v, out))
    made = ct.compile(product_of_product, target="sm_100a", signature=signature)
    ct.run(made, (1,), (a, b, v, out), backend="simulate")
    np.testing.assert_array_equal(out, (a.astype(np.int64) @ b.astype(np.int64)) @ v.astype(np.int64))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_tiles_that_both_chains_need(target: str) -> None:
    random = np.random.default_rng(7)
    a, b = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((256, 96), (96, 32)))
    signature = ct.Signature.from_arguments(chains_with_shared_tiles, (a, b, *outputs(), 3, 1))
    made = ct.compile(chains_with_shared_tiles, target=target, signature=signature)
    assert "} compute1 warps 4 " in made.stage("gpu").text
    for steps, changed in ((0, 0), (1, 0), (3, 1)):
        first, second = outputs()
        ct.run(made, (1,), (a, b, first, second, steps, changed), backend="simulate", seed=steps)
        wanted = shared_tiles_expected(a, b, steps, changed)
        np.testing.assert_array_equal((first, second), wanted)


def outputs() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((128, 32), np.float32), np.zeros((128, 32), np.float32)


@ct.kernel
def chains_of_one_scalar(A, B, R, S, steps: int):
    """Threads compute the factor, so both chains are those of one role."""
    factor = ct.max(ct.load(A, (0, 0), (128, 32)))
    first, second = ct.zeros((128, 32), ct.float32), ct.zeros((128, 32), ct.float32)
    for step in range(steps):
        b = ct.load(B, (step, 0), (32, 32))
        scores = ct.mma(ct.load(A, (0, step), (128, 32)), b, ct.zeros((128, 32), ct.float32))
        first = ct.mma(scores.astype(A.dtype) * factor, b, first)
        scores = ct.mma(ct.load(A, (1, step), (128, 32)), b, ct.zeros((128, 32), ct.float32))
        second = ct.mma(scores.astype(A.dtype) * factor, b, second)
    ct.store(R, (0, 0), first)
    ct.store(S, (0, 0), second)


def test_scalar_of_threads_joins_chains() -> None:
    """The multiplies and the loads keep roles of their own."""
    a, b = np.zeros((256, 96), np.float16), np.zeros((96, 32), np.float16)
    signature = ct.Signature.from_arguments(chains_of_one_scalar, (a, b, *outputs(), 3))
    text = ct.compile(chains_of_one_scalar, target="sm_100a", signature=signature).stage("gpu").text
    assert "} mma warps 1 " in text and "compute1" not in text


@ct.kernel
def biased(Q, K, V, Bias, R, steps: int):
    """Threads load the bias of the keys, which no multiply reads."""
    q, result = ct.load(Q, (0, 0), (ROWS, 32)), ct.zeros((ROWS, 32), ct.float32)
    for step in range(steps):
        keys = ct.load(K, (step, 0), (32, 32)).transpose()
        bias = ct.load(Bias, (0, step), (1, 32)).astype(ct.float32)
        scores = ct.mma(q, keys, ct.zeros((ROWS, 32), ct.float32)) + bias
        result = ct.mma(scores.astype(Q.dtype), ct.load(V, (step, 0), (32, 32)), result)
    ct.store(R, (0, 0), result)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_both_roles_load_what_both_chains_need(target: str) -> None:
    random = np.random.default_rng(11)
    q, k, v, bias = (
        random.integers(-2, 3, shape).astype(np.float16) for shape in ((ROWS, 32), *[(96, 32)] * 2, (1, 96))
    )
    out = np.zeros((ROWS, 32), np.float32)
    made = ct.compile(biased, target=target, signature=ct.Signature.from_arguments(biased, (q, k, v, bias, out, 3)))
    if target == "sm_100a":
        assert "} compute1 warps 4 " in made.stage("gpu").text
    ct.run(made, (1,), (q, k, v, bias, out, 3), backend="simulate", seed=2)
    exact = [each.astype(np.int64) for each in (q, k, v, bias)]
    np.testing.assert_array_equal(out, (exact[0] @ exact[1].T + exact[3]) @ exact[2])


@ct.kernel
def persistent(Q, K, R, steps: int, tiles: int):
    """The stores of a chain follow those of the same rows of tiles, but not those of the other chain."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        q, result = ct.load(Q, (tile, 0), (ROWS, 32)), ct.zeros((ROWS, 32), ct.float32)
        for step in range(steps):
            keys = ct.load(K, (step, 0), (32, 32))
            scores = ct.mma(q, keys, ct.zeros((ROWS, 32), ct.float32)) + 1.0
            result = ct.mma(scores.astype(Q.dtype), keys, result)
        ct.store(R, (tile, 0), result)


@ct.kernel
def three_chains(Q, K, R, steps: int):
    """Three products of 128 rows, whose results are stored one after the other."""
    zero = ct.zeros((128, 32), ct.float32)
    first, second, third = zero, zero, zero
    for step in range(steps):
        keys = ct.load(K, (step, 0), (32, 32))
        scores = ct.mma(ct.load(Q, (0, 0), (128, 32)), keys, zero) + 1.0
        first = ct.mma(scores.astype(Q.dtype), keys, first)
        scores = ct.mma(ct.load(Q, (1, 0), (128, 32)), keys, zero) + 1.0
        second = ct.mma(scores.astype(Q.dtype), keys, second)
        scores = ct.mma(ct.load(Q, (2, 0), (128, 32)), keys, zero) + 1.0
        third = ct.mma(scores.astype(Q.dtype), keys, third)
    ct.store(R, (0, 0), first)
    ct.store(R, (1, 0), second)
    ct.store(R, (2, 0), third)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(
    ("kernel", "rows", "roles", "tiles"),
    [(persistent, 768, ["sm_100a"], (3,)), (three_chains, 384, ["sm_100a", "sm_90a"], ())],
)
def test_roles_store_their_own_rows(
    kernel: object, rows: int, roles: list[str], tiles: tuple[int, ...], target: str
) -> None:
    random = np.random.default_rng(rows)
    q, k = (random.integers(-1, 2, shape).astype(np.float16) for shape in ((rows, 32), (96, 32)))
    args = q, k, np.zeros((rows, 32), np.float32)
    made = ct.compile(kernel, target=target, signature=ct.Signature.from_arguments(kernel, (*args, 3, *tiles)))
    assert ("} compute1 warps 4 " in made.stage("gpu").text) == (target in roles)
    for steps in (0, 1, 3):
        out = np.full((rows, 32), np.nan, np.float32)
        ct.run(made, (2 if kernel is persistent else 1,), (q, k, out, steps, *tiles), backend="simulate", seed=steps)
        left, right = q.astype(np.int64), k.astype(np.int64).reshape(3, 32, 32)[:steps]
        wanted = sum(((left @ keys + 1) @ keys for keys in right), np.zeros((rows, 32), np.int64))
        np.testing.assert_array_equal(out, wanted)


@ct.kernel
def stored_over_each_other(Q, K, R, row: int):
    """Both chains may store the same rows: the second store must follow the first."""
    zero = ct.zeros((128, 32), ct.float32)
    first, second = zero, zero
    for step in range(3):
        keys = ct.load(K, (step, 0), (32, 32))
        scores = ct.mma(ct.load(Q, (0, 0), (128, 32)), keys, zero)
        first = ct.mma(scores.astype(Q.dtype), keys, first)
        scores = ct.mma(ct.load(Q, (1, 0), (128, 32)), keys, zero)
        second = ct.mma(scores.astype(Q.dtype), keys, second)
    ct.store(R, (row, 0), first)
    ct.store(R, (1, 0), second)


def test_remark_where_one_role_computes_both_chains() -> None:
    args = np.zeros((256, 32), np.float16), np.zeros((96, 32), np.float16), np.zeros((256, 32), np.float32), 1
    signature = ct.Signature.from_arguments(stored_over_each_other, args)
    made = ct.compile(stored_over_each_other, target="sm_100a", signature=signature, stop="gpu")
    (remark,) = [each for each in made.all_remarks if each.topic == "roles"]
    assert remark.message == (
        "one role computes 2 chains of products: this store follows accesses that another role may make"
    )
    assert "ct.store(R, (1, 0), second)" in str(remark)


@ct.kernel
def scaled_where_large(Q, K, R, steps: int):
    """The threads of a role decide by their scores, which the other role does not have."""
    zero = ct.zeros((128, 32), ct.float32)
    first, second = zero, zero
    for step in range(steps):
        keys = ct.load(K, (step, 0), (32, 32))
        scores = ct.mma(ct.load(Q, (0, 0), (128, 32)), keys, zero) + 1.0
        first = ct.mma(scores.astype(Q.dtype), keys, first)
        if ct.max(scores) > 8.0:
            first = first * 0.5
        scores = ct.mma(ct.load(Q, (1, 0), (128, 32)), keys, zero) + 1.0
        second = ct.mma(scores.astype(Q.dtype), keys, second)
    ct.store(R, (0, 0), first)
    ct.store(R, (1, 0), second)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_remark_where_threads_decide(target: str) -> None:
    args = np.zeros((256, 32), np.float16), np.zeros((96, 32), np.float16), np.zeros((256, 32), np.float32), 1
    signature = ct.Signature.from_arguments(scaled_where_large, args)
    made = ct.compile(scaled_where_large, target=target, signature=signature, stop="gpu")
    (remark,) = [each for each in made.all_remarks if each.topic == "roles"]
    assert remark.message == (
        "one role computes 2 chains of products: this loop or branch depends on a value that threads compute"
    )
    assert "if ct.max(scores) > 8.0" in str(remark)


@pytest.mark.parametrize("columns", [64, 512])
def test_multiplies_do_not_pass_one_that_threads_await_before_they_release_a_slot(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, steps = np.random.default_rng(0), 4
    A, B = (random.integers(-1, 2, shape).astype(np.float16) for shape in ((128, 32 * steps), (32 * steps, 32)))
    R = np.zeros((128, 32), np.float32)
    monkeypatch.setitem(TARGETS, "sm_100a", replace(TARGETS["sm_100a"], tensor_memory_columns=columns))
    ct.run(weights_of_the_iteration_before, (1,), (A, B, R, steps), backend="simulate", target="sm_100a")
    expected, weights = np.zeros((128, 32)), np.ones((128, 32))
    for k in range(steps):
        first = 32 * ((k + 1) % steps)
        scores = A[:, 32 * k : 32 * k + 32].astype(np.float64) @ B[first : first + 32]
        expected = (expected + weights @ B[32 * k : 32 * k + 32]) * np.exp2(np.minimum(scores.max(1, keepdims=True), 1))
        weights = np.minimum(scores, 1)
    np.testing.assert_array_equal(R, expected)
