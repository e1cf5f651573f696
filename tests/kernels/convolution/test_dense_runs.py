"""Convolutions whose multiplies read the rows of each tap inside of a run in shared memory equal numpy's in integers.

With the hints convolution="run" and allow_unconfirmed, the matrix descriptor of a tap starts at its first row. On
sm_100a multiplies skip rows of the product that would read the row of another image; on sm_90a padding is in the run.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from compare import SEEDS
from convolution_cases import (
    PARAMETERS,
    RUN_PARAMETERS,
    Case,
    Problem,
    assert_exact_everywhere,
    covering_cases,
    integer_problem,
    kernel_of,
    on_targets,
    signature_of,
)
from direct_convolution import conv_forward
from test_image_runs import fits, is_run

import tilec
import tilec as ct
from tilec.errors import UnsupportedError
from tilec.lowering.target import TARGETS

COUNT = 120
HINTS = {"convolution": "run", "allow_unconfirmed": True}
# The rows of an instruction, which have one row of images, or eight pixels of each.
WIDTHS = (8, 64, 128, 256)
DENSE: dict[str, tuple[Any, ...]] = RUN_PARAMETERS | {
    "mode": (None,),
    "window": (2, 3, 4, 5, 6, 7),
    "outputs": (*WIDTHS, 5, 23, 57),
    "images": (1, 2, 3),
    "kind": tuple(PARAMETERS["kind"]),
}
INSIDE = re.compile(r"(?:wgmma|tcgen05_mma) (?:(?!tile_gpu).)*? shifted (\d+)(?: every (\d+) by (\d+))?")


CASES = covering_cases(COUNT, DENSE, lambda row: is_run(row | {"mode": "run"}))
RUNS = on_targets(CASES)


def compiled(problem: Problem, target: str) -> tilec.Compiled:
    signature = signature_of(problem.case, problem.arguments())
    return tilec.compile(kernel_of(problem.case), target=target, signature=signature, hints=HINTS, stop="ptx")


def rows_read(kernel: tilec.Compiled) -> list[tuple[str, str, str]]:
    """The first row of each multiply that reads rows in place, the rows of an image and those to the next one."""
    return INSIDE.findall(text_of(kernel))


def text_of(kernel: tilec.Compiled) -> str:
    """The kernel in tile_gpu, in one line."""
    return re.sub(r"\s+", " ", kernel.stage("gpu").content(False).decode())


def is_in_place(case: Case, target: str) -> bool:
    """Whether multiplies read the rows of each tap in the run, as far as geometry and unit permit it."""
    outputs, rows = max(1, case.output_extents()[-1]), case.pixel_tile
    row_bytes = case.channel_tile * np.dtype(case.dtype).itemsize
    if row_bytes < 32:
        return False
    multiplied = min(rows, TARGETS[target].multiplied_rows)
    if outputs % rows == 0 or rows % outputs == 0 and (outputs % multiplied == 0 or outputs == 8):
        return True
    is_whole = case.stride * outputs >= case.spatial_extents()[-1] and case.padding[0] <= outputs * case.stride
    return target == "sm_100a" and rows % 128 == 0 and is_whole


def check(case: Case, target: str, seeds: Any) -> None:
    problem = integer_problem(case)
    try:
        kernel = compiled(problem, target)
    except UnsupportedError:
        assert not fits(case)
        return
    found = rows_read(kernel)
    if is_in_place(case, target) and fits(case):
        remarks = [remark.message for remark in kernel.all_remarks if "threads read the rows" in remark.message]
        assert found or any("its runs have" in message for message in remarks), remarks
    assert_exact_everywhere(problem, kernel, seeds)


@pytest.mark.parametrize(("case", "target"), RUNS)
def test_one_seed(case: Case, target: str) -> None:
    check(case, target, SEEDS[1:2])


@pytest.mark.parametrize(("case", "target"), RUNS)
def test_ten_seeds(case: Case, target: str) -> None:
    check(case, target, SEEDS[:10])


@pytest.mark.parametrize("target", TARGETS)
def test_most_cases_are_in_place(target: str) -> None:
    assert len(set(CASES)) == COUNT
    inside = [case for case in CASES if is_in_place(case, target) and fits(case)]
    assert len(inside) >= COUNT // 3
    assert {(case.stride, case.dilation) for case in inside} == set(product((1, 2, 3), (1, 2, 3)))
    assert {case.window for case in inside} == {2, 3, 4, 5, 6, 7} and {case.rank for case in inside} == {1, 2, 3}
    assert {case.kind for case in inside} == set(PARAMETERS["kind"])


@ct.kernel
def layer(X, F, Y, rows: ct.Constant[int], columns: ct.Constant[int], stride: ct.Constant[int]):
    images = ct.im2col_view(X, window=(3, 3), padding=1, stride=stride, tile=(rows, 64))
    i, total = ct.bid(0), ct.zeros((rows, columns), ct.float32)
    for r in range(3):
        for s in range(3):
            for c in range(images.num_tiles(1)):
                w = ct.load(F, (r, s, c, 0), (1, 1, 64, columns), padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(ct.load(images, (i, c), offset=(r, s)), w.reshape((64, columns)), total)
    ct.store(ct.im2col_view(Y, window=1, tile=(rows, columns)), (i, 0), total)


def of_layer(
    target: str, width: int, rows: int = 128, hints: dict[str, Any] = HINTS, stride: int = 1, columns: int = 32
) -> tilec.Compiled:
    output = -(-width // stride)
    shapes = f"X: f16[7,3,{width},72], F: f16[3,3,72,{columns}], Y: f32[7,{-(-3 // stride)},{output},{columns}]"
    signature = f"{shapes}, rows={rows}, columns={columns}, stride={stride}"
    return tilec.compile(layer, target=target, signature=signature, hints=hints, stop="ptx")


def check_layer(kernel: tilec.Compiled, width: int, rows: int, stride: int = 1, columns: int = 32) -> None:
    random = np.random.default_rng(width)
    x = random.integers(-3, 4, (7, 3, width, 72)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 72, columns)).astype(np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=stride, dilation=1, padding=1)
    for seed in (0, 1):
        y = np.full(exact.shape, 99, np.float32)
        blocks = -(-exact[..., 0].size // rows)
        tilec.run(kernel, (blocks,), (x, f, y, rows, columns, stride), backend="simulate", seed=seed)
        np.testing.assert_array_equal(y, exact)


# Rows of images, and the rows of the run of each tap: its first row, the pixels of a row, the rows to the next one.
PLACES = [
    ("sm_90a", 64, 128, [("0", "64", "66"), ("1", "64", "66"), ("2", "64", "66")]),
    ("sm_90a", 8, 64, [("0", "8", "10"), ("1", "8", "10"), ("2", "8", "10")]),
    ("sm_90a", 128, 128, [("0", "", ""), ("1", "", ""), ("2", "", "")]),
    ("sm_100a", 128, 128, [("0", "", ""), ("1", "", ""), ("2", "", "")]),
    ("sm_100a", 8, 128, [("0", "8", "10"), ("1", "8", "10"), ("2", "8", "10")]),
    ("sm_100a", 128, 256, [("0", "128", "130"), ("1", "128", "130"), ("2", "128", "130")]),
    # With masks: rows of images follow each other.
    ("sm_100a", 64, 128, [("0", "", ""), ("1", "", ""), ("2", "", "")]),
    ("sm_100a", 13, 256, [("0", "", ""), ("1", "", ""), ("2", "", "")]),
]


@pytest.mark.parametrize(("target", "width", "rows", "places"), PLACES, ids=str)
def test_rows_of_each_tap(target: str, width: int, rows: int, places: list[tuple[str, str, str]]) -> None:
    """One copy has the pixels of all taps, and no thread reads it."""
    kernel = of_layer(target, width, rows)
    assert rows_read(kernel) == places
    text = text_of(kernel)
    assert kernel.ptx.count(".im2col.") == 1 and "load_shared_rows" not in text
    # Pixels with all that their taps read need no mask; of others the first and the last tap skip rows.
    assert text.count(" skip [") == (2 if target == "sm_100a" and width in (64, 13) else 0)
    check_layer(kernel, width, rows)


@pytest.mark.parametrize(
    "hints",
    [
        {"roles": False},
        {"pipeline": False},
        {"stages": 1},
        {"warps": 8},
        {"num_ctas": 2},
        {"num_ctas": 4},
        {"occupancy": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("target", TARGETS)
def test_options(target: str, hints: dict[str, Any]) -> None:
    rows = 128 * hints.get("num_ctas", 1)
    kernel = of_layer(target, 64, rows, HINTS | hints)
    assert rows_read(kernel)
    check_layer(kernel, 64, rows)


@pytest.mark.parametrize("width", [9, 64, 128])
def test_pairs_skip_the_rows_of_both_blocks(width: int) -> None:
    """The leader's multiply has the words of its rows, and those of the other block, whose pixels follow."""
    kernel = of_layer("sm_100a", width, 256, HINTS | {"num_ctas": 2})
    text = text_of(kernel)
    assert "tcgen05_mma f16 pair" in text and rows_read(kernel)
    skips = re.findall(r"skip \[([^\]]*)\]", text)
    assert [len(words.split(",")) for words in skips] == ([] if width == 128 else [8, 8])
    check_layer(kernel, width, 256)


