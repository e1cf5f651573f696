"""Where tensor memory holds the elements of a tile, and the register layouts that store it without exchange."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import VerificationError
from tilec.lowering.layout.tensor_layout import (
    TensorLayout,
    parse_tensor_layout,
    tensor_memory_16x128b,
    tensor_memory_16x256b,
    tensor_memory_32x32b,
)


@pytest.mark.parametrize(
    ("text", "rows", "element_bytes", "columns"),
    [
        ("lanes=128", 128, 4, 64),
        ("lanes=128", 256, 2, 128),
        ("lanes=64", 64, 4, 64),
        ("lanes=128 packed", 128, 4, 64),
        ("lanes=128 packed", 128, 2, 32),
        ("lanes=128 packed", 256, 2, 64),
        ("lanes=128 packed", 128, 1, 16),
        ("lanes=64 packed", 64, 2, 32),
        ("lanes=128 packed pieces=2 apart=32", 128, 2, 48),
        ("lanes=128 packed pieces=4 apart=16", 128, 2, 56),
        ("lanes=128 halves", 64, 4, 32),
        ("lanes=128 halves", 64, 2, 32),
        ("lanes=128 transposed", 128, 4, 64),
        ("lanes=128 transposed", 64, 4, 32),
    ],
)
def test_columns_of_64_elements(text, rows, element_bytes, columns):
    layout = parse_tensor_layout(text, (rows, 64), element_bytes)
    assert (str(layout), layout.columns) == (text, columns)


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_thread_holds_its_row_in_order_as_in_an_accumulator(element_bytes, warps):
    packed = TensorLayout((256, 128), element_bytes, 128, packed=True)
    assert packed.registers(warps) == tensor_memory_32x32b((256, 128), warps)


def test_cells_of_64_rows_are_those_of_a_fragment_with_two_elements_each():
    """A thread stores the weights that it computes from its own scores."""
    halves = TensorLayout((64, 64), 2, 64, packed=True)
    assert halves.registers(4) == tensor_memory_16x256b((64, 64), 4)


@pytest.mark.parametrize(("element_bytes", "access"), [(1, tensor_memory_16x128b), (4, tensor_memory_16x256b)])
def test_cells_of_64_rows_with_four_elements_or_one(element_bytes, access):
    """Register r is element r % c of the cell in register r // c of an access to 32 columns."""
    per_cell = 4 // element_bytes
    layout, cells = TensorLayout((64, 32 * per_cell), element_bytes, 64, packed=True).registers(4), access((64, 32), 4)
    r, lane, w = np.ogrid[: layout.register_count, :32, :4]
    row, column = cells.apply(r // per_cell, lane, w)
    found_row, found_column = layout.apply(r, lane, w)
    assert np.array_equal(*np.broadcast_arrays(found_row, row))
    assert np.array_equal(*np.broadcast_arrays(found_column, per_cell * column + r % per_cell))


@pytest.mark.parametrize("warps", [4, 8])
def test_halves_are_in_the_lanes_of_layout_b(warps):
    """PTX ISA 9.7.16.10.5: row m, column n is at lane m + 64 (n / (N/2)), column n % (N/2); warp w has lanes 32 w."""
    columns = 64
    layout = TensorLayout((64, columns), 4, 128, halves=True)
    own = columns // 2 // (warps // 4)
    r, lane, w = np.ogrid[:own, :32, :warps]
    row, column = layout.registers(warps).apply(r, lane, w)
    lane_of_element = row + 64 * (column // (columns // 2))
    assert np.array_equal(*np.broadcast_arrays(lane_of_element, 32 * (w % 4) + lane))
    assert np.array_equal(*np.broadcast_arrays(column % (columns // 2), own * (w // 4) + r))


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("columns", [32, 64, 128])
def test_columns_of_a_transposed_tile_have_lanes(columns, warps):
    """PTX ISA 9.7.16.10.5: layouts D, E and G of D[n, m]; each group of lanes has a part of the rows m."""
    rows, lanes = 128, 128
    part = rows * columns // lanes
    layout = TensorLayout((rows, columns), 4, lanes, transposed=True)
    r, lane, w = np.ogrid[: part // (warps // 4), :32, :warps]
    row, column = layout.registers(warps).apply(r, lane, w)
    assert np.array_equal(*np.broadcast_arrays(column + columns * (row // part), 32 * (w % 4) + lane))
    assert np.array_equal(*np.broadcast_arrays(row % part, part // (warps // 4) * (w // 4) + r))


@pytest.mark.parametrize("warps", [8, 16])
def test_each_four_warps_place_a_piece_in_columns_of_sums_that_they_have_read(warps):
    groups, columns = warps // 4, 128
    layout = TensorLayout((128, columns), 2, 128, packed=True, pieces=groups, apart=columns // groups)
    sums = TensorLayout((128, columns), 4, 128)
    r, lane, w = np.ogrid[: columns // groups, :32, :warps]
    row, column = layout.registers(warps).apply(r, lane, w)
    row_of_sum, column_of_sum = sums.registers(warps).apply(r, lane, w)
    assert np.array_equal(row, row_of_sum)
    assert np.array_equal(column, column_of_sum)
    places = np.array([layout.column_of(cell) for cell in range(columns // 2)])[column // 2]
    assert np.array_equal(*np.broadcast_arrays(places // (columns // groups), w // 4))


def test_pieces_are_those_of_their_warps():
    layout = TensorLayout((128, 128), 2, 128, packed=True, pieces=2, apart=64)
    with pytest.raises(ValueError, match="2 pieces are those of 8 warps, not 4"):
        layout.registers(4)


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("lanes=32", (128, 64), "expected a layout like 'lanes=128' or 'lanes=128 packed', got 'lanes=32'"),
        ("lanes=128", (64, 64), "expected a multiple of 128 rows"),
        ("lanes=128 packed", (128, 3), "expected rows of whole cells of 2 elements"),
        ("lanes=128", (128,), "tensor memory holds matrices"),
        ("lanes=128 halves", (128, 64), "halves have 128 lanes, 64 rows and an even number of columns"),
        ("lanes=128 packed pieces=2 apart=15", (128, 64), "32 columns are not 2 pieces 15 columns apart"),
        ("lanes=128 packed pieces=3 apart=32", (128, 64), "32 columns are not 3 pieces 32 columns apart"),
        ("lanes=128 packed pieces=2 apart=64", (256, 64), "pieces are of one block of packed rows in 128 lanes"),
        ("lanes=128 pieces=2 apart=64", (128, 64), "pieces are of one block of packed rows in 128 lanes"),
        ("lanes=64 halves", (64, 64), "halves have 128 lanes, 64 rows and an even number of columns"),
    ],
)
def test_refusals(text, shape, message):
    with pytest.raises(VerificationError, match=message):
        parse_tensor_layout(text, shape, 2)
