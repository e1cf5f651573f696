"""The words of rows whose number in a period is in an interval: those of hand-worked examples and of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import kernel, run, store_view, tile

from tilec.lowering.layout.blocked import blocked

NUMBERS = "\n".join(f"%c{n} = arith.constant {n} : i32" for n in range(5))


def words(start: int, period: int, begin: int, end: int, warps: int = 4) -> np.ndarray:
    word = tile("i32", blocked((1,), 1, 0, warps.bit_length() - 1))
    lines = [
        f'%w:4 = "tile_gpu.rows_in_interval"(%start) {{period = {period} : i32, begin = {begin} : i32, '
        f"end = {end} : i32}} : (i32) -> (i32, i32, i32, i32)"
    ]
    for n in range(4):
        lines.append(f'%t{n} = "tile_gpu.splat"(%w#{n}) : (i32) -> {word}')
        lines.append(store_view(f"%t{n}", word, "%p", [f"%c{n}"], ["%c4"], ["%c1"]))
    text = kernel("%p: i64, %start: i32", "\n".join([NUMBERS, *lines]), warps)
    result = np.zeros(4, np.uint32)
    run(text, [result, start], warps=warps)
    return result


def test_examples() -> None:
    """Images of 9 pixels with a padding of 1: the rows that taps 0 and 2 of three skip, of the first 16.

    The first image starts at pixel 0, or at pixel 5.
    """
    assert [int(words(0, 9, *interval)[0] & 0xFFFF) for interval in ((0, 1), (8, 9))] == [0x0201, 0x0100]
    assert [int(words(5, 9, *interval)[0] & 0xFFFF) for interval in ((0, 1), (8, 9))] == [0x2010, 0x1008]


@pytest.mark.parametrize(
    ("start", "period", "begin", "end"),
    [(0, 1, 0, 1), (6, 7, 0, 3), (13, 57, 55, 57), (129, 130, 0, 2), (2000, 2048, 0, 100), (3, 5, 1, 4)],
)
def test_numbers(start: int, period: int, begin: int, end: int) -> None:
    rows = (start + np.arange(128)) % period
    expected = np.packbits((begin <= rows) & (rows < end), bitorder="little").view(np.uint32)
    np.testing.assert_array_equal(words(start, period, begin, end), expected)
    np.testing.assert_array_equal(words(start, period, begin, end, warps=8), expected)
