"""Layouts of elements and of the bytes that hold them: a thread has all parts of each element that it has."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import byte_shape, divided, joined, joined_registers
from tilec.lowering.layout.wgmma import wgmma_accumulator

LAYOUTS = {
    "rows": blocked((16, 32), 4, 1, 4),
    "columns": blocked((16, 32), 4, 0, 4),
    "repeated": blocked((4, 2), 4),
    "one": blocked((1, 1), 4),
    "wgmma": wgmma_accumulator((64, 32), 4),
}
CASES = list(itertools.product(LAYOUTS, (0, 1), (1, 2, 8)))


def coordinates(layout: LinearLayout, register: int) -> np.ndarray:
    """The coordinates of a register in all threads: dimension, lane, warp."""
    found = layout.apply(register, np.arange(32)[:, None], np.arange(4)[None, :])
    return np.array(np.broadcast_arrays(*found, np.zeros((32, 4)))[:-1])


@pytest.mark.parametrize(("name", "dimension", "parts"), CASES)
def test_parts_of_an_element_are_in_successive_registers_of_its_thread(name, dimension, parts):
    whole = LAYOUTS[name]
    fine = divided(whole, dimension, parts)
    for register, part in itertools.product(range(whole.register_count), range(parts)):
        expected = coordinates(whole, register)
        expected[dimension] = expected[dimension] * parts + part
        assert np.array_equal(coordinates(fine, register * parts + part), expected)


@pytest.mark.parametrize(("name", "dimension", "parts"), CASES)
def test_joined_undoes_divided(name, dimension, parts):
    fine = divided(LAYOUTS[name], dimension, parts)
    assert joined(fine, dimension, parts) == LAYOUTS[name]
    registers = range(fine.register_count)
    assert joined_registers(fine, dimension, parts) == [list(registers[r : r + parts]) for r in registers[::parts]]


def test_joined_of_parts_in_registers_of_a_higher_bit():
    layout = LinearLayout(((0, 4), (0, 1)), ((0, 2), (1, 0), (2, 0), (4, 0), (8, 0)), (), (16, 8))
    assert joined(layout, 1, 2) == LinearLayout(((0, 2),), ((0, 1), (1, 0), (2, 0), (4, 0), (8, 0)), (), (16, 4))
    assert joined_registers(layout, 1, 2) == [[0, 2], [1, 3]]


def test_threads_that_share_the_parts_of_an_element_join_nothing():
    assert joined(blocked((128,), 4), 0, 2) is None
    with pytest.raises(ValueError, match="expected a thread to hold 2 successive elements along 0"):
        joined_registers(blocked((128,), 4), 0, 2)


def test_byte_shape():
    assert byte_shape((16, 32), 1, 2) == (16, 16)
    assert byte_shape((16, 32), 0, 1) == (16, 32)
