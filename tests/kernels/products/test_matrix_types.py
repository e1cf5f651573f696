"""Matrix multiplies of 8-bit floats and bytes: tensor cores and multiply-adds agree with the interpreter and numpy."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import SEEDS, assert_within, run_everywhere
from matrix_kernels import accumulated_product
from short_sums import chained, promoted

import tilec as ct
from tilec.runtime.cubin.cubin import assemble
from tilec.signature import Signature

Const = ct.Constant[int]
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


# By name: the types of A, B and C.
KINDS = {
    "e4m3": (E4M3, E4M3, np.float32),
    "e5m2": (E5M2, E5M2, np.float32),
    "e4m3-f16": (E4M3, E4M3, np.float16),
    "e5m2-f16": (E5M2, E5M2, np.float16),
    "i8": (np.int8, np.int8, np.int32),
    "u8": (np.uint8, np.uint8, np.int32),
    "i8-u8": (np.int8, np.uint8, np.int32),
    "u8-i8": (np.uint8, np.int8, np.int32),
}
# The tile and M, N, K: the smallest tile of tcgen05 and wgmma, several blocks of rows, several sums along K, mma.sync,
# and multiply-adds.
SHAPES = [
    ((64, 16, 32), (64, 16, 32)),
    ((128, 64, 64), (130, 70, 200)),
    ((256, 32, 128), (200, 32, 256)),
    ((64, 128, 256), (64, 128, 300)),
    ((16, 16, 16), (20, 16, 40)),
    ((8, 8, 8), (12, 8, 24)),
]
TARGETS = ("sm_100a", "sm_90a")
ORDERS = list(itertools.product((False, True), repeat=2))
FLOATS = [kind for kind in KINDS if KINDS[kind][2] is not np.int32]
FIELDS = "kind", "tiles", "orders", "target"


def array(values: np.ndarray, dtype: Any, column_major: bool = False) -> np.ndarray:
    """The values as an array whose rows (or columns) start at multiples of 16 bytes, as TMA requires."""
    values = values.T if column_major else values
    rows, columns = values.shape
    padded = np.zeros((rows, -(-columns // 16) * 16), dtype)
    padded[:, :columns] = values.astype(dtype)
    found = padded[:, :columns]
    return found.T if column_major else found


def arrays(kind: str, orders: tuple[bool, bool], *values: np.ndarray) -> list[np.ndarray]:
    return [array(*row) for row in zip(values, KINDS[kind], (*orders, False), strict=True)]


def run(
    kind: str, tiles: Any, A: np.ndarray, B: np.ndarray, C: np.ndarray, target: str, *, fast=False, **options: Any
) -> list[np.ndarray]:
    """C of the simulator for each seed, then of the interpreter."""
    tile, (M, N, _) = tiles
    grid = (-(-M // tile[0]), -(-N // tile[1]))
    found = run_everywhere(accumulated_product, grid, (A, B, C, *tile, fast), (2,), target=target, hints={}, **options)
    return [c for (c,) in found]


def covering() -> list[tuple[Any, ...]]:
    """Every kind with every shape on both targets; one pair of orders each, varied so that all occur with each kind."""
    cases = itertools.product(*map(enumerate, (KINDS, SHAPES, TARGETS)))
    return [(kind, tiles, ORDERS[(k + s + 2 * t) % 4], target) for (k, kind), (s, tiles), (t, target) in cases]


@pytest.mark.parametrize(FIELDS, covering(), ids=str)
def test_small_numbers_are_exact(kind, tiles, orders, target):
    # Sums of at most 300 products of magnitude 16 have fewer bits than any unit keeps.
    (M, N, K), random = tiles[1], np.random.default_rng(1)
    least = 0 if kind.startswith("u8") else -4
    a, b, c = (random.integers(least, 5, shape) for shape in ((M, K), (K, N), (M, N)))
    b = np.abs(b) if kind.endswith("u8") else b
    for found in run(kind, tiles, *arrays(kind, orders, a, b, c), target):
        np.testing.assert_array_equal(found.astype(np.int64), a @ b + c)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in FLOATS])
@pytest.mark.parametrize("tiles", [SHAPES[1], *SHAPES[4:]], ids=str)
def test_integers_wrap(kind, tiles, target):
    """Accumulators near both limits of int32, and operands of all values."""
    (M, N, K), random = tiles[1], np.random.default_rng(2)
    a, b = (
        random.integers(-128, 256, shape).astype(dtype)
        for shape, dtype in zip(((M, K), (K, N)), KINDS[kind], strict=False)
    )
    c = random.integers(-1000, 1000, (M, N)) + np.where(random.random((M, N)) < 0.5, 2**31 - 1000, 1000 - 2**31)
    exact = a.astype(np.int64) @ b.astype(np.int64) + c
    wrapped = (exact + 2**31) % 2**32 - 2**31
    for found in run(kind, tiles, *arrays(kind, (False, False), a, b, c), target):
        np.testing.assert_array_equal(found, wrapped)


def lost(kind: str, tiles: Any, target: str, fast: bool) -> float:
    """The most that rounding loses of the sum of the magnitudes of all terms.

    An instruction truncates its 32 products and the accumulator to `kept` fraction bits below the largest of these 33
    terms, and its result to the accumulator: 25 and 23 bits on tcgen05, 13 and 13 on wgmma. Smaller tiles lose at most
    two units of float32 per product.
    """
    (*_, tk), (*_, K) = tiles
    to_half = 2.0**-11 if KINDS[kind][2] is np.float16 else 0.0
    if tiles[0][0] < 64:
        return K * 2.0**-23 + -(-K // tk) * to_half
    kept, result = (25, 23) if target == "sm_100a" else (13, 13)
    once = 33 * 2.0**-kept + (to_half or 2.0**-result)
    instructions = -(-K // 32)
    if target == "sm_90a" and not fast and not to_half:
        # A sum of 128 products is four instructions; each multiply adds such sums in float32.
        return min(4, tk // 32) * once + instructions * 2.0**-24
    return instructions * once


def check_random(kind: str, tiles: Any, orders: Any, target: str, fast: bool = False, **options: Any) -> None:
    (M, N, K), random = tiles[1], np.random.default_rng(3)
    A, B, C = arrays(kind, orders, *(random.standard_normal(shape) for shape in ((M, K), (K, N), (M, N))))
    a, b, c = (operand.astype(np.float64) for operand in (A, B, C))
    relative = lost(kind, tiles, target, fast)
    tolerance = relative * (1 + relative) * (np.abs(a) @ np.abs(b) + np.abs(c))
    for found in run(kind, tiles, A, B, C, target, fast=fast, **options):
        assert_within(found, a @ b + c, tolerance)


@pytest.mark.parametrize(FIELDS, [case for case in covering() if case[0] in FLOATS], ids=str)
def test_floats_are_within_their_bound(kind, tiles, orders, target):
    check_random(kind, tiles, orders, target)


@pytest.mark.parametrize("kind", FLOATS)
def test_fast_accumulation_is_within_its_bound(kind, target):
    check_random(kind, SHAPES[1], (False, True), target, fast=True)


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_seeds(kind, target):
    if kind in FLOATS:
        check_random(kind, SHAPES[1], (False, True), target, seeds=SEEDS, interpret=False)
        return
    M, N, K = SHAPES[1][1]
    random = np.random.default_rng(4)
    a, b = (random.integers(0, 128, shape) for shape in ((M, K), (K, N)))
    args = arrays(kind, (False, True), a, b, np.zeros((M, N)))
    for found in run(kind, SHAPES[1], *args, target, seeds=SEEDS, interpret=False):
        np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize(("fast", "expected"), [(False, 2**15 + 128), (True, 2**15)])
def test_short_sums_of_wgmma(fast, expected):
    """128 products of 256, then 128 of 1: after the first, a unit of 13 fraction bits is 4, so fast sums lose the rest.

    Without fast accumulation the two sums of 128 products are added in float32. tcgen05 keeps 25 bits in both cases.
    """
    row = np.repeat([16.0, 1.0], 128)
    args = arrays(
        "e4m3", (False, True), np.tile(row, (64, 1)), np.tile(row[:, np.newaxis], (1, 16)), np.zeros((64, 16))
    )
    for target, exact in (("sm_90a", expected), ("sm_100a", 2**15 + 128)):
        (found,) = run("e4m3", ((64, 16, 256), (64, 16, 256)), *args, target, fast=fast, interpret=False)
        assert (found == exact).all()


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("depth", [32, 64, 128, 256])
@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_sums_of_wgmma_are_those_of_the_hardware(kind, depth, fast):
    """Bit for bit; the exact sums are others."""
    random = np.random.default_rng(6)
    A, B, C = arrays(kind, (False, True), *(random.standard_normal(s) for s in ((64, 512), (512, 16), (64, 16))))
    expected = chained(A, B, C.astype(np.float64)) if fast else promoted(A, B, C, depth)
    (found,) = run(kind, ((64, 16, depth), (64, 16, 512)), A, B, C, "sm_90a", fast=fast, interpret=False)
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    assert np.abs(found - (A.astype(np.float64) @ B.astype(np.float64) + C)).max() > 1e-3


@ct.kernel
def computed(A, B, C, tm: Const, tn: Const, tk: Const):
    """The operands are converted and transposed in registers: A is a row of tk x tm tiles, B a column of tn x tk."""
    total = ct.zeros((tm, tn), C.dtype)
    for step in range(ct.cdiv(A.shape[0], tk)):
        a, b = ct.load(A, (step, 0), (tk, tm)), ct.load(B, (0, step), (tn, tk))
        a, b = ct.transpose(a * 2).astype(B.dtype), ct.transpose(b)
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@pytest.mark.parametrize("kind", ["e4m3", "e5m2-f16", "i8", "u8"])
@pytest.mark.parametrize("tile", [(128, 64, 64), (64, 32, 128), (16, 16, 16)], ids=str)
def test_operands_from_registers(kind, tile, target):
    (tm, tn, tk), random = tile, np.random.default_rng(5)
    a, b = random.integers(0, 4, (2 * tk, tm)), random.integers(0, 4, (tn, 2 * tk))
    wide = np.int32 if kind not in FLOATS else np.float32
    args = (array(a, wide), array(b, KINDS[kind][1]), np.zeros((tm, tn), KINDS[kind][2]), *tile)
    for (found,) in run_everywhere(computed, (1,), args, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, 2 * a.T @ b.T)


@pytest.mark.parametrize("tiles", SHAPES[1::3], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_ptxas_accepts_the_ptx(kind, tiles, target):
    values = (np.zeros(shape) for shape in ((256, 512), (512, 256), (256, 256)))
    args = (*arrays(kind, (True, False), *values), *tiles[0], False)
    compiled = ct.compile(
        accumulated_product, target=target, signature=Signature.from_arguments(accumulated_product, args), stop="ptx"
    )
    assert not assemble(compiled.ptx, target).warnings
