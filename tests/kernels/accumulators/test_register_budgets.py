"""Kernels whose roles have register budgets compute the same as without."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
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


@ct.kernel(occupancy=4)
def product(A, B, C):
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        total = ct.mma(ct.load(A, (0, k), (128, 64)), ct.load(B, (k, 0), (64, 128)), total)
    ct.store(C, (0, 0), total.astype(C.dtype))


@pytest.mark.parametrize("options", [("register_budgets",), ("register_budgets", "pipeline")], ids=str)
def test_occupancy_leaves_the_registers_of_each_instruction_without_budgets(options):
    """Six warps of each of four blocks have 80 registers per thread; a tcgen05.ld of 64 registers needs 90."""
    text = "A: f16[128,?], B: f16[?,128], C: f16[128,128]"
    hints = dict.fromkeys(options, False)
    compiled = ct.compile(product, target="sm_100a", signature=text, hints=hints, stop="ptx")
    reason = "a role needs 90 registers per thread, 4 blocks of 6 warps leave fewer"
    messages = [remark.message for remark in compiled.all_remarks]
    assert messages.count(f"occupancy=4 is not followed: {reason}") == 1
    assert ".minnctapersm 4" not in compiled.ptx


def test_scalars_of_issuing_roles_leave_registers_to_others():
    """The scalars of the roles that issue are in uniform registers, so that the other warps have all that there are."""
    with importable_sheet():
        kernel = importlib.import_module("sheet.kernels").persistent_matmul_of_one_block
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=256, tn=256, tk=64"
    compiled = ct.compile(kernel, target="sm_100a", signature=signature, stop="ptx")
    assert re.findall(r"setmaxnreg\.(?:inc|dec)\S+ (\d+);", compiled.ptx) == ["240", "24"]
