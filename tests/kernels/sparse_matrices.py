"""Random matrices with structured sparsity, and the kernel that multiplies them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@dataclass(frozen=True)
class Kind:
    """The types of elements and accumulator, the size of a group, and whether elements have a sign."""

    element: Any
    accumulator: Any = np.float32
    group: int = 4
    least: int = -3

    @property
    def word(self) -> int:
        """The elements along K of a word of metadata."""
        return 8 * self.group


KINDS = {
    "f16": Kind(np.float16),
    "f16 in f16": Kind(np.float16, np.float16),
    "bf16": Kind(ml_dtypes.bfloat16),
    "tf32": Kind(np.float32, group=2),
    "e4m3": Kind(ml_dtypes.float8_e4m3fn),
    "e5m2": Kind(ml_dtypes.float8_e5m2),
    "i8": Kind(np.int8, np.int32, least=-128),
    "u8": Kind(np.uint8, np.int32, least=0),
}


def sparse_matrix(random: np.random.Generator, rows: int, depth: int, kind: Kind) -> np.ndarray:
    """Integers, of which each group has none to half of its elements that are not zero."""
    most = 256 + kind.least if kind.accumulator is np.int32 else 4
    values = random.integers(kind.least, most, (rows, depth // kind.group, kind.group))
    order = random.random(values.shape).argsort(axis=-1)
    return np.where(order < kind.group // 2, values, 0).reshape(rows, depth).astype(kind.element)


def dense_matrix(random: np.random.Generator, rows: int, columns: int, kind: Kind) -> np.ndarray:
    """Integers, each row of which starts at a multiple of 16 bytes."""
    aligned = 16 // np.dtype(kind.element).itemsize
    most = 256 + kind.least if kind.accumulator is np.int32 else 4
    values = random.integers(kind.least, most, (rows, -(-columns // aligned) * aligned))
    return values.astype(kind.element)[:, :columns]


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The exact product of matrices of integers."""
    return a.astype(np.int64) @ b.astype(np.int64)


@ct.kernel
def matmul(A, E, B, C, tm: Const, tn: Const, tk: Const, word: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(B, axis=0, shape=(tk, tn))):
        a = ct.load(A, (row, k), (tm, tk // 2), padding_mode=ZERO)
        metadata = ct.load(E, (row, k), (tm, tk // word), padding_mode=ZERO)
        b = ct.load(B, (k, column), (tk, tn), padding_mode=ZERO)
        if word == 16:
            a, b = a.astype(ct.tfloat32), b.astype(ct.tfloat32)
        total = ct.mma_sparse(a, metadata, b, total)
    ct.store(C, (row, column), total)


@ct.kernel
def matmul_of_rows(A, E, B, C, tm: Const, tn: Const, tk: Const, word: Const):
    """B is stored as N by K."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(B, axis=1, shape=(tn, tk))):
        a = ct.load(A, (row, k), (tm, tk // 2), padding_mode=ZERO)
        metadata = ct.load(E, (row, k), (tm, tk // word), padding_mode=ZERO)
        b = ct.load(B, (column, k), (tn, tk), padding_mode=ZERO).transpose()
        if word == 16:
            a, b = a.astype(ct.tfloat32), b.astype(ct.tfloat32)
        total = ct.mma_sparse(a, metadata, b, total)
    ct.store(C, (row, column), total)
