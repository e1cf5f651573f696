"""Multiplies of tiles that are too deep for a ring of loads are divided along their depth, with the results of numpy.

Operands are small integers, so that every sum is exact.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
# Tiles of 64 rows and columns; the last one along the depth ends in the middle of a part.
SIZE, DEPTH = 64, 1100
DEEP = 512
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def plain(A, B, C, count: int, depth: ct.Constant[int]):
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def integers(A, B, C, count: int, depth: ct.Constant[int]):
    total = ct.zeros((SIZE, SIZE), ct.int32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def rounded(A, B, C, count: int, depth: ct.Constant[int]):
    """Sums of f16, which stay whole: each multiply rounds them."""
    total = ct.zeros((SIZE, SIZE), ct.float16)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total.astype(ct.float32))


@ct.kernel
def converted(A, B, C, count: int, depth: ct.Constant[int]):
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO).astype(ct.tfloat32)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO).astype(ct.tfloat32)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def transposed(A, B, C, count: int, depth: ct.Constant[int]):
    """B has the columns of the product along its first dimension, and a dimension of extent one."""
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.reshape(ct.load(B, (0, 0, k), (SIZE, 1, depth), padding_mode=ZERO), (SIZE, depth))
        total = ct.mma(a, ct.transpose(b), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def from_the_second(A, B, C, count: int, depth: ct.Constant[int]):
    """The loads compute their indices from the counter, which starts at 1."""
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(1, ct.cdiv(A.shape[1], depth) + 1):
        a = ct.load(A, (0, k - 1), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k - 1, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def counted(A, B, C, count: int, depth: ct.Constant[int]):
    """Nothing is known of the number of iterations, which may be negative."""
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(count):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def by_size(A, B, C, count: int, depth: ct.Constant[int]):
    """The depth is a number, which may be negative; the number of tiles is small enough to be multiplied."""
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(ct.cdiv(count, depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def until_the_end(A, B, C, count: int, depth: ct.Constant[int]):
    total, k = ct.zeros((SIZE, SIZE), ct.float32), 0
    while k * depth < A.shape[1]:
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total)
        k += 1
    ct.store(C, (0, 0), total)


@ct.kernel
def negated(A, B, C, count: int, depth: ct.Constant[int]):
    """The loop changes the sum in every iteration, with a step of two tiles."""
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(0, ct.cdiv(A.shape[1], depth), 2):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, -total)
    ct.store(C, (0, 0), total)


@ct.kernel
def two_sums(A, B, C, count: int, depth: ct.Constant[int]):
    """Two products in one loop, whose operands share the memory of a ring."""
    first, second = ct.zeros((SIZE, SIZE), ct.float32), ct.full((SIZE, SIZE), 1, ct.float32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        first = ct.mma(
            ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO), ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO),
            first,
        )  # fmt: skip
        second = ct.mma(
            ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO), ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO),
            second,
        )  # fmt: skip
    ct.store(C, (0, 0), first * 2 + second)


@ct.kernel
def shared_operand(A, B, C, count: int, depth: ct.Constant[int]):
    """Two products read the same tiles."""
    first, second = ct.zeros((SIZE, SIZE), ct.float32), ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        first, second = ct.mma(a, b, first), ct.mma(a, b, second)
    ct.store(C, (0, 0), first + second)


@ct.kernel
def used_twice(A, B, C, count: int, depth: ct.Constant[int]):
    """The loop stores a sum of one operand too, which stays whole."""
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(ct.cdiv(A.shape[1], depth)):
        a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
        b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
        total = ct.mma(a, b, total) + ct.sum(a.astype(ct.float32), 1, keepdims=True)
    ct.store(C, (0, 0), total)


@ct.kernel
def once(A, B, C, count: int, depth: ct.Constant[int]):
    a = ct.load(A, (0, 0), (SIZE, depth), padding_mode=ZERO)
    b = ct.load(B, (0, 0), (depth, SIZE), padding_mode=ZERO)
    ct.store(C, (0, 0), ct.mma(a, b, ct.full((SIZE, SIZE), 3, ct.float32)))


@ct.kernel
def persistent(A, B, C, count: int, depth: ct.Constant[int]):
    for tile in range(ct.bid(0), 3, ct.num_blocks(0)):
        total = ct.zeros((SIZE, SIZE), ct.float32)
        for k in range(ct.cdiv(A.shape[1], depth)):
            a = ct.load(A, (0, k), (SIZE, depth), padding_mode=ZERO)
            b = ct.load(B, (k, 0), (depth, SIZE), padding_mode=ZERO)
            total = ct.mma(a, b, total)
        ct.store(C, (tile, 0), total)


def product(a: np.ndarray, b: np.ndarray, tiles: int = 3) -> np.ndarray:
    """The product of the first tiles along the depth."""
    return a[:, : tiles * DEEP].astype(np.float64) @ b[: tiles * DEEP].astype(np.float64)


def alternating(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, _, third = (slice(n * DEEP, (n + 1) * DEEP) for n in range(3))
    return product(a[:, third], b[third]) - product(a[:, first], b[first])


F16 = np.float16
# By name: the kernel, the type of the operands, the depth of a tile, the number of iterations given, the expected C.
CASES: dict[str, tuple[Any, Any, int, int, Any]] = {
    "plain": (plain, F16, DEEP, 0, product),
    "deeper than shared memory": (plain, F16, 2048, 0, product),
    "i8": (integers, np.int8, 1024, 0, product),
    "tf32": (converted, np.float32, 256, 0, product),
    "f16 sums": (rounded, F16, DEEP, 0, product),
    "transposed": (transposed, F16, DEEP, 0, product),
    "from the second": (from_the_second, F16, DEEP, 0, product),
    "counted": (counted, F16, DEEP, 2, lambda a, b: product(a, b, 2)),
    "counted without iterations": (counted, F16, DEEP, -1, lambda a, b: np.zeros((SIZE, SIZE))),
    "by size": (by_size, F16, DEEP, 513, lambda a, b: product(a, b, 2)),
    "by negative size": (by_size, F16, DEEP, -1200, lambda a, b: np.zeros((SIZE, SIZE))),
    "until the end": (until_the_end, F16, DEEP, 0, product),
    "negated": (negated, F16, DEEP, 0, alternating),
    "two sums": (two_sums, F16, 256, 0, lambda a, b: 3 * product(a, b) + 1),
    "once": (once, F16, DEEP, 0, lambda a, b: product(a, b, 1) + 3),
    "persistent": (persistent, F16, DEEP, 0, lambda a, b: np.tile(product(a, b), (3, 1))),
    "shared operand": (shared_operand, F16, DEEP, 0, lambda a, b: 2 * product(a, b)),
    "used twice": (used_twice, F16, DEEP, 0, lambda a, b: product(a, b) + a.astype(float).sum(1, keepdims=True)),
}
# The depth of the parts, and whether they have a loop of their own; kernels that are not divided are left out.
PARTS = {
    "plain": (128, False),
    "deeper than shared memory": (128, False),
    "i8": (256, False),
    "tf32": (64, False),
    "transposed": (128, False),
    "from the second": (128, False),
    "counted": (128, True),
    "counted without iterations": (128, True),
    "by size": (128, False),
    "by negative size": (128, False),
    "until the end": (128, True),
    "negated": (128, True),
    "two sums": (64, False),
    "once": (128, True),
    "persistent": (128, False),
    "shared operand": (128, False),
}


def arguments(name: str, random: np.random.Generator) -> tuple[Any, ...]:
    """The arguments of a case, without the constant depth; each result changes C."""
    kernel, dtype, _, count, expected = CASES[name]
    # Rows are multiples of 16 bytes, as TMA requires.
    a, b = random.integers(-2, 3, (SIZE, 1104)).astype(dtype)[:, :DEPTH], random.integers(-2, 3, (DEPTH, SIZE))
    wanted = expected(a, b)
    C = np.full(wanted.shape, 12345, np.int32 if kernel is integers else np.float32)
    if kernel is transposed:
        stored = np.zeros((SIZE, 1, 1104), dtype)[:, :, :DEPTH]
        stored[:, 0] = b.T
        return a, stored, C, count
    return a, b.astype(dtype), C, count


@pytest.mark.covering
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("hints", [{}, {"tma": False}, {"roles": False}, {"num_ctas": 2}], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_the_whole(name: str, hints: dict[str, Any], target: str, random) -> None:
    kernel, dtype, depth, _, expected = CASES[name]
    given = arguments(name, random)
    b = given[1][:, 0].T if kernel is transposed else given[1]
    for (found,) in run_everywhere(kernel, (1,), (*given, depth), (2,), target=target, hints=hints):
        np.testing.assert_array_equal(found, expected(given[0], b))


@pytest.mark.parametrize("name", CASES)
def test_depth_of_the_parts(name: str, random) -> None:
    kernel, _, depth, _, _ = CASES[name]
    signature = Signature.from_arguments(kernel, (*arguments(name, random), depth))
    text = ct.compile(kernel, target="sm_100a", signature=signature, stop="tile-opt").stage("tile-opt").text
    depths = {int(found) for found in re.findall(rf"mma\w .*: tile<{SIZE}x(\d+)x", text)}
    assert depths == {PARTS[name][0] if name in PARTS else depth}
    if name in PARTS:
        whole = ct.compile(kernel, target="sm_100a", signature=signature, stop="tile").stage("tile").text
        assert text.count(" = for ") - whole.count(" = for ") == PARTS[name][1]


@pytest.mark.parametrize("target", TARGETS)
def test_slots_that_a_hint_limits_hold_whole_tiles(target: str, random) -> None:
    given = (*arguments("plain", random)[:3], 0, 256)
    signature = Signature.from_arguments(plain, given)
    text = ct.compile(plain, target=target, signature=signature, hints={"stages": 2}, stop="gpu").gpu
    assert re.search(r"make_channel stages 2 producer tma .*\n? *!channel_64x256xf16_256x64xf16", text)


@pytest.mark.parametrize("target", TARGETS)
def test_ring_has_at_least_four_slots(target: str, random) -> None:
    signature = Signature.from_arguments(plain, (*arguments("plain", random), DEEP))
    text = ct.compile(plain, target=target, signature=signature, stop="gpu").gpu
    (slots,) = re.findall(r"make_channel stages (\d+) producer tma .* reuse ring", text)
    assert int(slots) >= 4


@ct.kernel
def of_depth_one(A, B, C):
    a = ct.reshape(ct.load(A, (0, 0, 0), (1, 1, 1)), (1, 1))
    ct.store(C, (0, 0), ct.mma(a, ct.load(B, (0, 0), (1, 8)), ct.zeros((1, 8), ct.float32)))


@pytest.mark.parametrize("target", TARGETS)
def test_depth_that_a_reshape_makes(target: str, random) -> None:
    """No dimension of the loaded tile is the depth, which is one."""
    a, b = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((1, 1, 1), (1, 8)))
    for (found,) in run_everywhere(
        of_depth_one, (1,), (a, b, np.zeros((1, 8), np.float32)), (2,), target=target, hints={}
    ):
        np.testing.assert_array_equal(found, a[0].astype(np.float32) @ b.astype(np.float32))
