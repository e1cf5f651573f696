"""Kernels whose roles have register budgets compute the same as without."""

from __future__ import annotations

import importlib
import re

import numpy as np
from compare import run_everywhere
from sheet_kernels import importable_sheet

import tilec as ct

SHAPE = (128, 256, 32)


@ct.kernel(num_worker_warps=8)
def multiplied_twice(A, B, C, D):
    """The product and the tile by which it is multiplied take 256 registers of each of 256 threads."""
    added = ct.load(C, (0, 0), (128, 256))
    product = ct.zeros((128, 256), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 32))):
        product = ct.mma(ct.load(A, (0, k), (128, 32)), ct.load(B, (k, 0), (32, 256)), product)
    ct.store(D, (0, 0), (product - ct.max(product, axis=1, keepdims=True)) * added + added)


def arguments(random: np.random.Generator, depth: int) -> list[np.ndarray]:
    """Integers, whose products and sums are exact."""
    rows, columns, _ = SHAPE
    a, b = random.integers(-3, 4, (rows, depth)), random.integers(-3, 4, (depth, columns))
    c = random.integers(-3, 4, (rows, columns))
    return [a.astype(np.float16), b.astype(np.float16), c.astype(np.float32), np.zeros((rows, columns), np.float32)]


def test_results_do_not_depend_on_budgets(target, random):
    a, b, c, d = arguments(random, 96)
    product = a.astype(np.float64) @ b
    expected = (product - product.max(axis=1, keepdims=True)) * c + c
    for hints in ({}, {"register_budgets": False}):
        compiled = ct.compile(multiplied_twice, target=target, signature=signature(), hints=hints, stop="ptx")
        # Eight warps of 232 registers and four of 32: at most 168 per thread at launch.
        budgets = [".reqntid 384, 1, 1\n.maxnreg 168\n" in compiled.ptx, "setmaxnreg.inc" in compiled.ptx]
        assert budgets == [not hints] * 2
        for (found,) in run_everywhere(multiplied_twice, (1,), [a, b, c, d], [3], target=target, hints=hints):
            np.testing.assert_array_equal(found, expected)


def signature() -> str:
    return "A: f16[?,?], B: f16[?,?], C: f32[?,?], D: f32[?,?]"


def test_scalars_of_issuing_roles_leave_registers_to_others():
    """The scalars of the roles that issue are in uniform registers, so that the other warps have all that there are."""
    with importable_sheet():
        kernel = importlib.import_module("sheet.kernels").persistent_matmul_of_one_block
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=256, tn=256, tk=64"
    compiled = ct.compile(kernel, target="sm_100a", signature=signature, stop="ptx")
    assert re.findall(r"setmaxnreg\.(?:inc|dec)\S+ (\d+);", compiled.ptx) == ["240", "24"]
