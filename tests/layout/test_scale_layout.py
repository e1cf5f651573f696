"""Scale factors in shared memory: atoms of 128 rows by four factors, as PTX ISA 9.7.16.10.7 draws them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilec.errors import VerificationError
from tilec.lowering.layout.scale_layout import MetadataLayout, ScaleLayout, is_scale_layout, parse_scale_layout


def atoms(rows: int, factors: int) -> np.ndarray:
    """The byte offset of factor k of row r: array [r, k]."""
    groups, records = -(-rows // 128), -(-factors // 4)
    offsets = np.arange(groups * records * 512).reshape(groups, records, 32, 4, 4)
    return offsets.transpose(0, 3, 2, 1, 4).reshape(groups * 128, records * 4)[:rows, :factors]


@pytest.mark.parametrize("shape", [(128, 4), (256, 8), (64, 2), (16, 1)], ids=str)
@pytest.mark.parametrize("depth", [0, 1])
def test_offsets_are_those_of_the_manual(shape, depth):
    rows, factors = shape
    layout = ScaleLayout(shape if depth else (factors, rows), depth)
    expected = atoms(rows, factors)
    if not depth:
        expected = expected.T
    found = [layout.matrix(index) for index in range(rows * factors)]
    np.testing.assert_array_equal(found, expected.ravel())


@pytest.mark.parametrize("shape", [(128, 4), (256, 8), (64, 2), (16, 1)], ids=str)
def test_copies_fill_all_atoms(shape):
    layout = ScaleLayout(shape, 1)
    elements = range(shape[0] * shape[1])
    written = sorted(copy + layout.matrix(index) for copy, index in itertools.product(layout.copies, elements))
    assert written == list(range(layout.size_bytes))


def test_atoms_of_256_rows_are_consecutive_columns():
    """One instruction of 256 columns reads the factors of one k from eight consecutive columns."""
    layout = ScaleLayout((8, 256), 0)
    assert [layout.atom_column(group, record) for record in range(2) for group in range(2)] == [0, 4, 8, 12]
    assert [layout.atom_offset(group, record) for group in range(2) for record in range(2)] == [0, 512, 1024, 1536]
    assert (layout.columns, layout.size_bytes) == (16, 2048)


def test_text():
    assert parse_scale_layout("scale_factors depth=0", (4, 128)) == ScaleLayout((4, 128), 0)
    assert str(ScaleLayout((4, 128), 0)) == "scale_factors depth=0"
    with pytest.raises(VerificationError, match="expected a layout like 'scale_factors depth=1', got 'lanes=128'"):
        parse_scale_layout("lanes=128", (128, 4))
    with pytest.raises(VerificationError, match=r"scale factors are a matrix, got shape \(2, 128, 4\)"):
        parse_scale_layout("scale_factors depth=1", (2, 128, 4))


def test_metadata_in_shared_and_tensor_memory() -> None:
    """Four words of a row are adjacent, then come those of the next row; atoms along the rows are adjacent."""
    layout = MetadataLayout((256, 8))
    assert (str(layout), layout.size_bytes, layout.columns, layout.copies) == ("sparse_metadata", 8192, 16, (0,))
    assert parse_scale_layout("sparse_metadata", (256, 8)) == layout and is_scale_layout("sparse_metadata")
    assert [layout.offset(*at) for at in [(0, 1), (1, 0), (128, 0), (0, 4), (255, 7)]] == [4, 16, 2048, 4096, 8188]
    assert [layout.column(*at) for at in [(0, 1), (1, 0), (0, 4), (1, 7)]] == [1, 4, 8, 15]
    # The one word of a row is in all columns of its atom.
    assert MetadataLayout((128, 1)).copies == (0, 4, 8, 12)
