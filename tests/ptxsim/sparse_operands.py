"""Operands of multiplies with structured sparsity: kept elements, nibbles of metadata, and the dense product."""

from __future__ import annotations

import numpy as np

# The indices of the elements of a group of four that are kept, and the nibbles of a group of two tf32.
_PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
_SINGLES = (0b0100, 0b1110)


def group_of(element: type) -> int:
    """The elements along K of a group."""
    return 2 if element is np.float32 else 4


def kept_of(element: type) -> int:
    """The kept elements of a row of an instruction: 32 bytes."""
    return 32 // np.dtype(element).itemsize


def core_matrices(matrix: np.ndarray) -> bytes:
    """The rows of a matrix as core matrices of 8 rows of 16 bytes, adjacent along K first."""
    rows, size_bytes = matrix.shape[0], matrix.shape[1] * matrix.itemsize
    stored = np.ascontiguousarray(matrix).view(np.uint8).reshape(rows // 8, 8, size_bytes // 16, 16)
    return stored.transpose(0, 2, 1, 3).tobytes()


def operands(
    element: type, rows: int, columns: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Kept elements, their nibbles, the dense A, and B, of which rows are columns of the product."""
    random = np.random.default_rng(seed)
    low, high = (0, 256) if element is np.uint8 else (-128, 128) if element is np.int8 else (-3, 4)
    size, count = group_of(element), kept_of(element)
    depth, groups = 2 * count, 2 * count // size
    kept = random.integers(low, high, (rows, count))
    b = random.integers(low, high, (columns, depth))
    dense, codes = np.zeros((rows, depth), np.int64), np.zeros((rows, groups), np.int64)
    for row in range(rows):
        for group in range(groups):
            if size == 2:
                at = int(random.integers(2))
                codes[row, group] = _SINGLES[at]
                dense[row, 2 * group + at] = kept[row, group]
                continue
            first, second = _PAIRS[random.integers(6)]
            codes[row, group] = first | second << 2
            dense[row, 4 * group + first], dense[row, 4 * group + second] = kept[row, 2 * group : 2 * group + 2]
    return kept.astype(element), codes, dense, b.astype(element)


def first_pairs_with_infinity(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As `operands` of f16, with elements 0 and 1 of each group kept, and infinity in B for element 2.

    The third array is the product without 0 * infinity.
    """
    kept, codes, _, b = operands(np.float16, rows, columns, 3)
    codes[:] = 0b0100
    b[:, 2::4] = np.inf
    dense = np.zeros((rows, b.shape[1]))
    dense[:, 0::4], dense[:, 1::4] = kept[:, 0::2], kept[:, 1::2]
    return kept, codes, dense @ np.where(np.isinf(b), 0, b).astype(np.float64).T, b
