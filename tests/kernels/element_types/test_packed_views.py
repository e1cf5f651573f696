"""Kernels on packed elements of 2, 4 and 6 bits: the interpreter and the simulator of both targets equal numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec as ct

BITS = (2, 4, 6)


def packed(elements: np.ndarray, bits: int) -> np.ndarray:
    """The rows of elements without gaps, the lowest bits first."""
    stream = np.unpackbits(elements[..., None].astype(np.uint8), axis=-1, bitorder="little")[..., :bits]
    return np.packbits(stream.reshape(*elements.shape[:-1], -1), axis=-1, bitorder="little")


def runs(target: str) -> list[dict[str, Any]]:
    return [{"backend": "interpret", "check": True}, {"backend": "simulate", "target": target}]


@ct.kernel
def widen(source, result, bits: ct.Constant[int]):
    view = ct.packed_view(source, bits=bits, tile=(8, 32))
    i, j = ct.bid(0), ct.bid(1)
    ct.store(result, (i, j), ct.load(view, (i, j)))


@ct.kernel
def pack(source, result, bits: ct.Constant[int]):
    view = ct.packed_view(result, bits=bits, tile=(8, 32))
    i, j = ct.bid(0), ct.bid(1)
    ct.store(view, (i, j), ct.load(source, (i, j), (8, 32), padding_mode=ct.PaddingMode.ZERO))


@ct.kernel
def increment(data, bits: ct.Constant[int]):
    view = ct.packed_view(data, bits=bits, tile=(4, 16))
    for j in range(view.num_tiles(1)):
        view.store((ct.bid(0), j), view.load((ct.bid(0), j)) + 1)


@ct.kernel
def product(weights, activations, result, bits: ct.Constant[int]):
    view = ct.packed_view(weights, bits=bits, tile=(16, 32))
    total = ct.zeros((16, 16), ct.float32)
    for k in range(view.num_tiles(1)):
        small = view.load((ct.bid(0), k)).astype(ct.float16)
        total = ct.mma(small, ct.load(activations, (k, 0), (32, 16), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(result, (ct.bid(0), 0), total)


@pytest.mark.parametrize("bits", BITS)
def test_widen_and_pack(bits: int, target: str, random: np.random.Generator) -> None:
    """20 rows of 72 elements, whose last tiles are partial."""
    elements = random.integers(0, 1 << bits, (20, 72)).astype(np.uint8)
    for run in runs(target):
        wide, again = np.full((20, 72), 99, np.uint8), np.full((20, 9 * bits), 99, np.uint8)
        ct.launch(None, (3, 3), widen, (packed(elements, bits), wide, bits), **run)
        np.testing.assert_array_equal(wide, elements)
        ct.launch(None, (3, 3), pack, (elements, again, bits), **run)
        np.testing.assert_array_equal(again, packed(elements, bits))


@pytest.mark.parametrize("bits", BITS)
def test_elements_change_in_place(bits: int, target: str, random: np.random.Generator) -> None:
    """The sums wrap, because a store writes the low bits."""
    elements = random.integers(0, 1 << bits, (8, 40)).astype(np.uint8)
    for run in runs(target):
        data = packed(elements, bits)
        ct.launch(None, 2, increment, (data, bits), **run)
        np.testing.assert_array_equal(data, packed(elements + 1 & (1 << bits) - 1, bits))


@pytest.mark.parametrize("bits", BITS)
def test_matrix_multiply(bits: int, target: str, random: np.random.Generator) -> None:
    """Weights are packed along the inner dimension of the product; all sums are exact."""
    weights = random.integers(0, 1 << bits, (32, 64)).astype(np.uint8)
    activations = random.integers(-4, 5, (64, 16)).astype(np.float16)
    for run in runs(target):
        result = np.full((32, 16), 99, np.float32)
        ct.launch(None, 2, product, (packed(weights, bits), activations, result, bits), **run)
        np.testing.assert_array_equal(result, weights.astype(np.float32) @ activations.astype(np.float32))
