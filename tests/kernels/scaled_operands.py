"""Operands with scale factors: elements and factors of a form, and the products of block-scaled kernels with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from block_scaling import matmul, matmul_of_blocks
from compare import assert_within, product_tolerance, run_everywhere

import tilec as ct
from tilec.signature import Signature

E4M3, E5M2, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu
E2M1 = ml_dtypes.float4_e2m1fn
# The codes of a factor of 1.
ONE = {np.dtype(E8M0): 127, np.dtype(E4M3): 56}
# In the remark on a product that the block-scaled unit does not do.
SCALED_FIRST = "done with operands that threads convert to 16 bits and multiply by their scale factors"


@dataclass(frozen=True)
class Form:
    """The types of elements and scale factors, and the number of elements that share a factor."""

    element: type
    scale: type
    block: int


FORMS = {
    "mxf8 e4m3": Form(E4M3, E8M0, 32),
    "mxf8 e5m2": Form(E5M2, E8M0, 32),
    "mxf4": Form(E2M1, E8M0, 32),
    "mxf4 by 16": Form(E2M1, E8M0, 16),
    "nvf4": Form(E2M1, E4M3, 16),
}


@dataclass(frozen=True)
class Operand:
    """A matrix of rows along M or N by K, its factors, and its scaled values; two elements of 4 bits share a byte."""

    stored: np.ndarray
    factors: np.ndarray
    values: np.ndarray


def operand(random: np.random.Generator, rows: int, depth: int, form: Form) -> Operand:
    """A random matrix with factors from 2^-6 to 2^6."""
    elements = random.standard_normal((rows, depth)).astype(form.element)
    factors = np.exp2(random.uniform(-6, 6, (rows, depth // form.block))).astype(form.scale)
    values = elements.astype(np.float64) * np.repeat(factors.astype(np.float64), form.block, 1)
    codes = elements.view(np.uint8)
    stored = codes[:, 0::2] & 15 | (codes[:, 1::2] & 15) << 4 if form.element is E2M1 else elements
    return Operand(stored, factors, values)


def arguments(form: Form, a: Operand, b: Operand, tile: tuple[int, int, int]) -> tuple[Any, ...]:
    """The arguments of block_scaling.matmul, whose result is zeros; a tile is M by N by K."""
    c = np.zeros((len(a.stored), len(b.stored)), np.float32)
    return a.stored, a.factors, b.stored, b.factors.T, c, *tile, form.block, 1 + (form.element is E2M1)


def check(form: Form, shape, *, target: str, hints: dict, seeds: range = range(2)) -> None:
    """Compares block_scaling.matmul with numpy; `shape` is a tile, and the extents M, N and K."""
    (tm, tn, tk), (m, n, depth) = shape
    random = np.random.default_rng(m + n + depth)
    a, b = operand(random, m, depth, form), operand(random, n, depth, form)
    args = arguments(form, a, b, shape[0])
    exact = a.values @ b.values.T
    tolerance = product_tolerance(a.values, b.values.T, exact, np.float32)
    grid = (-(-m // tm), -(-n // tn))
    for (c,) in run_everywhere(matmul, grid, args, (4,), target=target, hints=hints, seeds=seeds):
        assert_within(c, exact, tolerance)


def in_blocks(factors: np.ndarray) -> np.ndarray:
    """Blocks of 128 rows by 4 factors; the factors of the last ones that no row or element has are 1."""
    rows, count = (-(-extent // of) * of for extent, of in zip(factors.shape, (128, 4), strict=True))
    padding = [(0, whole - extent) for whole, extent in zip((rows, count), factors.shape, strict=True)]
    factors = np.pad(factors.view(np.uint8), padding, constant_values=ONE[factors.dtype]).view(factors.dtype)
    parts = factors.reshape(rows // 128, 4, 32, count // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(parts).reshape(rows // 128, count // 4, 32, 16)


def check_blocks(shape, *, hints: dict, seeds: range = range(2)) -> None:
    """As check(), with factors in memory as tensor cores read them, on sm_100a."""
    ((tm, tn, tk), (m, n, depth)), form = shape, FORMS["mxf8 e4m3"]
    random = np.random.default_rng(m + n + depth)
    a, b = operand(random, m, depth, form), operand(random, n, depth, form)
    c, exact = np.zeros((m, n), np.float32), a.values @ b.values.T
    args = (a.stored, in_blocks(a.factors), b.stored, in_blocks(b.factors), c, tm, tn, tk, form.block, 1)
    grid, tolerance = (m // tm, n // tn), product_tolerance(a.values, b.values.T, exact, np.float32)
    for (c,) in run_everywhere(matmul_of_blocks, grid, args, (4,), target="sm_100a", hints=hints, seeds=seeds):
        assert_within(c, exact, tolerance)


def messages(kernel, args, words: str, hints: dict[str, Any] | None = None, target: str = "sm_100a") -> list[str]:
    """The remarks with these words."""
    signature = Signature.from_arguments(kernel, args)
    compiled = ct.compile(kernel, target=target, signature=signature, hints=hints or {}, stop="ptx")
    return [remark.message for remark in compiled.all_remarks if words in remark.message]
