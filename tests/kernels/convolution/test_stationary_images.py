"""Convolutions whose images stay in tensor memory, where their rows move from tap to tap, equal numpy's.

Integers are compared bit for bit: for a covering array of configurations, for loops in any order, and for all warps,
roles and rings.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from compare import SEEDS, backends
from convolution_cases import (
    RUN_PARAMETERS,
    Case,
    Problem,
    assert_exact_everywhere,
    cases_of_other_modes,
    covering_cases,
    has_whole_rows,
    integer_problem,
    is_possible,
    kernel_of,
    signature_of,
)
from direct_convolution import conv_forward

import tilec
import tilec as ct
from tilec.errors import TilecError, UnsupportedError
from tilec.runtime.cubin.cubin import assemble
from tilec.runtime.simulate import Settings, simulate

COUNT = 120
ALLOWED = {"allow_unconfirmed": True}
STATIONARY: dict[str, tuple[Any, ...]] = RUN_PARAMETERS | {
    "mode": ("stationary",),
    "outputs": (1, 5, 11, 23, 57, 130),
    "pixel_tile": (128,),
}


def is_stationary(row: Mapping[str, Any]) -> bool:
    needed = {"mode": "stationary", "kind": "f16", "layout": "contiguous", **row}
    return has_whole_rows(row, STATIONARY) and is_possible(needed)


CASES = covering_cases(COUNT, STATIONARY, is_stationary)
NUMBERED = [pytest.param(case, id=str(number)) for number, case in enumerate(CASES)]


def compiled(problem: Problem) -> tilec.Compiled:
    signature = signature_of(problem.case, problem.arguments())
    return tilec.compile(kernel_of(problem.case), target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")


def check(case: Case, seeds: Any) -> None:
    problem = integer_problem(case)
    kernel, row_bytes = compiled(problem), case.channel_tile * np.dtype(case.dtype).itemsize
    # A tap moves the rows of another one if it reads their next pixels.
    read = {tap * case.dilation for tap in range(case.window)}
    moved = len(read & {at + case.stride for at in read})
    assert kernel.ptx.count(".im2col::w::128") == max(1, row_bytes // 128) * (case.window - moved)
    # The multiply moves the rows of each step along K but the last.
    assert kernel.ptx.count("tcgen05.shift") == moved
    assert kernel.ptx.count(".ashift") == (row_bytes // 32 - 1) * moved
    assert_exact_everywhere(problem, kernel, seeds)


def test_cases_differ() -> None:
    assert len(set(CASES)) == COUNT
    assert {case.window for case in CASES} == {1, 2, 3, 4, 5, 6, 7}
    assert {(case.stride, case.dilation) for case in CASES} >= {(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2)}
    # Images are in several runs, one of which moves.
    assert sum(case.stride == 2 and case.dilation == 1 and case.window > 2 for case in CASES) >= 5


@pytest.mark.parametrize("case", NUMBERED)
def test_one_seed(case: Case) -> None:
    check(case, SEEDS[1:2])


@pytest.mark.parametrize("case", NUMBERED)
def test_ten_seeds(case: Case) -> None:
    check(case, SEEDS[:10])


OTHERS = cases_of_other_modes("stationary", is_stationary, pixel_tile=128)


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(OTHERS)])
def test_ten_seeds_of_cases_of_other_modes(case: Case) -> None:
    check(case, SEEDS[:10])


def filters_at(F, r, s, c):
    return ct.load(F, (r, s, c, 0), (1, 1, 32, 16), padding_mode=ct.PaddingMode.ZERO).reshape((32, 16))


@ct.kernel
def in_order(X, F, Y, order: ct.Constant[str]):
    """The loops over the window and the channels, from the outside in; "static" has taps that are written out."""
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(128, 32), mode="stationary")
    i, total = ct.bid(0), ct.zeros((128, 16), ct.float32)
    if order == "rsc":
        for r in range(3):
            for s in range(3):
                for c in range(images.num_tiles(1)):
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), filters_at(F, r, s, c), total)
    elif order == "src":
        for s in range(3):
            for r in range(3):
                for c in range(images.num_tiles(1)):
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), filters_at(F, r, s, c), total)
    elif order == "crs":
        for c in range(images.num_tiles(1)):
            for r in range(3):
                for s in range(3):
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), filters_at(F, r, s, c), total)
    elif order == "backwards":
        for s in range(3):
            for r in range(3):
                for c in range(images.num_tiles(1)):
                    x, f = ct.load(images, (i, c), offset=(2 - r, 2 - s)), filters_at(F, 2 - r, 2 - s, c)
                    total = ct.mma(x, f, total)
    elif order == "one loop":
        for c in range(images.num_tiles(1)):
            for tap in range(9):
                x, f = ct.load(images, (i, c), offset=(tap // 3, tap % 3)), filters_at(F, tap // 3, tap % 3, c)
                total = ct.mma(x, f, total)
    elif order == "static":
        for r in range(3):
            for c in range(images.num_tiles(1)):
                for s in ct.static_iter(range(3)):
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), filters_at(F, r, s, c), total)
    else:
        for r in range(3):
            for c in range(images.num_tiles(1)):
                first, second = ct.load(images, (i, c), offset=(r, 0)), ct.load(images, (i, c), offset=(r, 1))
                third = ct.load(images, (i, c), offset=(r, 2))
                total = ct.mma(first, filters_at(F, r, 0, c), total)
                total = ct.mma(second, filters_at(F, r, 1, c), total)
                total = ct.mma(third, filters_at(F, r, 2, c), total)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 16), mode="w128"), (i, 0), total.astype(Y.dtype))


ORDERED = "X: f16[20,5,9,72], F: f16[3,3,72,16], Y: f32[20,5,9,16], order={order}"


def images_and_filters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integers, and their convolution."""
    random = np.random.default_rng(9)
    x = random.integers(-3, 4, (20, 5, 9, 72)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 72, 16)).astype(np.float16)
    return x, f, conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)


