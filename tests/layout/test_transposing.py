"""Tiles that are loaded along one dimension and stored along the other: sectors of memory, and banks."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.lowering.layout.blocked import blocked, transposing
from tilec.lowering.layout.linear_layout import LinearLayout

SECTOR_BYTES, WORD_BYTES, BANKS = 32, 4, 32
SHAPE, WARPS = (128, 128), 8


def layout_of(element_bytes: int, vector_bytes: int) -> LinearLayout:
    """The layout of a tile of K x N whose rows are contiguous in memory, and its columns in shared memory."""
    vector, word, sector = (size // element_bytes for size in (vector_bytes, WORD_BYTES, SECTOR_BYTES))
    return transposing(SHAPE, WARPS, contiguous=1, stored=0, vector=vector, word=word, sector=sector)


def elements(layout: LinearLayout) -> np.ndarray:
    """The coordinates (k, n) of each register of each lane of each warp."""
    registers = range(1 << len(layout.register))
    return np.array([[[layout.apply(r, lane, w) for r in registers] for lane in range(32)] for w in range(WARPS)])


def most_words_of_a_bank(layout: LinearLayout, element_bytes: int) -> int:
    """The wavefronts of a store of one register per lane in rows of 128 bytes with their swizzle."""
    found = elements(layout)
    worst = 0
    for warp in found:
        for register in range(warp.shape[1]):
            k, n = warp[:, register].T
            byte = n * 128 + ((k * element_bytes) ^ (n % 8) * 16)
            words = np.unique(byte // WORD_BYTES)
            worst = max(worst, np.bincount(words % BANKS).max())
    return worst


@pytest.mark.parametrize(("element_bytes", "vector_bytes"), [(1, 16), (1, 8), (1, 4), (1, 1)])
def test_every_element_has_one_place(element_bytes: int, vector_bytes: int) -> None:
    found = elements(layout_of(element_bytes, vector_bytes)).reshape(-1, 2)
    assert sorted(map(tuple, found)) == [(k, n) for k in range(SHAPE[0]) for n in range(SHAPE[1])]


@pytest.mark.parametrize("vector_bytes", [16, 8, 4])
def test_a_thread_holds_words_of_shared_memory(vector_bytes: int) -> None:
    (register, *_) = np.moveaxis(elements(layout_of(1, vector_bytes)), 2, 0)[vector_bytes::vector_bytes]
    assert (register[..., 0] % WORD_BYTES == 1).all()


@pytest.mark.parametrize("vector_bytes", [16, 8, 4])
def test_lanes_load_whole_sectors(vector_bytes: int) -> None:
    found = elements(layout_of(1, vector_bytes))
    for warp in found:
        loaded = {(k, n) for k, n in warp[:, :vector_bytes].reshape(-1, 2)}
        sectors = {(k, n // SECTOR_BYTES) for k, n in loaded}
        assert len(loaded) == SECTOR_BYTES * len(sectors)


def test_stores_have_fewer_conflicts_of_banks_than_those_of_rows() -> None:
    """Two rows of 32 bytes of a sector are in the same banks; with all lanes along the rows there are eight."""
    assert most_words_of_a_bank(layout_of(1, 16), 1) == 2
    assert most_words_of_a_bank(blocked(SHAPE, WARPS, 1, 16), 1) == 8
