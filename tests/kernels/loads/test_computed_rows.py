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
def exponents_of_columns(A, B, S, D, tile: Const, depth: Const):
    acc = ct.zeros((tile, tile), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tile, depth))):
        product = ct.mma(
            ct.load(A, (0, k), (tile, depth)), ct.load(B, (k, 0), (depth, tile)), ct.zeros((tile, tile), ct.float32)
        )
        acc = acc + product * ct.exp2(ct.load(S, (k, 0), (1, tile)))
    ct.store(D, (0, 0), acc)


@ct.kernel
def converted_columns(A, B, S, D, tile: Const, depth: Const):
    acc = ct.zeros((tile, tile), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tile, depth))):
        product = ct.mma(
            ct.load(A, (0, k), (tile, depth)), ct.load(B, (k, 0), (depth, tile)), ct.zeros((tile, tile), ct.float32)
        )
        acc = acc + product * ct.load(S, (k, 0), (1, tile)).astype(ct.float32)
    ct.store(D, (0, 0), acc)


def arguments(row_type: type) -> list:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in [(ROWS, DEPTH), (DEPTH, COLUMNS)])
    s = random.standard_normal((DEPTH // 64, COLUMNS)).astype(row_type)
    return [a, b, s, np.zeros((ROWS, COLUMNS), np.float32), 128, 64]


def compiled(kernel, row_type: type, target: str):
    signature = Signature.from_arguments(kernel, arguments(row_type))
    return ct.compile(kernel, target=target, signature=signature, stop="ptx")


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_product_is_exact(target):
    args = arguments(np.float32)
    a, b, s = (each.astype(np.float64) for each in args[:3])
    a, b = a.reshape(ROWS, -1, 64).transpose(1, 0, 2), b.reshape(-1, 64, COLUMNS)
    exact, magnitudes = (np.einsum("kij,kjl,kl->il", f(a), f(b), np.exp2(s)) for f in (np.array, np.abs))
    for (result,) in run_everywhere(exponents_of_columns, (1,), args, (3,), target=target, hints={}):
        assert_within(result, exact, 2.0**-18 * magnitudes)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_each_thread_computes_its_share(target):
    """TMA loads the row; the 32 lanes of a warp compute four exponents each and exchange them."""
    artifact = compiled(exponents_of_columns, np.float32, target)
    assert "load_view" not in artifact.gpu
    assert len(re.findall(r"\bex2\.", artifact.ptx)) == 4


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_each_thread_converts_what_it_uses(target):
    """A thread reads its elements of the row from the slot, without an exchange for those of other threads."""
    text = compiled(converted_columns, np.float16, target).gpu
    assert "load_view" not in text
    assert not re.findall(r"convert_layout .*: !tile_1x128x", text)