@pytest.mark.parametrize("order", ["rsc", "src", "crs", "backwards", "one loop", "static", "loads first"])
def test_loops_in_any_order(order: str) -> None:
    """One copy has the pixels of three taps, whatever loop is around which. One loop over all taps is unrolled."""
    x, f, exact = images_and_filters()
    kernel = tilec.compile(
        in_order, target="sm_100a", signature=ORDERED.format(order=repr(order)), hints=ALLOWED, stop="ptx"
    )
    copies = 3 if order == "one loop" else 1
    assert kernel.ptx.count(".im2col::w::128") == copies
    assert kernel.ptx.count("tcgen05.shift") == kernel.ptx.count(".ashift") == 2 * copies
    for backend, settings in backends([2]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (10,), (x, f, result, order), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize(
    "hints",
    [{"roles": False}, {"pipeline": False}, {"roles": False, "pipeline": False}, {"stages": 1}, {"warps": 8}],
    ids=str,
)
def test_options(hints: dict[str, Any]) -> None:
    x, f, exact = images_and_filters()
    signature = ORDERED.format(order="'rsc'")
    kernel = tilec.compile(in_order, target="sm_100a", signature=signature, hints=ALLOWED | hints, stop="ptx")
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (10,), (x, f, result, "rsc"), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)


@ct.kernel
def of_layer(X, F, Y, mode: ct.Constant[str]):
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(128, 64), mode=mode)
    total = ct.zeros((128, 64), ct.float32)
    for r in range(3):
        for s in range(3):
            w = ct.load(F, (r, s, 0, 0), (1, 1, 64, 64)).reshape((64, 64))
            total = ct.mma(ct.load(images, (ct.bid(0), 0), offset=(r, s)), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64), mode="w128"), (ct.bid(0), 0), total.astype(Y.dtype))


