"""One loop over tiles in several wordings has the same loops, roles and cycles, and the same result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.explain.reports import reports_of
from tilec.signature import Signature

TILE, D = 64, 64
ZERO = ct.PaddingMode.ZERO
# Instructions for the index of a tile differ by wording, and a loop from the end has its parts in the other order.
TOLERANCE = 0.03


def over_tiles(begin, step, end):
    @ct.kernel
    def over_tiles(A, B, C):
        state = begin(A)
        for j in range(ct.cdiv(B.shape[0], TILE)):
            state = step(state, A, B, j, j * TILE)
        end(C, state)

    return over_tiles


def to_a_product(begin, step, end):
    @ct.kernel
    def to_a_product(A, B, C):
        state, j = begin(A), 0
        while j * TILE < B.shape[0]:
            state = step(state, A, B, j, j * TILE)
            j += 1
        end(C, state)

    return to_a_product


def to_a_number_of_tiles(begin, step, end):
    @ct.kernel
    def to_a_number_of_tiles(A, B, C):
        state, j = begin(A), 0
        while j <= ct.cdiv(B.shape[0], TILE) - 1:
            state = step(state, A, B, j, j * TILE)
            j += 1
        end(C, state)

    return to_a_number_of_tiles


def to_another_number(begin, step, end):
    @ct.kernel
    def to_another_number(A, B, C):
        state, j = begin(A), 0
        while j != ct.cdiv(B.shape[0], TILE):
            state = step(state, A, B, j, j * TILE)
            j += 1
        end(C, state)

    return to_another_number


def by_elements(begin, step, end):
    @ct.kernel
    def by_elements(A, B, C):
        state, first = begin(A), 0
        while first < B.shape[0]:
            state = step(state, A, B, first // TILE, first)
            first += TILE
        end(C, state)

    return by_elements


def with_two_counters(begin, step, end):
    @ct.kernel
    def with_two_counters(A, B, C):
        state, j, first = begin(A), 0, 0
        while first < B.shape[0]:
            state = step(state, A, B, j, first)
            first += TILE
            j += 1
        end(C, state)

    return with_two_counters


def with_a_carried_position(begin, step, end):
    @ct.kernel
    def with_a_carried_position(A, B, C):
        state, first = begin(A), 0
        for j in range(ct.cdiv(B.shape[0], TILE)):
            state = step(state, A, B, j, first)
            first += TILE
        end(C, state)

    return with_a_carried_position


def until_none_is_left(begin, step, end):
    @ct.kernel
    def until_none_is_left(A, B, C):
        state, j, left = begin(A), 0, B.shape[0]
        while True:
            if left <= 0:
                break
            state = step(state, A, B, j, j * TILE)
            left -= TILE
            j += 1
        end(C, state)

    return until_none_is_left


def within_two_bounds(begin, step, end):
    @ct.kernel
    def within_two_bounds(A, B, C):
        state, j = begin(A), 0
        while j * TILE < B.shape[0] and j < 1000:
            state = step(state, A, B, j, j * TILE)
            j += 1
        end(C, state)

    return within_two_bounds


def from_the_end(begin, step, end):
    @ct.kernel
    def from_the_end(A, B, C):
        state, j = begin(A), ct.cdiv(B.shape[0], TILE) - 1
        while j >= 0:
            state = step(state, A, B, j, j * TILE)
            j -= 1
        end(C, state)

    return from_the_end


def two_at_a_time(begin, step, end):
    @ct.kernel
    def two_at_a_time(A, B, C):
        state = begin(A)
        for j in range(0, ct.cdiv(B.shape[0], TILE), 2):
            state = step(state, A, B, j, j * TILE)
            state = step(state, A, B, j + 1, (j + 1) * TILE)
        end(C, state)

    return two_at_a_time


def unrolled(begin, step, end):
    @ct.kernel
    def unrolled(A, B, C):
        state = begin(A)
        for group in range(ct.cdiv(B.shape[0], 4 * TILE)):
            for number in ct.static_iter(range(4)):
                state = step(state, A, B, 4 * group + number, (4 * group + number) * TILE)
        end(C, state)

    return unrolled


WORDINGS = (
    over_tiles, to_a_product, to_a_number_of_tiles, to_another_number, by_elements, with_two_counters,
    with_a_carried_position, until_none_is_left, within_two_bounds, from_the_end, two_at_a_time, unrolled,
)  # fmt: skip


def positions(first):
    return first + ct.arange(TILE, dtype=ct.int32)


def no_keys(A):
    return (
        ct.full((TILE, 1), -math.inf, ct.float32),
        ct.zeros((TILE, 1), ct.float32),
        ct.zeros((TILE, D), ct.float32),
    )


def with_keys(state, A, B, j, first):
    """The state of attention after the keys of a tile, which are their values as well."""
    largest, total, output = state
    query = ct.load(A, (ct.bid(0), 0), (TILE, D), padding_mode=ZERO)
    keys = ct.load(B, (j, 0), (TILE, D), padding_mode=ZERO)
    scores = ct.mma(query, ct.transpose(keys), ct.zeros((TILE, TILE), ct.float32))
    scores = ct.where(positions(first)[None, :] < B.shape[0], scores, -1e30)
    new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    powers, factor = ct.exp2(scores - new, flush_to_zero=True), ct.exp2(largest - new, flush_to_zero=True)
    total = total * factor + ct.sum(powers, axis=1, keepdims=True)
    return new, total, ct.mma(powers.astype(B.dtype), keys, output * factor)


def store_attention(C, state):
    ct.store(C, (ct.bid(0), 0), (state[2] / state[1]).astype(C.dtype))


def no_product(A):
    return ct.zeros((TILE, D), ct.float32)


def with_rows(total, A, B, j, first):
    """The sum with the product of columns of A, as many as B has rows, and of rows of B."""
    columns = ct.load(A, (ct.bid(0), j), (TILE, TILE), padding_mode=ZERO)
    columns = ct.where(positions(first)[None, :] < B.shape[0], columns, 0)
    return ct.mma(columns, ct.load(B, (j, 0), (TILE, D), padding_mode=ZERO), total)


def store_product(C, total):
    ct.store(C, (ct.bid(0), 0), total.astype(C.dtype))


def no_sums(A):
    return ct.zeros((1, D), ct.float32), ct.zeros((1, D), ct.float32)


def with_squares(sums, A, B, j, first):
    """The sums of the rows of B and of their squares, as a norm needs them."""
    rows = ct.load(B, (j, 0), (TILE, D), padding_mode=ZERO).astype(ct.float32)
    rows = ct.where(positions(first)[:, None] < B.shape[0], rows, 0.0)
    return sums[0] + ct.sum(rows, axis=0, keepdims=True), sums[1] + ct.sum(rows * rows, axis=0, keepdims=True)


def store_sums(C, sums):
    ct.store(C, (0, 0), sums[0])
    ct.store(C, (1, 0), sums[1])


# Each computation: its parts, and the numbers of loops over tiles.
COMPUTATIONS: dict[str, tuple[tuple[Callable[..., Any], ...], int]] = {
    "attention": ((no_keys, with_keys, store_attention), 2),
    "product": ((no_product, with_rows, store_product), 2),
    "sums": ((no_sums, with_squares, store_sums), 1),
}


def arguments(computation: str, random: np.random.Generator) -> tuple[tuple[np.ndarray, ...], np.ndarray, float]:
    """The arguments, the result by numpy, and the tolerance of an element."""
    rows = 3 * TILE - 24
    b = random.integers(-3, 4, (rows, D)).astype(np.float16)
    exact = b.astype(np.float64)
    if computation == "attention":
        a = (random.integers(-2, 3, (TILE, D)) / 8).astype(np.float16)
        scores = a.astype(np.float64) @ exact.T
        powers = np.exp2(scores - scores.max(1, keepdims=True))
        # f16 rounds the powers and the result by 2^-11 each; values are at most 3.
        return (a, b, np.zeros((TILE, D), np.float16)), powers @ exact / powers.sum(1, keepdims=True), 3 * 2.0**-9
    if computation == "product":
        # The columns after the last row of B, which are not 0, do not count.
        a = random.integers(-3, 4, (TILE, 4 * TILE)).astype(np.float16)
        return (a, b, np.zeros((TILE, D), np.float32)), a[:, :rows].astype(np.float64) @ exact, 0
    return (b, b, np.zeros((2, D), np.float32)), np.stack([exact.sum(0), (exact**2).sum(0)]), 0


def facts(kernel: Any, given: tuple[np.ndarray, ...], target: str) -> tuple[list[str], list[float]]:
    """The roles of a kernel, and the cycles of an iteration of each loop, sorted."""
    signature = Signature.from_arguments(kernel, given)
    compiled = ct.compile(kernel, target=target, signature=signature, stop="ptx")
    (cost,) = reports_of(compiled, "cost")
    loops = [loop for loop in cost.loops if loop.work.depth >= 0]
    return sorted({role for loop in loops for role in loop.work.roles}), sorted(loop.cycles.cycles for loop in loops)


@pytest.mark.parametrize("computation", COMPUTATIONS)
@pytest.mark.parametrize("wording", WORDINGS)
def test_wording(wording: Callable[..., Any], computation: str, target: str, random: np.random.Generator) -> None:
    parts, loops = COMPUTATIONS[computation]
    given, expected, tolerance = arguments(computation, random)
    kernel = wording(*parts)
    for (found,) in run_everywhere(kernel, (1,), given, (2,), target=target, hints={}):
        assert np.abs(found - expected).max() <= tolerance
    roles, cycles = facts(kernel, given, target)
    expected_roles, expected_cycles = facts(over_tiles(*parts), given, target)
    assert (roles, len(cycles)) == (expected_roles, loops)
    assert cycles == pytest.approx(expected_cycles, rel=TOLERANCE)