def test_blocks_of_256_rows_are_no_pairs_that_skip_rows() -> None:
    """Each block skips the rows of both of its instructions, and loads a part of the filters for the other one."""
    kernel = of_layer("sm_100a", 9, 512, HINTS | {"num_ctas": 2})
    assert "tcgen05_mma f16 pair" not in text_of(kernel) and rows_read(kernel)
    reason = "rows are skipped, which a pair does by 8 words for 128 rows per block"
    assert any(reason in each.message for each in kernel.all_remarks)
    check_layer(kernel, 9, 512)


@ct.kernel
def two_products(X, F, Y, Z):
    """Two products read each tile of the images."""
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(128, 64))
    i, first, second = ct.bid(0), ct.zeros((128, 32), ct.float32), ct.zeros((128, 32), ct.float32)
    for r in range(3):
        for s in range(3):
            pixels = ct.load(images, (i, 0), offset=(r, s))
            first = ct.mma(pixels, ct.load(F, (r, s, 0, 0), (1, 1, 64, 32)).reshape((64, 32)), first)
            second = ct.mma(pixels, ct.load(F, (r, s, 0, 1), (1, 1, 64, 32)).reshape((64, 32)), second)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 32)), (i, 0), first)
    ct.store(ct.im2col_view(Z, window=1, tile=(128, 32)), (i, 0), second)


