"""Operands that a kernel negates are loaded by TMA: the instruction of the multiply negates the products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec
import tilec as ct

Constant = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
ROWS, COLUMNS, DEPTH, TK = 128, 64, 160, 64
HALVES = "AR: f16[?%16,?%16], AI: f16[?%16,?%16], BR: f16[?%16,?%16], BI: f16[?%16,?%16]"
RESULTS = "CR: f32[?%16,?%16], CI: f32[?%16,?%16]"


@ct.kernel
def complex_product(AR, AI, BR, BI, CR, CI, TM: Constant, TN: Constant, TK: Constant, on_the_left: ct.Constant[bool]):
    """Real and imaginary parts are in arrays of their own."""
    i, j = ct.bid(0), ct.bid(1)
    real, imaginary = ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(AR, axis=1, shape=(TM, TK))):
        ar = ct.load(AR, (i, k), (TM, TK), padding_mode=ZERO)
        ai = ct.load(AI, (i, k), (TM, TK), padding_mode=ZERO)
        br = ct.load(BR, (k, j), (TK, TN), padding_mode=ZERO)
        bi = ct.load(BI, (k, j), (TK, TN), padding_mode=ZERO)
        real = ct.mma(ar, br, real)
        real = ct.mma(-ai, bi, real) if on_the_left else ct.mma(ai, -bi, real)
        imaginary = ct.mma(ai, br, ct.mma(ar, bi, imaginary))
    ct.store(CR, (i, j), real)
    ct.store(CI, (i, j), imaginary)


@ct.kernel
def product_of_negated(A, B, C, D, TM: Constant, TN: Constant, TK: Constant, transposed: ct.Constant[bool]):
    """C has the sums of (-A)(-B), and D those of (-A)B, in one loop; `transposed` negates before a transposition."""
    both, left = ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(B, axis=0, shape=(TK, TN))):
        b = ct.load(B, (k, 0), (TK, TN), padding_mode=ZERO)
        if transposed:
            a = ct.transpose(-ct.load(A, (k, 0), (TK, TM), padding_mode=ZERO))
        else:
            a = -ct.load(A, (0, k), (TM, TK), padding_mode=ZERO)
        both = ct.mma(a, -b, both)
        left = ct.mma(a, b, left)
    ct.store(C, (0, 0), both)
    ct.store(D, (0, 0), left)


@ct.kernel
def kept_on_the_left(A, B, C, D, TM: Constant, TN: Constant, TK: Constant):
    """One tile is multiplied as it is and negated in all iterations."""
    a = ct.load(A, (0, 0), (TM, TK), padding_mode=ZERO)
    plain, negated = ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32)
    for j in range(ct.num_tiles(B, axis=0, shape=(TN, TK))):
        b = ct.transpose(ct.load(B, (j, 0), (TN, TK), padding_mode=ZERO))
        plain = ct.mma(a, b, plain)
        negated = ct.mma(-a, b, negated)
    ct.store(C, (0, 0), plain)
    ct.store(D, (0, 0), negated)


def integers(random: np.random.Generator, shape: tuple[int, int], dtype: Any = np.float16) -> np.ndarray:
    """Integers of which all sums here are exact in f32."""
    return random.integers(-8, 9, shape).astype(dtype)


@pytest.mark.parametrize("on_the_left", [True, False])
@pytest.mark.parametrize("rows", [ROWS, 16])
def test_complex_product(rows: int, on_the_left: bool, target: str, random: np.random.Generator) -> None:
    """16 rows are multiplied by mma.sync or with their sides exchanged, whose operands threads may negate."""
    ar, ai = integers(random, (rows, DEPTH)), integers(random, (rows, DEPTH))
    br, bi = integers(random, (DEPTH, COLUMNS)), integers(random, (DEPTH, COLUMNS))
    results = [np.zeros((rows, COLUMNS), np.float32) for _ in range(2)]
    arguments = (ar, ai, br, bi, *results, rows, COLUMNS, TK, on_the_left)
    product = (ar.astype(np.int64) + 1j * ai) @ (br.astype(np.int64) + 1j * bi)
    for real, imaginary in run_everywhere(complex_product, (1,), arguments, (4, 5), target=target, hints={}):
        assert np.array_equal(real, product.real)
        assert np.array_equal(imaginary, product.imag)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_both_sides(dtype: Any, transposed: bool, target: str, random: np.random.Generator) -> None:
    a, b = integers(random, (ROWS, DEPTH), dtype), integers(random, (DEPTH, COLUMNS), dtype)
    results = [np.zeros((ROWS, COLUMNS), np.float32) for _ in range(2)]
    given = np.ascontiguousarray(a.T) if transposed else a
    arguments = (given, b, *results, ROWS, COLUMNS, 32, transposed)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    for both, left in run_everywhere(product_of_negated, (1,), arguments, (2, 3), target=target, hints={}):
        assert np.array_equal(both, exact)
        assert np.array_equal(left, -exact)


def test_one_tile_with_both_signs(target: str, random: np.random.Generator) -> None:
    """A tile that stays in tensor memory has one sign only."""
    a, b = integers(random, (ROWS, 64)), integers(random, (3 * COLUMNS, 64))
    results = [np.zeros((ROWS, COLUMNS), np.float32) for _ in range(2)]
    exact = a.astype(np.int64) @ b.astype(np.int64).reshape(3, COLUMNS, 64).sum(axis=0).T
    arguments = (a, b, *results, ROWS, COLUMNS, 64)
    for plain, negated in run_everywhere(kept_on_the_left, (1,), arguments, (2, 3), target=target, hints={}):
        assert np.array_equal(plain, exact)
        assert np.array_equal(negated, -exact)


@pytest.mark.parametrize("on_the_left", [True, False])
def test_threads_negate_nothing(on_the_left: bool, target: str) -> None:
    constants = f"TM=128, TN=128, TK=64, on_the_left={on_the_left}"
    signature = f"{HALVES}, {RESULTS}, {constants}"
    ptx = tilec.compile(complex_product, target=target, signature=signature, stop="ptx").ptx
    assert "neg." not in ptx
