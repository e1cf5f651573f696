"""Layouts of concatenated tiles: every thread has the elements of the whole that it has of either half."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.blocks import doubled, halved
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator

LAYOUTS = {
    "rows": blocked((16, 32), 4, 1, 4),
    "columns": blocked((16, 32), 4, 0, 4),
    "repeated": blocked((4, 2), 4),
    "one": blocked((1, 1), 4),
    "wgmma": wgmma_accumulator((64, 32), 4),
    "tensor_memory": tensor_memory_32x32b((128, 16), 4),
}


CASES = list(itertools.product(LAYOUTS, (0, 1)))


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_doubled_puts_the_second_tile_into_the_upper_registers(name, dimension):
    layout = LAYOUTS[name]
    whole = doubled(layout, dimension)
    lanes, warps = np.arange(32)[:, None], np.arange(4)[None, :]
    for register, second in itertools.product(range(layout.register_count), (0, 1)):
        expected = [np.asarray(c) for c in layout.apply(register, lanes, warps)]
        expected[dimension] = expected[dimension] + second * layout.shape[dimension]
        found = whole.apply(register + second * layout.register_count, lanes, warps)
        assert np.array_equal(*(np.broadcast_arrays(*c, lanes ^ warps)[:-1] for c in (expected, found)))


def test_doubled_has_adjacent_elements_in_adjacent_registers():
    """If each register has a whole row of one element, the next register has the other half of the row."""
    pairs = doubled(blocked((512, 1), 4, 0, 4), 1)
    assert pairs.register == ((0, 1), (1, 0), (2, 0))
    assert doubled(pairs, 1).register == ((0, 1), (0, 2), (1, 0), (2, 0))


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_halved_undoes_doubled(name, dimension):
    assert halved(doubled(LAYOUTS[name], dimension), dimension) == LAYOUTS[name]


def test_halved_returns_none_if_the_halves_are_in_different_threads():
    assert halved(blocked((32, 4), 4), 0) is None
    assert halved(blocked((4, 64), 4, 1, 2), 1) is None


@pytest.mark.parametrize("repeated", ["lane", "warp"])
def test_halved_returns_none_if_threads_repeat_the_other_half(repeated):
    """A register bit selects the half, but a bit of the thread does so too."""
    bases = {"register": ((4,),), "lane": ((1,), (2,), (0,), (0,), (0,)), "warp": ((0,), (0,))}
    bases[repeated] = (*bases[repeated][:-1], (4,))
    assert halved(LinearLayout(**bases, shape=(8,)), 0) is None
