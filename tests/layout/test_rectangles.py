"""The layout of accumulators that threads multiply: about as many rows as columns in a thread, each element once."""

from __future__ import annotations

import pytest

from tilec.lowering.layout.blocked import rectangles, rows_of_threads
from tilec.lowering.layout.linear_layout import LinearLayout

SHAPES = [(1, 1), (2, 2), (1, 128), (128, 1), (8, 8), (16, 256), (256, 16), (64, 64)]


def holders(layout: LinearLayout) -> list[tuple[int, ...]]:
    """The element of each register of each thread."""
    registers, warps = range(layout.register_count), range(layout.warps)
    return [layout.apply(r, lane, warp) for r in registers for lane in range(32) for warp in warps]


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("vectors", [(1, 4), (4, 4)])
@pytest.mark.parametrize("shape", SHAPES)
def test_rectangles(shape: tuple[int, int], vectors: tuple[int, int], warps: int) -> None:
    held = holders(rectangles(shape, warps, vectors))
    assert len(set(held)) == shape[0] * shape[1]
    assert len(held) == max(len(set(held)), 32 * warps)


def test_a_thread_has_as_many_rows_as_columns() -> None:
    layout = rectangles((64, 64), 4)
    own = [layout.apply(register, 0, 0) for register in range(layout.register_count)]
    assert sorted({row for row, _ in own}) == [0, 4, 8, 12]
    assert sorted({column for _, column in own}) == [0, 1, 2, 3, 32, 33, 34, 35]


@pytest.mark.parametrize(
    ("shape", "dimension"), [((128, 64), 1), ((64, 128), 0), ((256, 32), 1), ((8, 16), 1), ((2, 4, 256), 2)]
)
def test_rows_of_threads(shape: tuple[int, ...], dimension: int) -> None:
    """A thread has a whole row if there are as many rows as threads; threads repeat nothing that they can divide."""
    layout = rows_of_threads(shape, 4, dimension, 4)
    held = holders(layout)
    size = len(set(held))
    assert size == len(held) * (1 if size >= 128 else size / 128)
    rows = size // shape[dimension]
    spread = [basis for basis in (*layout.lane, *layout.warp) if basis[dimension]]
    assert bool(spread) == (rows < 128)
