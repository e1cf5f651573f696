"""The CTAs of a cluster divide the pixels of a convolution and load the filters for each other; results equal numpy's.

Integers are compared bit for bit, for tiles that end inside of an image and after the last one.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import backends
from convolution_cases import Case, assert_exact_everywhere, integer_problem, kernel_of, signature_of
from direct_convolution import conv_forward

import tilec
import tilec as ct
from tilec.errors import UnsupportedError
from tilec.lowering.target import TARGETS

ZERO = ct.PaddingMode.ZERO
ALLOWED = {"allow_unconfirmed": True}


@ct.kernel
def convolution(
    X, F, Y, window: ct.Constant[tuple], stride: ct.Constant[int], dilation: ct.Constant[int],
    padding: ct.Constant[tuple], rows: ct.Constant[int], columns: ct.Constant[int], depth: ct.Constant[int],
    mode: ct.Constant[str],
):  # fmt: skip
    pixels = ct.im2col_view(X, window, stride=stride, dilation=dilation, padding=padding, tile=(rows, depth), mode=mode)
    result = ct.im2col_view(Y, window=1, tile=(rows, columns))
    i, k, total = ct.bid(0), ct.bid(1), ct.zeros((rows, columns), ct.float32)
    for r in range(window[0]):
        for s in range(window[1]):
            for c in range(pixels.num_tiles(1)):
                w = ct.load(F, (r, s, c, k), (1, 1, depth, columns), padding_mode=ZERO).reshape((depth, columns))
                total = ct.mma(ct.load(pixels, (i, c), offset=(r, s)), w, total)
    ct.store(result, (i, k), total.astype(Y.dtype))


# Window, stride, dilation, padding; number, height, width and channels of the images; filters.
GEOMETRY = {
    "whole tiles": ((3, 3), 1, 1, ((1, 1), (1, 1)), 4, 8, 32, 64, 64),
    "rows of 9, a part of a tile left": ((3, 3), 1, 1, ((1, 1), (1, 1)), 3, 5, 9, 72, 64),
    "less than one CTA": ((3, 3), 1, 1, ((1, 1), (1, 1)), 1, 3, 7, 40, 64),
    "one CTA of the last tile is empty": ((1, 3), 1, 1, ((0, 0), (1, 1)), 3, 4, 32, 64, 96),
    "stride and dilation": ((3, 2), 2, 3, ((1, 2), (0, 3)), 5, 17, 21, 64, 128),
    "taps along H alone": ((3, 1), 1, 1, ((1, 1), (0, 0)), 3, 11, 13, 64, 64),
}
TILES = {(256, 64): 2, (512, 64): 4, (256, 128): 2}


def arguments_of(case: str, kind: Any = np.float16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, filters, and the convolution of them."""
    window, stride, dilation, padding, images, height, width, channels, filters = GEOMETRY[case]
    random = np.random.default_rng(len(case))
    x = random.integers(-3, 4, (images, height, width, channels)).astype(kind)
    f = random.integers(-3, 4, (*window, channels, filters)).astype(kind)
    return x, f, conv_forward(x, f.transpose(3, 0, 1, 2), stride=stride, dilation=dilation, padding=padding)


def compiled(case: str, target: str, rows: int, columns: int, mode: str | None, **hints: Any) -> tilec.Compiled:
    window, stride, dilation, padding, images, height, width, channels, filters = GEOMETRY[case]
    _, _, exact = arguments_of(case)
    shapes = f"X: f16[{images},{height},{width},{channels}], F: f16[{window[0]},{window[1]},{channels},{filters}]"
    result = f"Y: f32[{','.join(map(str, exact.shape))}]"
    constants = f"window={window}, stride={stride}, dilation={dilation}, padding={padding}"
    tile = f"rows={rows}, columns={columns}, depth=64, mode={mode!r}"
    signature = f"{shapes}, {result}, {constants}, {tile}"
    return tilec.compile(convolution, target=target, signature=signature, hints=hints, stop="ptx")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["im2col", "run"])