@pytest.mark.parametrize(("target", "width"), [("sm_100a", 9), ("sm_100a", 128), ("sm_90a", 64), ("sm_90a", 128)])
def test_two_products_of_a_tap(target: str, width: int) -> None:
    random = np.random.default_rng(width)
    x = random.integers(-3, 4, (3, 3, width, 64)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 64, 64)).astype(np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    shape = f"f32[3,3,{width},32]"
    signature = f"X: f16[3,3,{width},64], F: f16[3,3,64,64], Y: {shape}, Z: {shape}"
    kernel = tilec.compile(two_products, target=target, signature=signature, hints=HINTS, stop="ptx")
    assert len(rows_read(kernel)) == 6 and kernel.ptx.count(".im2col.") == 1
    y, z = (np.full((3, 3, width, 32), 99, np.float32) for _ in range(2))
    tilec.run(kernel, (-(-9 * width // 128),), (x, f, y, z), backend="simulate", seed=1)
    np.testing.assert_array_equal(np.concatenate([y, z], axis=-1), exact)


@pytest.mark.parametrize("target", TARGETS)
def test_taps_of_a_stride_share_a_run(target: str) -> None:
    """Taps 0 and 2 of stride 2 read every second pixel from one row and the next, tap 1 those between."""
    kernel = of_layer(target, 128, 128, stride=2)
    assert kernel.ptx.count(".im2col.") == 2 and len(rows_read(kernel)) == 3
    check_layer(kernel, 128, 128, stride=2)


def remarks_of(kernel: tilec.Compiled) -> list[str]:
    return [remark.message for remark in kernel.all_remarks if remark.topic == "convolution"]


# Why threads read the rows of a tap.
CROSSED = "{} rows of an instruction have pixels of several rows of 9 output pixels; multiplies "
REASONS = [
    ("sm_90a", 9, 128, f"array and tile: {CROSSED.format(64)}of sm_100a skip those that read padding with hint conv"),
    (
        "sm_100a",
        9,
        64,
        f"array, padding and tile: {CROSSED.format(64)}that skip rows expect a multiple of 128 pixels of",
    ),
    ("sm_100a", 32, 32, "tile: the multiply is done by mma.sync, which reads no rows of a run"),
]


@pytest.mark.parametrize(("target", "width", "rows", "reason"), REASONS)
def test_threads_read_rows_that_are_not_in_place(target: str, width: int, rows: int, reason: str) -> None:
    """A remark says why."""
    kernel = of_layer(target, width, rows)
    assert not rows_read(kernel) and "load_shared_rows" in text_of(kernel)
    assert f"threads read the rows of the multiply from the run: {reason}" in remarks_of(kernel)[0]
    check_layer(kernel, width, rows)


@pytest.mark.parametrize("target", TARGETS)
def test_descriptors_are_not_moved_without_the_hint(target: str) -> None:
    """No public kernel starts a descriptor at any row: without allow_unconfirmed, threads read the rows."""
    kernel = of_layer(target, 64, hints={"convolution": "run"})
    assert not rows_read(kernel) and not kernel.artifact.metadata.allow_unconfirmed
    assert of_layer(target, 64).artifact.metadata.allow_unconfirmed


def test_rows_are_skipped_only_by_the_hint_run() -> None:
    """Skipped products give other results of infinite filters, so that the compiler alone does not choose them."""
    kernel = of_layer("sm_100a", 64, hints={"allow_unconfirmed": True})
    assert not rows_read(kernel) and " skip [" not in text_of(kernel)
    # Padding in the run needs no mask.
    assert len(rows_read(of_layer("sm_100a", 128, hints={"allow_unconfirmed": True}, columns=128))) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_infinite_filters(target: str) -> None:
    """Padding in the run is multiplied; rows that multiplies skip are not."""
    x = np.ones((1, 1, 128, 72), np.float16)
    f = np.full((3, 3, 72, 32), np.inf, np.float16)
    y = np.zeros((1, 1, 128, 32), np.float32)
    sizes = "X: f16[1,1,128,72], F: f16[3,3,72,32], Y: f32[1,1,128,32], rows=128, columns=32, stride=1"
    kernel = tilec.compile(layer, target=target, signature=sizes, hints=HINTS, stop="ptx")
    tilec.run(kernel, (1,), (x, f, y, 128, 32, 1), backend="simulate", seed=0)
    assert np.isnan(y).all()