def test_run_loads_a_third_of_the_pixels() -> None:
    """A window of 3 x 3 with stride 1: a third of the bytes of im2col::w::128, and at most a tenth more."""
    x, f = np.ones((16, 3, 56, 64), np.float16), np.ones((3, 3, 64, 64), np.float16)
    loaded = {}
    for mode in ("w128", "stationary"):
        signature = f"X: f16[16,3,56,64], F: f16[3,3,64,64], Y: f16[16,3,56,64], mode={mode!r}"
        kernel = tilec.compile(of_layer, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")
        arguments = (x, f, np.zeros(x.shape, np.float16), mode)
        counters = simulate(kernel.artifact, (4, 1, 1), arguments, Settings(0, checks=False))
        loaded[mode] = counters["bulk_load_bytes"] - 4 * f.nbytes
    assert loaded["w128"] == 4 * 9 * 128 * 128
    assert loaded["stationary"] <= 1.1 * loaded["w128"] / 3


@ct.kernel
def three_taps(X, F, Y):
    images = ct.im2col_view(X, window=3, padding=1, tile=(128, 64), mode="stationary")
    total = ct.zeros((128, 64), Y.dtype)
    for s in range(3):
        total = ct.mma(
            ct.load(images, (0, 0), offset=(s,)), ct.load(F, (s, 0, 0), (1, 64, 64)).reshape((64, 64)), total
        )
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64), mode="stationary"), (0, 0), total)


def test_ptxas_accepts_rows_that_move_with_a_multiply() -> None:
    kernel = tilec.compile(
        in_order, target="sm_100a", signature=ORDERED.format(order="'rsc'"), hints=ALLOWED, stop="ptx"
    )
    assert ".ashift" in kernel.ptx and assemble(kernel.ptx, "sm_100a").warnings == ()


@ct.kernel
def two_products(X, F, Y):
    """Two multiplies read the rows of each tap, so that only an instruction of its own moves all of them."""
    images = ct.im2col_view(X, window=3, padding=1, tile=(128, 64), mode="stationary")
    result = ct.im2col_view(Y, window=1, tile=(128, 64), mode="stationary")
    first, second = ct.zeros((128, 64), Y.dtype), ct.zeros((128, 64), Y.dtype)
    for s in range(3):
        pixels = ct.load(images, (0, 0), offset=(s,))
        first = ct.mma(pixels, ct.load(F, (s, 0, 0), (1, 64, 64)).reshape((64, 64)), first)
        second = ct.mma(pixels, ct.load(F, (s, 0, 1), (1, 64, 64)).reshape((64, 64)), second)
    ct.store(result, (0, 0), first)
    ct.store(result, (0, 1), second)


