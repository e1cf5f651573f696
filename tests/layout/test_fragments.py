"""Layouts of tensor core fragments equal the formulas of the manuals, for every register of every thread."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.tensor_layout import tensor_memory_16x128b, tensor_memory_16x256b, tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator, wgmma_metadata, wgmma_operand


def check(layout: LinearLayout, row, column) -> None:
    r, lane, w = np.ogrid[: layout.register_count, :32, : layout.warps]
    rows, columns = layout.apply(r, lane, w)
    assert np.array_equal(np.broadcast_to(rows, rows.shape), np.broadcast_to(row(r, lane, w), rows.shape))
    assert np.array_equal(columns, np.broadcast_to(column(r, lane, w), columns.shape))
    assert layout.is_surjective


@pytest.mark.parametrize("columns", [8, 16, 64, 128, 256])
def test_wgmma_accumulator(columns):
    """PTX ISA 9.7.15.5.1, D."""
    check(
        wgmma_accumulator((64, columns), 4),
        lambda r, lane, w: 16 * w + lane // 4 + 8 * ((r >> 1) & 1),
        lambda r, lane, w: 8 * (r >> 2) + 2 * (lane % 4) + (r & 1),
    )


def test_wgmma_accumulator_of_two_fragments_and_of_two_warp_groups():
    registers = 64 * 32 // 128
    check(
        wgmma_accumulator((128, 32), 4),
        lambda r, lane, w: 64 * (r // registers) + 16 * w + lane // 4 + 8 * ((r >> 1) & 1),
        lambda r, lane, w: 8 * (r % registers >> 2) + 2 * (lane % 4) + (r & 1),
    )
    check(
        wgmma_accumulator((128, 32), 8),
        lambda r, lane, w: 16 * w + lane // 4 + 8 * ((r >> 1) & 1),
        lambda r, lane, w: 8 * (r >> 2) + 2 * (lane % 4) + (r & 1),
    )


@pytest.mark.parametrize("depth", [16, 64])
def test_wgmma_operand_of_two_bytes(depth):
    """PTX ISA 9.7.15.5.1, A: two elements in a register, as in accumulators."""
    assert wgmma_operand((64, depth), 4, 2) == wgmma_accumulator((64, depth), 4)


def test_wgmma_operand_of_one_byte():
    """PTX ISA 9.7.15.5.1, A: byte b of register r."""
    check(
        wgmma_operand((64, 64), 4, 1),
        lambda r, lane, w: 16 * w + lane // 4 + 8 * (r >> 2 & 1),
        lambda r, lane, w: 16 * (r >> 3) + 4 * (lane % 4) + (r & 3),
    )


def test_wgmma_operand_of_four_bytes():
    """PTX ISA 9.7.15.5.1, A: one element in a register."""
    check(
        wgmma_operand((64, 16), 4, 4),
        lambda r, lane, w: 16 * w + lane // 4 + 8 * (r & 1),
        lambda r, lane, w: 4 * (r >> 1) + lane % 4,
    )


def test_wgmma_metadata():
    """PTX ISA 9.7.15.5.2: the lower two lanes of four have rows r and r + 8, the upper two the next word of each."""
    check(
        wgmma_metadata((64, 8), 4),
        lambda r, lane, w: 16 * w + lane // 4 + 8 * (lane & 1),
        lambda r, lane, w: 2 * r + (lane >> 1 & 1),
    )
    assert wgmma_metadata((128, 8), 4).apply(4, 0, 0) == (64, 0)
    assert wgmma_metadata((64, 1), 4).apply(0, 3, 1) == (24, 0)


def test_wgmma_operand_of_two_fragments_and_of_two_warp_groups():
    assert wgmma_operand((128, 32), 4, 2).apply(16, 0, 0) == (64, 0)
    assert wgmma_operand((128, 32), 8, 2).apply(0, 0, 4) == (64, 0)


def test_one_register_of_the_accumulator():
    assert wgmma_accumulator((64, 16), 4).apply(6, 5, 1) == (25, 10)


@pytest.mark.parametrize("warps", [4, 8])
def test_tensor_memory_32x32b(warps):
    columns = 64 * 4 // warps
    check(
        tensor_memory_32x32b((256, 64), warps),
        lambda r, lane, w: 128 * (r // columns) + 32 * (w % 4) + lane,
        lambda r, lane, w: columns * (w // 4) + r % columns,
    )


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(
    ("access", "row", "column"),
    [
        (tensor_memory_16x256b, lambda r: (r >> 1) & 1, lambda r, lane: (r & 1) + 2 * (lane & 3) + 8 * (r >> 2)),
        (tensor_memory_16x128b, lambda r: r & 1, lambda r, lane: (lane & 3) + 4 * (r >> 1)),
    ],
    ids=["16x256b", "16x128b"],
)
def test_accesses_to_sixteen_lanes(access, row, column, warps):
    """PTX ISA 9.7.16.2.3; row m of an accumulator with M = 64 is in TMEM lane m % 16 + 32 (m / 16)."""
    columns = 32 * 4 // warps

    def tile_row(r, lane, w):
        memory_lane = 32 * (w % 4) + (lane >> 2) + 8 * row(r)
        return memory_lane % 32 + 16 * (memory_lane // 32)

    check(access((64, 32), warps), tile_row, lambda r, lane, w: columns * (w // 4) + column(r, lane))


@pytest.mark.parametrize(
    "build",
    [
        lambda: wgmma_accumulator((32, 16), 4),
        lambda: wgmma_operand((32, 16), 4, 2),
        lambda: wgmma_operand((64, 16), 4, 1),
        lambda: tensor_memory_32x32b((64, 16), 4),
        lambda: tensor_memory_16x256b((128, 16), 4),
    ],
)
def test_unsupported_shapes_are_refused(build):
    with pytest.raises(ValueError):
        build()
