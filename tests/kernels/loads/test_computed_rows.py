"""A row that TMA loads, with which threads compute before they broadcast it: each thread computes its share."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ROWS, COLUMNS, DEPTH = 128, 128, 256


@ct.kernel
def scaled_columns(A, B, S, D, tile: Const, depth: Const, computes: Const):
    """Products of parts of the depth, each times a row: its exponentials, or the row converted to float32."""
    total, zero = ct.zeros((tile, tile), ct.float32), ct.zeros((tile, tile), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tile, depth))):
        product = ct.mma(ct.load(A, (0, k), (tile, depth)), ct.load(B, (k, 0), (depth, tile)), zero)
        row = ct.load(S, (k, 0), (1, tile))
        total = total + product * (ct.exp2(row) if computes else row.astype(ct.float32))
    ct.store(D, (0, 0), total)


def arguments(computes: bool) -> list:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in [(ROWS, DEPTH), (DEPTH, COLUMNS)])
    s = random.standard_normal((DEPTH // 64, COLUMNS)).astype(np.float32 if computes else np.float16)
    return [a, b, s, np.zeros((ROWS, COLUMNS), np.float32), 128, 64, int(computes)]


def compiled(computes: bool, target: str):
    signature = Signature.from_arguments(scaled_columns, arguments(computes))
    return ct.compile(scaled_columns, target=target, signature=signature, stop="ptx")


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("computes", [True, False])
def test_product_is_that_of_numpy(computes, target):
    args = arguments(computes)
    a, b, s = (each.astype(np.float64) for each in args[:3])
    a, b = a.reshape(ROWS, -1, 64).transpose(1, 0, 2), b.reshape(-1, 64, COLUMNS)
    rows = np.exp2(s) if computes else s
    exact, magnitudes = (np.einsum("kij,kjl,kl->il", f(a), f(b), f(rows)) for f in (np.array, np.abs))
    for (result,) in run_everywhere(scaled_columns, (1,), args, (3,), target=target, hints={}):
        assert_within(result, exact, 2.0**-18 * magnitudes)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_each_thread_computes_its_share(target):
    """TMA loads the row; the 32 lanes of a warp compute four exponentials each and exchange them."""
    artifact = compiled(True, target)
    assert "load_view" not in artifact.gpu
    assert len(re.findall(r"\bex2\.", artifact.ptx)) == 4


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_each_thread_converts_what_it_uses(target):
    """A thread reads its elements of the row from the slot, without an exchange for those of other threads."""
    text = compiled(False, target).gpu
    assert "load_view" not in text
    assert not re.findall(r"convert_layout .*: !tile_1x128x", text)