def test_rows_that_two_multiplies_read_move_after_both() -> None:
    random = np.random.default_rng(4)
    x, f = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((14, 9, 64), (3, 64, 128)))
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1)
    signature = "X: f16[14,9,64], F: f16[3,64,128], Y: f32[14,9,128]"
    kernel = tilec.compile(two_products, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")
    assert ".ashift" not in kernel.ptx and kernel.ptx.count("tcgen05.shift") == 4 * 2
    for backend, settings in backends([0]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (1,), (x, f, result), backend=backend, **settings)
        np.testing.assert_array_equal(result.reshape(-1, 128)[:126], exact.reshape(-1, 128)[:126])


INSTRUCTIONS = {
    "copy": re.compile(r"@%p\d+ tcgen05\.cp\.cta_group::1\.128x256b [^;]*;"),
    "shift": re.compile(r"@%p\d+ tcgen05\.shift\.[^;]*;"),
    "new rows": re.compile(r"@%p\d+ tcgen05\.cp\.cta_group::1\.4x256b [^;]*;"),
}
MULTIPLY = re.compile(r"(tcgen05\.mma\.cta_group::1\.kind::f16)(\.ashift)?")
SKIPPED = re.compile(r"(tcgen05\.mma[^;{]*), \{[^}]*\}")
WORD = re.compile(r"vote\.sync\.ballot\.b32 (%r\d+), %p\d+, 0xffffffff;")


def changed(ptx: str) -> Iterator[tuple[str, str]]:
    """The PTX without each of the instructions that move rows, or with each word of skipped rows empty or changed.

    Each of the eight multiplies of the first two taps moves rows if it did not, and no rows if it did. After the last
    tap, no multiply reads the rows.
    """
    for name, pattern in INSTRUCTIONS.items():
        for found in pattern.finditer(ptx):
            yield name, ptx[: found.start()] + ptx[found.end() :]
    for found in list(MULTIPLY.finditer(ptx))[:8]:
        text = found[1] + ("" if found[2] else ".ashift")
        yield "ashift", ptx[: found.start()] + text + ptx[found.end() :]
    for found in SKIPPED.finditer(ptx):
        yield "skipped rows", ptx[: found.start()] + found[1] + ptx[found.end() :]
    for found in WORD.finditer(ptx):
        # The last row that is skipped: TMA fills the first one of a tile with zeros.
        last = "{ .reg .b32 %t; clz.b32 %t, WORD; shr.u32 %t, 0x80000000, %t; xor.b32 WORD, WORD, %t; }"
        for text in ("mov.b32 WORD, 0;", last):
            yield text, ptx[: found.end()] + text.replace("WORD", found[1]) + ptx[found.end() :]
    yield "fewer pixels after each 32", ptx.replace("], {2, %h", "], {1, %h")


def test_changed_instructions_are_noticed() -> None:
    """The pixels of a tile are parts of 15 rows; its last pixels need those of another tile."""
    random = np.random.default_rng(3)
    x = random.integers(1, 4, (15, 9, 64)).astype(np.float16)
    f = random.integers(1, 4, (3, 64, 64)).astype(np.float16)
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1).reshape(-1, 64)[:128]
    signature = "X: f16[15,9,64], F: f16[3,64,64], Y: f32[15,9,64]"
    artifact = tilec.compile(three_taps, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx").artifact

    def is_right(artifact: ct.Artifact) -> bool:
        result = np.full((15, 9, 64), 99, np.float32)
        try:
            tilec.run(artifact, (1,), (x, f, result), backend="simulate", seed=0)
        except TilecError:
            return False
        return np.array_equal(result.reshape(-1, 64)[:128], exact)

    assert is_right(artifact)
    changes = list(changed(artifact.ptx))
    assert len(changes) == 4 + 2 + 8 + 8 + 8 + 2 * 8 + 1 and all(ptx != artifact.ptx for _, ptx in changes)
    assert not [change for change, ptx in changes if is_right(dataclasses.replace(artifact, ptx=ptx))]


@ct.kernel
def refused(
    X, F, Y, window: ct.Constant[tuple], padding: ct.Constant[tuple], stride: ct.Constant[int],
    dilation: ct.Constant[int], taps: ct.Constant[tuple], first: int,
):  # fmt: skip
    images = ct.im2col_view(
        X, window=window, padding=padding, stride=(1, stride), dilation=(1, dilation), tile=(128, 64),
        mode="stationary",
    )  # fmt: skip
    total = ct.zeros((128, 64), ct.float32)
    for s in ct.static_iter(taps):
        w = ct.load(F, (0, 0), (64, 64))
        total = ct.mma(ct.load(images, (0, 0), offset=(0, first if s < 0 else s)), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64), mode="w128"), (0, 0), total)


