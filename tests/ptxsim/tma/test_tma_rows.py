"""tile::gather4 and tile::scatter4: four rows of a matrix, chosen by index, against a model in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import TilecError
from tilec.runtime.ptxsim import _native as ptxsim

SETUP = """
.shared .align 1024 .b8 tile[1024];
.shared .align 8 .b64 full;
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, tile;
mov.u32 %r2, full;
ld.param.u64 %rd0, [p1];
shl.b32 %r3, %r0, 4;
add.u32 %r4, %r1, %r3;
cvt.u64.u32 %rd1, %r3;
add.u64 %rd2, %rd0, %rd1;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
# Two copies of four rows each; then each of 64 threads stores 16 bytes of the image to p1.
GATHER = """
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes \
    [%r1], [%rd20, {{{column}, {first}}}], [%r2];
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes \
    [%r1+{half}], [%rd20, {{{column}, {second}}}], [%r2];
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
@!%p1 bra poll;
ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r4];
st.global.v4.b32 [%rd2], {{%r10, %r11, %r12, %r13}};
"""
SCATTER = """
ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd2];
st.shared.v4.b32 [%r4], {{%r10, %r11, %r12, %r13}};
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd20, {{{column}, {first}}}], [%r1];
@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group \
    [%rd20, {{{column}, {second}}}], [%r1+{half}];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group 0;
"""
# 1024 bytes: 8 rows by the swizzle, whose span is a row.
SWIZZLES = {"none": 0, "32B": 1, "64B": 3, "128B": 7}
ROW_ELEMENTS = {"none": 64, "32B": 16, "64B": 32, "128B": 64}
EXTENTS = (100, 20)


@pytest.fixture
def matrix(aligned) -> np.ndarray:
    return aligned(np.arange(20 * 104, dtype=np.uint16).reshape(20, 104))


@pytest.fixture
def map_of(encode_tensor_map):
    def make(matrix: np.ndarray, swizzle: str, rows: int = 1):
        box = (ROW_ELEMENTS[swizzle], rows)
        return encode_tensor_map(matrix.ctypes.data, "u16", extents=EXTENTS, strides=(208,), box=box, swizzle=swizzle)

    return make


def places(swizzle: str) -> np.ndarray:
    """Where the image has element (row, column) of 8 rows: PTX ISA 5.5.7, an exclusive or of byte addresses."""
    width = ROW_ELEMENTS[swizzle]
    address = 2 * np.arange(8 * width).reshape(8, width)
    return (address ^ ((address >> 7 & SWIZZLES[swizzle]) << 4)) // 2


def body(text: str, swizzle: str, column: int, rows: list[int]) -> str:
    half = 8 * ROW_ELEMENTS[swizzle]
    first, second = (", ".join(map(str, part)) for part in (rows[:4], rows[4:]))
    return SETUP + text.format(bytes=2 * half, half=half, column=column, first=first, second=second)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("column", [0, 8, 56, 96, 104, -8])
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_gathered_rows(simulate, matrix, map_of, aligned, swizzle, column, seed):
    """PTX ISA 5.5.3.4: rows and columns outside the tensor are zero."""
    rows = [3, 19, 20, -1, 3, 0, 2**31 - 1, 7]
    padded = np.zeros((21, 400), np.uint16)
    padded[:20, 100:200] = matrix[:, :100]
    chosen = [row if 0 <= row < 20 else 20 for row in rows]
    width = ROW_ELEMENTS[swizzle]
    expected = np.zeros(512, np.uint16)
    expected[places(swizzle)] = padded[chosen, 100 + column : 100 + column + width]
    # Shared memory that no copy writes is undefined, so only the image is read.
    image = aligned(np.zeros(8 * width, np.uint16))
    threads = width
    simulate(
        body(GATHER, swizzle, column, rows), map_of(matrix, swizzle), image, block=threads, map_targets=[matrix],
        seed=seed,
    )  # fmt: skip
    np.testing.assert_array_equal(image, expected[: 8 * width])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("column", [0, 8, 96])
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_scattered_rows(simulate, matrix, map_of, aligned, swizzle, column, seed):
    """PTX ISA 5.5.3.4: rows and columns outside the tensor are dropped; columns in units of 16 bytes, as on H200."""
    rows = [3, 19, 20, 5, 11, 0, 2**31 - 1, 7]
    width = ROW_ELEMENTS[swizzle]
    written = 5000 + np.arange(8 * width, dtype=np.uint16).reshape(8, width)
    image = aligned(np.zeros(8 * width, np.uint16))
    image[places(swizzle)] = written
    # The last 4 columns of a row of 104 are beyond the tensor, in the 16 bytes of its last 4: the checks report it.
    expected, end = matrix.copy(), min(column + width, 104)
    for row, values in zip(rows, written, strict=True):
        if row < 20:
            expected[row, column:end] = values[: end - column]
    simulate(
        body(SCATTER, swizzle, column, rows), map_of(matrix, swizzle), image, block=width, map_targets=[matrix],
        seed=seed, checks=end <= 100,
    )  # fmt: skip
    np.testing.assert_array_equal(matrix, expected)


ROWS = [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("text", "column", "rows", "box_rows", "message"),
    [
        (GATHER, 4, ROWS, 1, "expected the column of gather4 at a multiple of 16 bytes, got 8"),
        (GATHER, 0, ROWS, 2, "expected a box of one row for gather4 and scatter4, got 2"),
        (SCATTER, 0, [-1, *ROWS[1:]], 1, "expected coordinates of at least 0 in a tensor store, got -1 in dimension 1"),
        (SCATTER, -8, ROWS, 1, "expected coordinates of at least 0 in a tensor store, got -8 in dimension 0"),
    ],
)
def test_invalid_copy_is_reported(simulate, matrix, map_of, aligned, text, column, rows, box_rows, message):
    """PTX ISA 5.5.3.4.1: a box has one row; 9.7.9.27.1.1: the coordinates of a store are not negative."""
    image = aligned(np.zeros(8 * 64, np.uint16))
    with pytest.raises(ptxsim.Trap, match=message):
        simulate(
            body(text, "128B", column, rows), map_of(matrix, "128B", box_rows), image, block=64, map_targets=[matrix]
        )


@pytest.mark.parametrize(("text", "mode", "other"), [(GATHER, "gather4", "scatter4"), (SCATTER, "scatter4", "gather4")])
def test_each_mode_has_one_direction(simulate, matrix, map_of, aligned, text, mode, other):
    image = aligned(np.zeros(8 * 64, np.uint16))
    with pytest.raises((ptxsim.Trap, TilecError, ValueError), match=other):
        simulate(
            body(text, "128B", 0, ROWS).replace(mode, other), map_of(matrix, "128B"), image, block=64,
            map_targets=[matrix],
        )  # fmt: skip
