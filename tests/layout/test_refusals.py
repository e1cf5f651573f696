"""Layouts and bit matrices refuse operands for which they have no meaning, and name them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.conversion import conversion
from tilec.lowering.layout.linear_layout import parse_layout
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.layout.tensor_layout import TensorLayout, tensor_memory_32x32b, tensor_memory_groups

HALF_HELD = parse_layout("register=none lane=(0,1)(0,2)(0,4)(0,8)(0,16) warp=(0,0) shape=2x32")
WHOLE = parse_layout("register=(1,0) lane=(0,1)(0,2)(0,4)(0,8)(0,16) warp=(0,0) shape=2x32")
REFUSALS: dict[str, Callable[[], object]] = {
    r"columns \(4,\) do not fit in 2 bits": lambda: BitMatrix((4,), 2),
    "a map to 2 bits does not compose with a map of 3 bits": lambda: BitMatrix.identity(3) @ BitMatrix.identity(2),
    "no conversion from '.*' to '.*'": lambda: conversion(HALF_HELD, WHOLE),
    r"'.*' does not hold \(1, 0\)": lambda: HALF_HELD.holder((1, 0)),
    r"cannot reshape \(2, 32\) to \(2, 16\)": lambda: WHOLE.reshape((2, 16)),
    "expected two dimensions, got 3": lambda: SharedLayout((2, 8, 64), 2, 2, "128B").transpose(),
    r"expected a column per warp, got \(128, 1\) for 8 warps": lambda: tensor_memory_32x32b((128, 1), 8),
    r"expected 32, 64 or 128 rows and a column per warp, got \(16, 8\) for 4 warps": lambda: tensor_memory_groups(
        (16, 8), 4
    ),
    r"a transposed tile has 32, 64 or 128 columns in 128 lanes, got shape \(64, 48\)": lambda: TensorLayout(
        (64, 48), 4, 128, transposed=True
    ),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusal(message):
    with pytest.raises(ValueError, match=message):
        REFUSALS[message]()


def test_every_element_of_a_held_tile_has_a_holder():
    assert WHOLE.holder((1, 3)) == 1 | 3 << 1
