"""Layouts of mma.sync: the fragment tables of the manual, tiles of many fragments, and the banks of ldmatrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.mma_sync import (
    instruction_depth,
    is_transposed,
    left_operand,
    mma_sync_accumulator,
    right_operand,
    sparse_metadata,
)
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.tile_to_gpu.access.tensor_maps import swizzle_for

REGISTER, LANE = np.ogrid[:4, :32]
SHAPES = [(16, 8), (16, 16), (32, 32), (64, 32), (16, 256), (256, 8), (8, 16), (8, 64), (1, 16), (2, 128), (32, 1)]


def coordinates(layout: LinearLayout, warp: int = 0) -> tuple[np.ndarray, ...]:
    r, lane = np.ogrid[: layout.register_count, :32]
    return tuple(np.broadcast_to(each, (layout.register_count, 32)) for each in layout.apply(r, lane, warp))


def test_accumulator_fragment():
    """PTX ISA 9.7.14.5.8 and those before it: C and D of m16n8."""
    rows, columns = coordinates(mma_sync_accumulator((16, 8), 4, 2))
    np.testing.assert_array_equal(rows, LANE // 4 + 8 * (REGISTER // 2))
    np.testing.assert_array_equal(columns, 2 * (LANE % 4) + REGISTER % 2)


def test_accumulator_of_eight_rows_is_transposed():
    rows, columns = coordinates(mma_sync_accumulator((8, 16), 4, 2))
    np.testing.assert_array_equal(columns, LANE // 4 + 8 * (REGISTER // 2))
    np.testing.assert_array_equal(rows, 2 * (LANE % 4) + REGISTER % 2)


def test_accumulator_of_bytes_has_rows_and_columns_by_pairs():
    """Row 2i + j of the tile is row i + 8j of the fragment; column 2i + j is column i of fragment j."""
    rows, columns = coordinates(mma_sync_accumulator((16, 16), 4, 1))
    register, lane = np.ogrid[:8, :32]
    np.testing.assert_array_equal(rows, 2 * (lane // 4) + register // 2 % 2)
    np.testing.assert_array_equal(columns, 2 * (2 * (lane % 4) + register % 2) + register // 4)


def test_one_row_is_in_all_columns_of_the_fragment():
    rows, columns = coordinates(mma_sync_accumulator((1, 16), 4, 2))
    assert not rows.any()
    np.testing.assert_array_equal(columns, LANE // 4 + 8 * (REGISTER // 2))


@pytest.mark.parametrize(
    ("shape", "warps", "blocks"),
    [
        # The block of each warp is as square as fragments allow.
        ((64, 64), 4, (32, 32)),
        ((32, 128), 4, (32, 32)),
        ((16, 128), 4, (16, 32)),
        ((128, 16), 8, (16, 16)),
        ((1, 128), 4, (1, 32)),
        # More warps than fragments: several have the same block.
        ((16, 8), 4, (16, 8)),
        ((16, 16), 4, (16, 8)),
        ((32, 32), 16, (16, 8)),
    ],
)
def test_blocks_of_warps(shape, warps, blocks):
    layout = mma_sync_accumulator(shape, warps, 2)
    assert layout.is_surjective and layout.warps == warps
    for warp in range(warps):
        rows, columns = coordinates(layout, warp)
        assert (len(np.unique(rows)), len(np.unique(columns))) == blocks


@pytest.mark.parametrize("shape", [(8, 8), (1, 1), (8, 2), (16, 8, 2)])
def test_tile_below_a_fragment_is_refused(shape):
    with pytest.raises(ValueError):
        mma_sync_accumulator(shape, 4, 2)


@pytest.mark.parametrize(("element_bytes", "most"), [(1, 32), (2, 16), (4, 8), (8, 16)])
def test_deepest_instruction(element_bytes, most):
    """PTX ISA 9.7.14.5.14, the shapes m16n8k.. of each type."""
    assert [instruction_depth(depth, element_bytes) for depth in (most // 2, most, 64)] == [most // 2, most, most]


@pytest.mark.parametrize(("element_bytes", "depth"), [(1, 16), (1, 32), (2, 8), (2, 16), (4, 4), (4, 8)])
def test_operand_fragments(element_bytes, depth):
    """PTX ISA 9.7.14.5.2 to 9.7.14.5.11: A and B of m16n8 with elements of at most 32 bits."""
    accumulator, packed = mma_sync_accumulator((16, 8), 4, element_bytes), 4 // element_bytes
    rows, columns = coordinates(left_operand(accumulator, depth, element_bytes).layout)
    index, lane = np.ogrid[: len(rows), :32]
    register, part = index // packed, index % packed
    by_pairs = 2 * (lane // 4) + register % 2
    np.testing.assert_array_equal(rows, by_pairs if element_bytes == 1 else lane // 4 + 8 * (register % 2))
    np.testing.assert_array_equal(columns, packed * (lane % 4) + part + 4 * packed * (register // 2))
    columns, rows = coordinates(right_operand(accumulator, depth, element_bytes).layout)
    index, lane = np.ogrid[: len(rows), :32]
    np.testing.assert_array_equal(columns, lane // 4 + 0 * index)
    np.testing.assert_array_equal(rows, packed * (lane % 4) + index % packed + 4 * packed * (index // packed))


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_right_fragment_beside_a_sparse_left_one(element_bytes):
    """PTX ISA 9.7.14.6.2: four registers of B, of 64 bytes along K."""
    accumulator, packed = mma_sync_accumulator((16, 8), 4, element_bytes), 4 // element_bytes
    side = right_operand(accumulator, 64 // element_bytes, element_bytes, 2)
    assert len(side.instruction) == 2 and not side.steps
    columns, rows = coordinates(side.layout)
    index, lane = np.ogrid[: len(rows), :32]
    np.testing.assert_array_equal(columns, lane // 4 + 0 * index)
    np.testing.assert_array_equal(rows, packed * (lane % 4) + index % packed + 4 * packed * (index // packed))


@pytest.mark.parametrize("words", [1, 2, 4, 8])
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not is_transposed(shape)], ids=str)
def test_metadata_is_in_the_quads_of_its_rows(shape, warps, element_bytes, words):
    """Threads 0 and 1 of four have a word of the two rows of each block that they multiply, 2 and 3 the next word."""
    accumulator = mma_sync_accumulator(shape, warps, element_bytes)
    left = left_operand(accumulator, 64, element_bytes)
    layout, packed = sparse_metadata(words, accumulator), len(left.packed)
    assert layout.is_surjective
    of_block = max(1, words // 2)
    for warp in range(warps):
        rows, columns = coordinates(layout, warp)
        multiplied, _ = coordinates(left.layout, warp)
        for register, lane in itertools.product(range(layout.register_count), range(32)):
            block, thread = register // of_block, lane % 4
            first = block << len(left.instruction) + packed
            assert rows[register, lane] == multiplied[first + (thread % 2 << packed), lane]
            assert columns[register, lane] == (2 * (register % of_block) + thread // 2) % words


@pytest.mark.parametrize("depth", [4, 8, 16])
def test_f64_operand_fragments_permute_k_alike(depth):
    """PTX ISA 9.7.14.5.12: rows L / 4 + 8 (i % 2), columns L % 4 + 4 (i / 2) of A; the same of B, transposed."""
    accumulator = mma_sync_accumulator((16, 8), 4, 2)
    left = coordinates(left_operand(accumulator, depth, 8).layout)
    right = coordinates(right_operand(accumulator, depth, 8).layout)
    permuted = np.full(depth, -1)
    for i, lane in itertools.product(range(depth // 4), range(32)):
        assert right[0][i, lane] == lane // 4
        assert permuted[lane % 4 + 4 * i] in (-1, right[1][i, lane])
        permuted[lane % 4 + 4 * i] = right[1][i, lane]
    assert sorted(permuted) == list(range(depth))
    for i, lane in itertools.product(range(depth // 2), range(32)):
        assert left[0][i, lane] == lane // 4 + 8 * (i % 2)
        assert left[1][i, lane] == permuted[lane % 4 + 4 * (i // 2)]


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_instructions_compute_the_accumulator(shape, warps, element_bytes):
    """Each accumulator register is at the row of its A fragment and the column of its B fragment, all K once."""
    accumulator, depth = mma_sync_accumulator(shape, warps, element_bytes), 64
    # A register holds an element again only if an extent is below that of a fragment.
    assert accumulator.is_surjective and bool(accumulator.free_register_mask) == (min(shape) == 1)
    if is_transposed(shape):
        accumulator = accumulator.transpose((1, 0))
    left, right = (side(accumulator, depth, element_bytes) for side in (left_operand, right_operand))
    packed, blocks = len(left.packed), len(right.blocks)
    for warp in range(warps):
        rows, columns = coordinates(accumulator, warp)
        a, b = coordinates(left.layout, warp), coordinates(right.layout, warp)
        for r, lane in itertools.product(range(0, accumulator.register_count, 3), range(0, 32, 5)):
            # Any register of the block in the fragment: row group (r / 2) % 2, lanes of this row and this column.
            fragment, group, column = r >> 2, r >> 1 & 1, 2 * (lane % 4) + (r & 1)
            row_block, column_block = fragment >> blocks, fragment & (1 << blocks) - 1
            left_register = (row_block << len(left.instruction) | group) << packed
            right_register = column_block << len(right.instruction) << packed
            assert a[0][left_register, lane // 4 * 4] == rows[r, lane]
            assert b[0][right_register, 4 * column] == columns[r, lane]
    for side in (left, right):
        k = coordinates(side.layout)[1].reshape(depth // instruction_depth(depth, element_bytes), -1)
        assert all(len(set(step)) == instruction_depth(depth, element_bytes) for step in k)
        assert set(k.flat) == set(range(depth))


def are_in_different_banks(shared: SharedLayout, rows: list[tuple[int, int]]) -> bool:
    """Whether rows of 16 bytes use all 32 banks once."""
    offsets = [shared.offset(*row) for row in rows]
    return all(offset % 16 == 0 for offset in offsets) and len({offset // 16 % 8 for offset in offsets}) == len(rows)


@pytest.mark.parametrize("depth", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("contiguous", [0, 1])
def test_rows_of_a_matrix_are_in_different_banks(depth, contiguous):
    """Eight rows of 16 bytes along K, or along M for a transposed load."""
    rows = 64
    shared = SharedLayout((rows, depth), 2, contiguous, swizzle_for(2 * (depth if contiguous else rows)))
    for first, k in itertools.product(range(0, rows, 8), range(0, depth, 8)):
        assert are_in_different_banks(shared, [(first + i, k) if contiguous else (first, k + i) for i in range(8)])


@pytest.mark.parametrize("rows", [16, 32, 64, 256])
def test_rows_of_a_matrix_of_paired_bytes_are_in_different_banks(rows):
    """Elements 4i and 4i + 1 along K, for i of 2 and 3 elements 4i + 2 and 4i + 3; then the others."""
    shared = SharedLayout((rows, 64), 1, 0, swizzle_for(rows))
    for first, k, exchanged in itertools.product(range(0, rows, 16), range(0, 64, 16), (0, 2)):
        along_k = [k + 4 * i + (j | (2 * (i // 2) ^ exchanged)) for i in range(4) for j in range(2)]
        assert are_in_different_banks(shared, [(first, each) for each in along_k])
