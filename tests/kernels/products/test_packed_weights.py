"""Products with weights of 4 bits in three wordings have the results of numpy and the same number of instructions.

A weight is (q - zero) * scale in float16. Each group of 64 along K has a zero point and a scale. Both operations are
exact for the numbers of these tests, so that the oracle multiplies the same operands.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import product_tolerance, run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
ROWS, COLUMNS, DEPTH = 128, 128, 64
ZERO = ct.PaddingMode.ZERO


def with_group(total, numbers, A, S, Z, k):
    """The sum with the products of group k of the depth, whose weights are these numbers before they are scaled."""
    zero, scale = ct.load(Z, (0, k), (COLUMNS, 1)), ct.load(S, (0, k), (COLUMNS, 1))
    a = ct.load(A, (0, k), (ROWS, DEPTH), padding_mode=ZERO)
    return ct.mma(a, ct.transpose((numbers.astype(A.dtype) - zero) * scale), total)


@ct.kernel
def bytes_by_shifts(A, Q, S, Z, R):
    """Two nibbles of a byte side by side."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(ROWS, DEPTH))):
        q = ct.load(Q, (0, k), (COLUMNS, DEPTH // 2), padding_mode=ZERO)
        low, high = (q & 15).reshape((COLUMNS, DEPTH // 2, 1)), (q >> 4).reshape((COLUMNS, DEPTH // 2, 1))
        numbers = ct.cat((low, high), 2).reshape((COLUMNS, DEPTH))
        total = with_group(total, numbers, A, S, Z, k)
    ct.store(R, (0, 0), total)


@ct.kernel
def words_by_shifts(A, Q, S, Z, R):
    """Eight nibbles of a word, by a shift for each."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    shifts = ct.arange(8, dtype=ct.int32) * 4
    for k in range(ct.num_tiles(A, axis=1, shape=(ROWS, DEPTH))):
        q = ct.load(Q, (0, k), (COLUMNS, DEPTH // 8), padding_mode=ZERO)
        numbers = ((q[:, :, None] >> shifts[None, None, :]) & 15).reshape((COLUMNS, DEPTH))
        total = with_group(total, numbers, A, S, Z, k)
    ct.store(R, (0, 0), total)


@ct.kernel
def packed(A, Q, S, Z, R):
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    weights = ct.packed_view(Q, bits=4, tile=(COLUMNS, DEPTH))
    for k in range(ct.num_tiles(A, axis=1, shape=(ROWS, DEPTH))):
        numbers = weights.load((0, k))
        total = with_group(total, numbers, A, S, Z, k)
    ct.store(R, (0, 0), total)


WORDINGS = {"bytes": (bytes_by_shifts, np.uint8), "words": (words_by_shifts, np.int32), "packed": (packed, np.uint8)}


def arguments(form: str, random: np.random.Generator, groups: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The arguments and the weights. With three groups the last one is partial: padding fills it with zeros."""
    depth = groups * DEPTH - 32 * (groups == 3)
    a = random.integers(-4, 5, (ROWS, depth)).astype(np.float16)
    numbers = random.integers(0, 16, (COLUMNS, depth)).astype(np.uint8)
    scale = (2.0 ** random.integers(-3, 1, (COLUMNS, groups))).astype(np.float16)
    zero = random.integers(0, 16, (COLUMNS, groups)).astype(np.float16)
    of_group = np.arange(depth) // DEPTH
    weights = (numbers.astype(np.float64) - zero[:, of_group]) * scale[:, of_group]
    q = (numbers[:, 0::2] | numbers[:, 1::2] << 4).view(WORDINGS[form][1])
    return [a, q, scale, zero, np.zeros((ROWS, COLUMNS), np.float32)], weights


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("groups", [1, 2, 3, 5])
@pytest.mark.parametrize("form", WORDINGS)
def test_products(form: str, groups: int, target: str, random: np.random.Generator) -> None:
    """Loops have fewer iterations than the loads run ahead, as many, and more."""
    args, weights = arguments(form, random, groups)
    exact = args[0].astype(np.float64) @ weights.T
    tolerance = product_tolerance(args[0].astype(np.float64), weights.T, exact, np.float32)
    for (found,) in run_everywhere(WORDINGS[form][0], (1,), tuple(args), (4,), target=target, hints={}):
        assert (np.abs(found - exact) <= tolerance).all()


@pytest.mark.parametrize("target", TARGETS)
def test_wordings_have_the_same_steps(target: str, random: np.random.Generator) -> None:
    """A pair of weights takes one lop3 and two operations. No thread converts or exchanges; the ring has two slots."""
    for form, (kernel, _) in WORDINGS.items():
        args, _ = arguments(form, random, 2)
        compiled = ct.compile(kernel, target=target, signature=ct.Signature.from_arguments(kernel, tuple(args)))
        pairs_of_thread = COLUMNS * DEPTH // 2 // (128 if target == "sm_100a" else 256)
        lines = compiled.ptx.splitlines()
        count = sum("lop3.b32" in line for line in lines)
        assert count and count % pairs_of_thread == 0
        assert sum("sub.rn.f16x2" in line or "fma.rn.f16x2" in line for line in lines) == 2 * count
        assert not re.search(r"cvt\.rn\.f16\.|cvt\.rn\.f32\.[su]|shfl\.sync\.(?!idx)", compiled.ptx)
        stages = re.findall(r"make_channel stages (\d+) producer threads", compiled.gpu)
        assert stages == ["2"]
