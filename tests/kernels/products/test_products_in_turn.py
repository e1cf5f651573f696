"""Several products of an iteration whose operands have equal shapes: their loads fill one ring in turn.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import run_everywhere

import tilec
import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
ROWS, COLUMNS, DEPTH, PRODUCTS = 64, 64, 32, 3
RING = re.compile(r"make_channel stages (\d+) producer tma consumers \[w?g?mma\] reuse ring")


@ct.function
def part(A, B, k, total):
    """The sum and A @ B over the step `k` along K."""
    a = ct.load(A, (ct.bid(0), k), (ROWS, DEPTH), padding_mode=ZERO)
    return ct.mma(a, ct.load(B, (k, ct.bid(1)), (DEPTH, COLUMNS), padding_mode=ZERO), total)


@ct.kernel
def unrolled(A, B, C, count: int, steps: int):
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count):
        for number in ct.static_iter(range(PRODUCTS)):
            total = part(A, B, PRODUCTS * k + number, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def loads_first(A, B, C, count: int, steps: int):
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count):
        i, j, first = ct.bid(0), ct.bid(1), PRODUCTS * k
        lhs = tuple(
            ct.load(A, (i, first + n), (ROWS, DEPTH), padding_mode=ZERO) for n in ct.static_iter(range(PRODUCTS))
        )
        rhs = tuple(
            ct.load(B, (first + n, j), (DEPTH, COLUMNS), padding_mode=ZERO) for n in ct.static_iter(range(PRODUCTS))
        )
        for number in ct.static_iter(range(PRODUCTS)):
            total = ct.mma(lhs[number], rhs[number], total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def two_sums(A, B, C, count: int, steps: int):
    even, odd = ct.zeros((ROWS, COLUMNS), ct.float32), ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count):
        even = part(A, B, PRODUCTS * k, even)
        odd = part(A, B, PRODUCTS * k + 1, odd)
        even = part(A, B, PRODUCTS * k + 2, even)
    ct.store(C, (ct.bid(0), ct.bid(1)), even + odd)


@ct.kernel
def in_branches(A, B, C, count: int, steps: int):
    """The steps beyond `steps` are left out."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count):
        total = part(A, B, PRODUCTS * k, total)
        for number in ct.static_iter(range(1, PRODUCTS)):
            if PRODUCTS * k + number < steps:
                total = part(A, B, PRODUCTS * k + number, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def with_break(A, B, C, count: int, steps: int):
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count):
        total = part(A, B, PRODUCTS * k, total)
        if PRODUCTS * k + 1 >= steps:
            break
        total = part(A, B, PRODUCTS * k + 1, total)
        total = part(A, B, PRODUCTS * k + 2, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def with_continue(A, B, C, count: int, steps: int):
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count):
        total = part(A, B, PRODUCTS * k, total)
        if k % 2 == 1:
            continue
        total = part(A, B, PRODUCTS * k + 1, total)
        total = part(A, B, PRODUCTS * k + 2, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


def steps_of(kernel: object, count: int, steps: int) -> list[int]:
    """The steps along K that a kernel adds."""
    found = list(range(PRODUCTS * count))
    if kernel is in_branches:
        return [k for k in found if k % PRODUCTS == 0 or k < steps]
    if kernel is with_break:
        ends = [k for k in range(0, PRODUCTS * count, PRODUCTS) if k + 1 >= steps]
        return [k for k in found if not ends or k <= ends[0]]
    if kernel is with_continue:
        return [k for k in found if k // PRODUCTS % 2 == 0 or k % PRODUCTS == 0]
    return found


@pytest.mark.parametrize("stages", [None, 2])
@pytest.mark.parametrize("kernel", [unrolled, loads_first, two_sums, in_branches, with_break, with_continue])
def test_products_in_turn(target, kernel, stages):
    """Loops of no, one, two and five iterations; loads of an iteration and slots of the ring are unequal numbers."""
    random = np.random.default_rng(7)
    for count in (0, 1, 2, 5):
        steps = PRODUCTS * count - 2
        a = random.integers(-3, 4, (ROWS + 8, 15 * DEPTH + 8)).astype(np.float16)
        b = random.integers(-3, 4, (15 * DEPTH + 8, COLUMNS)).astype(np.float16)
        c = np.zeros((ROWS + 8, COLUMNS), np.float32)
        hints = {} if stages is None else {"stages": stages}
        found = run_everywhere(kernel, (2, 1), (a, b, c, count, steps), (2,), target=target, hints=hints, seeds=(0, 1))
        columns = [np.arange(k * DEPTH, (k + 1) * DEPTH) for k in steps_of(kernel, count, steps)]
        along = np.concatenate([np.zeros(0, int), *columns])
        for (output,) in found:
            assert (output == a[:, along].astype(np.float32) @ b[along].astype(np.float32)).all(), count


@pytest.mark.parametrize("kernel", [unrolled, loads_first, two_sums, in_branches])
def test_loads_fill_one_ring(target, kernel):
    arrays = np.zeros((128, 512), np.float16), np.zeros((512, 64), np.float16), np.zeros((128, 64), np.float32)
    signature = Signature.from_arguments(kernel, (*arrays, 2, 4))
    compiled = tilec.compile(kernel, target=target, signature=signature, stop="gpu")
    rings = RING.findall(compiled.stage("gpu").text)
    assert len(rings) == 1
    assert int(rings[0]) > PRODUCTS


@pytest.mark.parametrize("kernel", [unrolled, loads_first])
def test_one_multiply_is_in_flight(kernel):
    """Each multiply of warpgroups is issued before the one before it is awaited."""
    arrays = np.zeros((128, 512), np.float16), np.zeros((512, 64), np.float16), np.zeros((128, 64), np.float32)
    signature = Signature.from_arguments(kernel, (*arrays, 2, 4))
    text = tilec.compile(kernel, target="sm_90a", signature=signature, stop="gpu").stage("gpu").text
    waits = re.findall(r"wgmma_wait .* pending (\d)", text)
    assert waits == [*["1"] * PRODUCTS, "0"]
