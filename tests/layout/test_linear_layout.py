"""Linear layouts: their map to coordinates, their text, and their transformations."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import VerificationError
from tilec.lowering.layout.bit_matrix import BitMatrix, complement, intersection
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout

TEXT = "register=(0,1)(0,2)(2,0) lane=(0,4)(0,8)(0,16)(0,32)(1,0) warp=(4,0)(8,0) shape=16x64"


def coordinates(layout: LinearLayout) -> tuple[np.ndarray, ...]:
    """Coordinates of each element, indexed by [register, lane, warp]."""
    register, lane, warp = np.ogrid[: layout.register_count, :32, : layout.warps]
    return layout.apply(register, lane, warp)


def test_bases_add_by_xor():
    layout = parse_layout(TEXT)
    assert layout.apply(0b011, 0b10010, 0b10) == (1 ^ 8, 1 ^ 2 ^ 8)


def test_text_is_canonical():
    assert str(parse_layout(TEXT)) == TEXT
    scalar = LinearLayout((), ((),) * 5, (), ())
    assert str(scalar) == "register=none lane=()()()()() warp=none shape=scalar"
    assert parse_layout(str(scalar)) == scalar


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lane=(1) register=(2) warp=none shape=4", "expected a layout like"),
        ("register=(1) lane=(0)(0)(0)(0)(0) warp=none shape=3", "powers of two"),
        ("register=(4) lane=(0)(0)(0)(0)(0) warp=none shape=4", "outside shape"),
        ("register=(1) lane=(0) warp=none shape=4", "5 lane bases"),
    ],
)
def test_bad_text_is_refused(text, reason):
    with pytest.raises(VerificationError, match=reason):
        parse_layout(text)


def test_blocked_contains_each_element_once():
    layout = blocked((16, 64), 4, 1, 4)
    rows, columns = coordinates(layout)
    assert sorted((rows * 64 + columns).ravel()) == list(range(16 * 64))
    assert str(layout) == TEXT


def test_blocked_replicates_a_tile_with_fewer_elements_than_threads():
    layout = blocked((64,), 4)
    (columns,) = coordinates(layout)
    assert columns.shape == (1, 32, 4)
    assert (np.bincount(columns.ravel()) == 2).all()
    assert layout.is_surjective
    assert layout.free_thread_mask == 0b10_00000


def test_project_drop_transpose():
    layout = parse_layout(TEXT)
    rows, columns = coordinates(layout)
    assert (coordinates(layout.project(0))[1] == columns).all() and not coordinates(layout.project(0))[0].any()
    assert (coordinates(layout.drop(0))[0] == columns).all()
    assert (coordinates(layout.keep(1))[0] == columns).all()
    transposed = coordinates(layout.transpose((1, 0)))
    assert (transposed[0] == columns).all() and (transposed[1] == rows).all()


def test_reshape_preserves_row_major_indices():
    rows, columns = coordinates(parse_layout(TEXT))
    a, b, c = coordinates(parse_layout(TEXT).reshape((4, 32, 8)))
    assert ((a * 32 + b) * 8 + c == rows * 64 + columns).all()


def test_projected_registers_have_representatives():
    layout = parse_layout(TEXT).project(1)
    assert layout.free_register_mask == 0b011
    assert layout.representatives == (0, 0, 0, 0, 4, 4, 4, 4)


def test_right_inverse():
    wide = BitMatrix((0b01, 0b11, 0b10), 2)
    assert wide @ wide.right_inverse() == BitMatrix.identity(2)
    assert [wide(vector) for vector in wide.kernel()] == [0]
    with pytest.raises(ValueError):
        BitMatrix((0b0110, 0b0011, 0b1000), 4).right_inverse()


def test_diagonals_compute_the_map():
    matrix = BitMatrix((0b100, 0b1001, 0b10000), 5)
    for value in range(8):
        parts = [
            (value & mask) << shift if shift >= 0 else (value & mask) >> -shift
            for shift, mask in matrix.diagonals().items()
        ]
        assert np.bitwise_xor.reduce(parts) == matrix(value)


def test_intersection_and_complement():
    assert intersection((0b0011, 0b0100), (0b0111, 0b1000), 4) == (0b0111,)
    assert complement((0b11, 0b100), 4) == (0b1, 0b1000)