EXPECTED = "mode=stationary cannot be followed: "
REFUSALS = {
    "a halo": (
        {"hints": {}},
        "mode: NVIDIA does not document where im2col::w::128 stores the pixels after each 32: hint",
    ),
    "no tensor memory": ({"target": "sm_90a"}, "mode: sm_90a has no tensor memory, in which rows move"),
    "no TMA": ({"hints": ALLOWED | {"tma": False}}, "TMA is switched off"),
    "stride": (
        {"stride": 2},
        "array, stride and padding: expected a multiple of the stride 2 as the width of images, and width / stride "
        "output pixels along W, got 9 and 5",
    ),
    "dilation": ({"dilation": 2}, "array, stride and padding: expected a multiple of the stride"),
    "fewer output pixels": ({"padding": ((0, 0), (1, 0))}, "array, stride and padding: expected a multiple of the"),
    "an offset of more than five bits": (
        {"dilation": 15, "padding": ((0, 0), (-20, 50))},
        "window and dilation: tap 1 is 35 pixels after the start of a row, and an offset is at most 31",
    ),
    "unknown width": ({"shape": "4,1,?,64"}, "array: the width of the images is not known: give it in the signature"),
    "window": (
        {"window": (1, 32), "padding": ((0, 0), (31, 0)), "taps": (0, 1)},
        "window: expected at most 31 taps along W in a run, got 32",
    ),
    "a tap of the launch": ({"taps": (0, -1)}, "offset: the tap along W is not a constant, also after the loop"),
    "no tap 0": (
        {"taps": (1, 2)},
        "offset: a run has the taps [0, 1, 2], one after the other from the first on, but multiplies have the taps "
        "[1, 2]",
    ),
    "taps backwards": (
        {"taps": (0, 2, 1)},
        "offset: a run has the taps [0, 1, 2], one after the other from the first on, but multiplies have the taps "
        "[0, 2, 1]",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refused(case: str) -> None:
    changes, message = REFUSALS[case]
    given: dict[str, Any] = {
        "window": (1, 3), "padding": ((0, 0), (1, 1)), "stride": 1, "dilation": 1, "taps": (0, 1, 2),
        "target": "sm_100a", "hints": ALLOWED, "shape": "4,1,9,64",
    } | changes  # fmt: skip
    constants = ", ".join(f"{name}={given[name]!r}" for name in ("window", "padding", "stride", "dilation", "taps"))
    signature = f"X: f16[{given['shape']}], F: f16[64,64], Y: f32[4,1,9,64], {constants}, first: i32"
    with pytest.raises(UnsupportedError, match=re.escape(EXPECTED + message)):
        tilec.compile(refused, target=given["target"], signature=signature, hints=given["hints"])


@ct.kernel
def used_otherwise(X, F, Y, use: ct.Constant[str]):
    images = ct.im2col_view(X, window=(1, 3), padding=((0, 0), (1, 1)), tile=(128, 64), mode="stationary")
    pixels, w = ct.load(images, (0, 0), offset=(0, 0)), ct.load(F, (0, 0), (64, 64))
    if use == "right":
        total = ct.mma(w, pixels.transpose(), ct.zeros((64, 128), ct.float32)).transpose()
    elif use == "sum":
        total = pixels.astype(ct.float32)
    elif use == "both":
        total = ct.mma(pixels, w, pixels.astype(ct.float32))
    else:
        total = ct.mma(pixels.astype(ct.float32), w.astype(ct.float32), ct.zeros((128, 64), ct.float32))
    ct.store(Y, (0, 0), total)


@pytest.mark.parametrize("use", ["right", "sum", "both", "float32"])
def test_other_uses_are_refused(use: str) -> None:
    signature = f"X: f16[4,1,9,64], F: f16[64,64], Y: f32[128,64], use={use!r}"
    message = "only left operands of matrix multiplies in the loop or branch of the load share a run of pixels"
    with pytest.raises(UnsupportedError, match=EXPECTED + message):
        tilec.compile(used_otherwise, target="sm_100a", signature=signature, hints=ALLOWED)


def test_unit_without_tensor_memory_is_refused() -> None:
    signature = "X: f32[4,9,64], F: f32[3,64,64], Y: f32[4,9,64]"
    with pytest.raises(UnsupportedError, match=EXPECTED + "tile: the multiply is done by fma, which reads no tensor"):
        tilec.compile(three_taps, target="sm_100a", signature=signature, hints=ALLOWED)


def test_bytes() -> None:
    random = np.random.default_rng(5)
    x, f = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((13, 9, 64), (3, 64, 64)))
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1)
    signature = "X: i8[13,9,64], F: i8[3,64,64], Y: i32[13,9,64]"
    kernel = tilec.compile(three_taps, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")
    assert "kind::i8" in kernel.ptx and "tcgen05.shift" in kernel.ptx
    for backend, settings in backends([0]):
        result = np.full(exact.shape, 99, np.int32)
        tilec.run(kernel, (1,), (x, f, result), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)