@pytest.mark.parametrize(("rows", "columns"), TILES)
@pytest.mark.parametrize("case", GEOMETRY)
def test_clusters(case: str, rows: int, columns: int, mode: str, target: str) -> None:
    """Each CTA has a part of the pixels. A part after the last image is empty."""
    x, f, exact = arguments_of(case)
    kernel = compiled(case, target, rows, columns, mode, num_ctas=TILES[rows, columns])
    assert not [remark for remark in kernel.all_remarks if "num_ctas" in remark.message]
    tiles = -(-exact[..., 0].size // rows), -(-exact.shape[-1] // columns)
    constants = (*GEOMETRY[case][:4], rows, columns, 64, mode)
    for backend, settings in backends([3]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, tiles, (x, f, result, *constants), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("mode", ["im2col", "run"])
def test_filters_are_loaded_once(mode: str) -> None:
    """CTAs multiply in pairs on sm_100a, and send each other the halves of the filters on sm_90a."""
    pairs = compiled("whole tiles", "sm_100a", 256, 64, mode, num_ctas=2).ptx
    assert re.findall(r"tcgen05\.mma\.cta_group::(\d)", pairs) and "tcgen05.mma.cta_group::1" not in pairs
    assert "multicast::cluster" in compiled("whole tiles", "sm_90a", 256, 64, mode, num_ctas=2).ptx


def test_run_is_one_copy_in_each_cta() -> None:
    """All taps of a part of a tile share its run, as the taps of a whole tile do."""
    for target in TARGETS:
        whole = compiled("whole tiles", target, 128, 64, "run").ptx
        divided = compiled("whole tiles", target, 256, 64, "run", num_ctas=2).ptx
        assert divided.count(".im2col.") == whole.count(".im2col.")


def test_model_takes_pairs() -> None:
    """Pairs of CTAs multiply 256x256 tiles of sm_100a without num_ctas, as for a matrix product."""
    x = "X: f16[8,28,28,256], F: f16[3,3,256,256], Y: f16[8,28,28,256]"
    geometry = "window=(3, 3), stride=1, dilation=1, padding=((1, 1), (1, 1))"
    constants = f"{geometry}, rows=256, columns=256, depth=64, mode=None"
    for hint in ("im2col", "run"):
        hints = {"convolution": hint}
        kernel = tilec.compile(convolution, target="sm_100a", signature=f"{x}, {constants}", hints=hints, stop="ptx")
        assert "tcgen05.mma.cta_group::2" in kernel.ptx


@ct.kernel
def by_rows(X, F, Y, rows: ct.Constant[int], columns: ct.Constant[int], mode: ct.Constant[str]):
    pixels = ct.im2col_view(X, 3, padding=1, tile=(rows, 64), mode=mode)
    i, k, total = ct.bid(0), ct.bid(1), ct.zeros((rows, columns), ct.float32)
    for r in range(3):
        for s in range(3):
            for c in range(pixels.num_tiles(1)):
                w = ct.load(F, (r, s, c, k), (1, 1, 64, columns), padding_mode=ZERO).reshape((64, columns))
                total = ct.mma(ct.load(pixels, (i, c), offset=(r, s)), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(rows, columns), mode=mode), (i, k), total)


# Images by the parts that a row of all of them has; of 128 pixels: 1, 2, 3, and 2 of 128 each.
ROWS_OF_IMAGES = {
    "less than a part": (9, 3, 9, 64),
    "two parts, the last one not whole": (16, 2, 13, 40),
    "three parts": (29, 2, 9, 72),
    "whole tiles": (16, 3, 16, 64),
}
# Mode, pixels of a tile, and CTAs.
DIVISIONS = [
    ("w", 256, 2), ("w", 512, 4), ("w", 256, 4), ("w128", 256, 2), ("stationary", 256, 2), ("stationary", 512, 4),
    ("weights", 128, 2), ("weights", 256, 2), ("weights", 256, 4),
]  # fmt: skip


def compiled_rows(shapes: str, rows: int, mode: str, columns: int = 64, **hints: Any) -> tilec.Compiled:
    signature = f"{shapes}, rows={rows}, columns={columns}, mode={mode!r}"
    return tilec.compile(by_rows, target="sm_100a", signature=signature, hints=ALLOWED | hints, stop="ptx")


@pytest.mark.parametrize(("mode", "rows", "ctas"), DIVISIONS)
@pytest.mark.parametrize("case", ROWS_OF_IMAGES)
def test_tiles_that_end_with_a_row(case: str, mode: str, rows: int, ctas: int) -> None:
    """The last tile of a row may have fewer parts than CTAs. The other CTAs have no pixels, not those of the next row.

    Images that stay in tensor memory, and filters that are the first operand, are multiplied in each CTA. Each loads a
    part of the filters for all.
    """
    images, height, width, channels = ROWS_OF_IMAGES[case]
    random = np.random.default_rng(len(case))
    x = random.integers(-3, 4, ROWS_OF_IMAGES[case]).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, channels, 64)).astype(np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    shapes = (
        f"X: f16[{images},{height},{width},{channels}], F: f16[3,3,{channels},64], Y: f32[{images},{height},{width},64]"
    )
    kernel = compiled_rows(shapes, rows, mode, num_ctas=ctas)
    assert not [remark for remark in kernel.all_remarks if "is not followed" in remark.message]
    assert ("tcgen05.mma.cta_group::2" in kernel.ptx) == (mode in ("w", "w128"))
    assert ("tcgen05.shift" in kernel.ptx) == (mode == "stationary")
    if mode in ("stationary", "weights"):
        # The filters of each of the three taps that are unrolled, and no images.
        assert (
            re.findall(r"cp\.async\.bulk\.tensor\.\dd\S*\.(\w+)\.mbarrier\S*multicast::cluster", kernel.ptx)
            == ["tile"] * 3
        )
    # The tiles of all rows but the last one.
    tiles = (height - 1) * -(-images * width // rows)
    for backend, settings in backends([4]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (tiles, 1), (x, f, result, rows, 64, mode), backend=backend, **settings)
        np.testing.assert_array_equal(result[:, :-1], exact[:, :-1])
        assert (result[:, -1] == 99).all()


@pytest.mark.parametrize("mode", ["w", "stationary", "weights"])
@pytest.mark.parametrize("rank", [1, 3])
def test_rows_of_sequences_and_volumes(rank: int, mode: str) -> None:
    """Tiles of [N, W, C] are numbered as those of all pixels, so that extents that are not known are divided, too."""
    case = Case(rank=rank, mode=mode, pixel_tile=256, channels=40, outputs=9, outer_outputs=2, outer_window=2,
                outer_padding=(0, 1), images=31, filters=40, extents="images" if rank == 1 else "static")  # fmt: skip
    problem = integer_problem(case)
    signature, hints = signature_of(case, problem.arguments()), ALLOWED | {"num_ctas": 2}
    kernel = tilec.compile(kernel_of(case), target="sm_100a", signature=signature, hints=hints, stop="ptx")
    assert "nctapercluster 2" in kernel.ptx
    assert_exact_everywhere(problem, kernel, [3])


def test_filters_and_pixels_are_divided() -> None:
    """Two CTAs divide 128 pixels, and two divide 128 filters."""
    random = np.random.default_rng(5)
    x = random.integers(-3, 4, (29, 2, 9, 72)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 72, 128)).astype(np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    shapes = "X: f16[29,2,9,72], F: f16[3,3,72,128], Y: f32[29,2,9,128]"
    kernel = compiled_rows(shapes, 128, "weights", columns=128, num_ctas=4)
    assert "nctapercluster 4" in kernel.ptx
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (6, 1), (x, f, result, 128, 128, "weights"), backend="simulate", seed=3)
    np.testing.assert_array_equal(result, exact)


def test_tile_after_the_last_row() -> None:
    """All CTAs of a block whose tile is outside of the images store nothing."""
    x, f = np.ones((9, 2, 9, 64), np.float16), np.ones((3, 3, 64, 64), np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    kernel = compiled_rows("X: f16[9,2,9,64], F: f16[3,3,64,64], Y: f32[9,2,9,64]", 256, "w", num_ctas=2)
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (5, 1), (x, f, result, 256, 64, "w"), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)


ROWS = "X: f16[9,3,9,64], F: f16[3,3,64,64], Y: f32[9,3,9,64]"
NOT_DIVIDED = {
    "unknown images": (
        (ROWS.replace("[9,3,9", "[?,3,9"), 256, "w", 2),
        "tiles of mode w end with each row of the images, the number and the width of which are not known: give them",
    ),
    "rows of w128": (
        (ROWS, 128, "w128", 2),
        "tiles of mode w128 have 128, 256, 512 or 1024 pixels, and a part of one would have 64",
    ),
    "rows that move": (
        (ROWS, 128, "stationary", 2),
        "each of 2 blocks needs at least 128 rows of each multiply, which has 128",
    ),
    "pixels of weights": (
        (ROWS, 128, "weights", 4),
        "each of 4 blocks needs at least 64 rows of each multiply, which has 128",
    ),
}


@pytest.mark.parametrize("case", NOT_DIVIDED)
def test_rows_that_are_not_divided(case: str) -> None:
    (shapes, rows, mode, ctas), reason = NOT_DIVIDED[case]
    kernel = compiled_rows(shapes, rows, mode, num_ctas=ctas)
    (remark,) = [remark.message for remark in kernel.remarks if remark.topic == "hint"]
    assert f"num_ctas={ctas} is not followed: {reason}" in remark


@pytest.mark.parametrize("hints", [{}, {"num_ctas": 4}], ids=str)
@pytest.mark.parametrize("mode", ["w128", "stationary"])
def test_blocks_of_other_than_128_pixels_are_refused(mode: str, hints: dict[str, int]) -> None:
    expected = f"mode={mode} cannot be followed: tile: im2col::w::128 loads 128 pixels for each block of a cluster, and"
    with pytest.raises(UnsupportedError, match=f"{expected} a block has 256: choose num_ctas so that it has 128"):
        compiled_rows(ROWS, 256, mode, **hints)


def test_model_takes_pairs_of_rows() -> None:
    """Pairs multiply 256 pixels of a row without num_ctas, but not those of mode weights, which have no pairs."""
    shapes = "X: f16[64,2,28,256], F: f16[3,3,256,256], Y: f32[64,2,28,256]"
    assert "tcgen05.mma.cta_group::2" in compiled_rows(shapes, 256, "w", columns=256).ptx
    assert "nctapercluster" not in compiled_rows(ROWS, 256, "weights").ptx


@ct.kernel
def slices(X, F, Y):
    pixels = ct.im2col_view(X, window=1, tile=(256, 16), interleave=8)
    total = ct.mma(ct.load(pixels, (ct.bid(0), 0)), ct.load(F, (0, 0), (16, 64)), ct.zeros((256, 64), ct.float32))
    ct.store(Y, (ct.bid(0), 0), total)


def test_slices_of_channels_are_not_divided() -> None:
    signature = "X: f16[4,2,64,8], F: f16[16,64], Y: f32[256,64]"
    kernel = tilec.compile(slices, target="sm_90a", signature=signature, hints={"num_ctas": 2}, stop="ptx")
    (remark,) = [remark.message for remark in kernel.remarks if remark.topic == "hint"]
    assert "num_ctas=2 is not followed: the channels of images are in slices" in remark


def test_runs_are_not_multiplied_by_narrow_pairs() -> None:
    """CTAs of 64 rows must multiply in pairs, but left operands in tensor memory have 128 rows."""
    assert "cta_group::2" in compiled("whole tiles", "sm_100a", 128, 64, "im2col", num_ctas=2).ptx
    kernel = compiled("whole tiles", "sm_100a", 128, 64, "run", num_ctas=2)
    (remark,) = [remark.message for remark in kernel.remarks if remark.topic == "hint"]
    assert "num_ctas=2 is not followed: blocks with 64 rows each must multiply in pairs, but TMA does not" in remark
