"""Layouts of grids of blocks: which register of a thread holds an element of which block."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sample_layouts import LAYOUTS

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.blocks import block_of, extracted_registers, inserted_registers, repeated
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout

PLANE = [name for name, layout in LAYOUTS.items() if len(layout.shape) == 2]
COUNTS = (2, 4)


def grid(layout: LinearLayout) -> LinearLayout:
    return repeated(layout, [count * extent for count, extent in zip(COUNTS, layout.shape, strict=True)])


def elements(layout: LinearLayout, register: int) -> np.ndarray:
    """The coordinates of a register's element in every thread, threads along axis 1."""
    lanes, warps = np.meshgrid(np.arange(32), np.arange(layout.warps))
    return np.array([np.broadcast_to(c, lanes.shape).ravel() for c in layout.apply(register, lanes, warps)])


@pytest.mark.parametrize("name", PLANE)
def test_a_block_of_a_repeated_layout_is_the_layout(name):
    assert block_of(grid(LAYOUTS[name]), LAYOUTS[name].shape) == LAYOUTS[name]


@pytest.mark.parametrize("name", PLANE)
def test_extracted_registers_hold_the_elements_of_the_block(name):
    block, whole = LAYOUTS[name], grid(LAYOUTS[name])
    for position in itertools.product(*map(range, COUNTS)):
        start = np.array([[p * e] for p, e in zip(position, block.shape, strict=True)])
        registers = extracted_registers(whole, block, position)
        assert registers is not None
        for register, source in enumerate(registers):
            assert np.array_equal(elements(whole, source), start + elements(block, register))


@pytest.mark.parametrize("name", PLANE)
def test_inserted_registers_hold_the_elements_of_the_block(name):
    block, whole = LAYOUTS[name], grid(LAYOUTS[name])
    found = inserted_registers(whole, block)
    assert found is not None
    for register, (position, source) in enumerate(found):
        start = np.array([[p * e] for p, e in zip(position, block.shape, strict=True)])
        assert np.array_equal(elements(whole, register), start + elements(block, source))


def test_blocks_that_threads_select_have_no_layout_of_their_own():
    assert block_of(blocked((64, 4), 4), (2, 4)) is None
    assert extracted_registers(blocked((256,), 4, 0, 2), blocked((128,), 4), (0,)) is None
    assert inserted_registers(blocked((256,), 4, 0, 2), blocked((128,), 4)) is None


def test_a_register_that_also_moves_inside_the_block_does_not_select_it():
    layout = parse_layout("register=(3) lane=(1)(0)(0)(0)(0) warp=(0)(0) shape=4")
    assert block_of(layout, (2,)) is None


def test_registers_that_need_another_thread_are_not_found():
    """The whole repeats an element in a register that the block keeps in one thread only."""
    whole = parse_layout("register=(1)(2) lane=(1)(0)(0)(0)(0) warp=(0)(0) shape=4")
    block = parse_layout("register=none lane=(1)(0)(0)(0)(0) warp=(0)(0) shape=2")
    assert extracted_registers(whole, block, (1,)) == [2]
    assert inserted_registers(whole, block) is None
