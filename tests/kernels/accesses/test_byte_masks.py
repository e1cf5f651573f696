"""Bytes that are compared with a constant, as masks: bits of words choose the elements that numpy chooses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
ROWS, COLUMNS = 32, 64
Number = ct.Constant[int]


@ct.kernel
def masked(X, M, N, R, number: Number):
    """Rows of R: one mask, a mask of a row for all rows, two masks combined, and one combined with positions."""
    x, m = ct.load(X, (0, 0), (ROWS, COLUMNS)), ct.load(M, (0, 0), (ROWS, COLUMNS))
    n = ct.load(N, (0, 0), (ROWS, COLUMNS))
    row = ct.load(M, (0, 0), (1, COLUMNS))
    below = ct.arange(COLUMNS, dtype=ct.int32)[None, :] < ct.arange(ROWS, dtype=ct.int32)[:, None]
    one, other = m != number, n != number
    ct.store(R, (0, 0), ct.where(one, x, -1))
    ct.store(R, (1, 0), ct.where(row != number, x, -1))
    ct.store(R, (2, 0), ct.where(one & other, x, -1))
    ct.store(R, (3, 0), ct.where(one | other, x, -1))
    ct.store(R, (4, 0), ct.where(one ^ other, x, -1))
    ct.store(R, (5, 0), ct.where(one & below, x, -1))
    ct.store(R, (6, 0), ct.where(m == number, x, -1))
    ct.store(R, (7, 0), one.astype(R.dtype))
    ct.store(R, (8, 0), ct.where(m.astype(ct.bool_), x, -1))


def arguments(dtype: type, number: int) -> list:
    random = np.random.default_rng(number & 0xFF)
    limits = np.iinfo(dtype)
    x = random.integers(0, 1000, (ROWS, COLUMNS), np.int32)
    masks = [random.integers(limits.min, limits.max + 1, (ROWS, COLUMNS)).astype(dtype) for _ in range(2)]
    for mask in masks:
        mask[random.random(mask.shape) < 0.4] = number
        # One bit of the byte is different.
        mask[random.random(mask.shape) < 0.3] = np.array(number & 0xFF ^ 0x80, np.uint8).astype(dtype)
    return [x, *masks, np.zeros((9 * ROWS, COLUMNS), np.int32), number]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "number"), [(np.int8, 0), (np.int8, -3), (np.uint8, 0), (np.uint8, 200)])
def test_masks(target, dtype, number):
    args = arguments(dtype, number)
    x, m, n, *_ = args
    one, other = m != number, n != number
    below = np.arange(COLUMNS)[None] < np.arange(ROWS)[:, None]
    row = np.broadcast_to(one[:1], one.shape)
    chosen = [one, row, one & other, one | other, one ^ other, one & below, ~one]
    exact = [*(np.where(mask, x, -1) for mask in chosen), one.astype(np.int32), np.where(m != 0, x, -1)]
    for (result,) in run_everywhere(masked, (1,), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(result, np.concatenate(exact))


@ct.kernel
def row_mask(X, M, R):
    x, m = ct.load(X, (ct.bid(0), 0), (ROWS, COLUMNS)), ct.load(M, (0, 0), (ROWS, COLUMNS))
    ct.store(R, (ct.bid(0), 0), ct.where(m != 0, x, 0.0))


@pytest.mark.parametrize("target", TARGETS)
def test_a_byte_is_not_moved_before_it_is_tested(target):
    args = [
        np.zeros((ROWS, COLUMNS), np.float32),
        np.zeros((ROWS, COLUMNS), np.int8),
        np.zeros((ROWS, COLUMNS), np.float32),
    ]
    compiled = ct.compile(row_mask, target=target, signature=Signature.from_arguments(row_mask, args), stop="ptx")
    assert "setp.ne.s32" in compiled.ptx
    assert not re.search(r"cvt\.s16\.s8|setp\.ne\.s16", compiled.ptx)


@ct.kernel
def compared(X, M, R, number: Number):
    """Rows of R: elements of the type of X that each comparison selects."""
    x, m = ct.load(X, (0, 0), (ROWS, COLUMNS)), ct.load(M, (0, 0), (ROWS, COLUMNS))
    other = ct.load(X, (1, 0), (ROWS, COLUMNS))
    ct.store(R, (0, 0), ct.where(m == number, x, other))
    ct.store(R, (1, 0), ct.where(m != number, x, other))
    ct.store(R, (2, 0), ct.where(m < number, x, other))
    ct.store(R, (3, 0), ct.where(m <= number, x, other))
    ct.store(R, (4, 0), ct.where(m > number, x, other))
    ct.store(R, (5, 0), ct.where(m >= number, x, other))
    ct.store(R, (6, 0), ct.where(number > m, x, 0))


NUMBERS = [(np.int8, number) for number in (-128, -127, -3, -1, 0, 1, 77, 126)]
NUMBERS += [(np.uint8, number) for number in (1, 77, 127, 128, 129, 200, 254)]


@pytest.mark.parametrize("kind", [np.float16, np.int8, np.int32])
@pytest.mark.parametrize(("dtype", "number"), NUMBERS)
def test_comparisons_select_words(dtype, number, kind):
    random = np.random.default_rng(number & 0xFF)
    m = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(dtype)
    x = random.integers(-100, 100, (2 * ROWS, COLUMNS)).astype(kind)
    args = [x, m, np.zeros((7 * ROWS, COLUMNS), kind), number]
    results = [m == number, m != number, m < number, m <= number, m > number, m >= number]
    exact = [np.where(result, x[:ROWS], x[ROWS:]) for result in results]
    exact.append(np.where(m < number, x[:ROWS], 0).astype(kind))
    for (result,) in run_everywhere(compared, (1,), args, (2,), target="sm_90a", hints={}):
        np.testing.assert_array_equal(result, np.concatenate(exact))


def test_no_element_of_a_word_is_selected_alone():
    x, m = np.zeros((2 * ROWS, COLUMNS), np.float16), np.zeros((ROWS, COLUMNS), np.int8)
    args = [x, m, np.zeros((7 * ROWS, COLUMNS), np.float16), 5]
    compiled = ct.compile(compared, target="sm_90a", signature=Signature.from_arguments(compared, args), stop="ptx")
    assert "selp" not in compiled.ptx
