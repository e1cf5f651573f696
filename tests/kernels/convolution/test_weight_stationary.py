"""Convolutions whose filters are the first operand of tcgen05.mma.ws equal numpy's in integers.

With the hint allow_unconfirmed, one copy has the pixels of all taps along W: the multiply of a tap starts at the first
pixel that the tap reads, and a mask clears the pixels of other images.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from compare import SEEDS, backends
from convolution_cases import (
    PARAMETERS,
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
from tilec.lowering.target import TARGETS
from tilec.runtime.cubin.cubin import assemble
from tilec.runtime.simulate import Settings, simulate

COUNT = 120
ALLOWED = {"allow_unconfirmed": True}
TILES: dict[str, tuple[Any, ...]] = {"mode": ("weights",), "pixel_tile": (64, 128, 256), "filter_tile": (32, 64, 128)}
RUNS: dict[str, tuple[Any, ...]] = (
    RUN_PARAMETERS | TILES | {"window": (2, 3, 4, 5, 6, 7), "outputs": (5, 11, 23, 57, 130)}
)


def is_row_possible(row: Mapping[str, Any]) -> bool:
    """As for the mode "w", which has tiles of any number of pixels."""
    return is_possible({"kind": "f16", "layout": "contiguous", **row, "mode": "w"})


CASES = covering_cases(COUNT, RUNS, lambda row: has_whole_rows(row, RUNS) and is_row_possible(row))
COPIES = covering_cases(40, PARAMETERS | TILES | {"layout": ("contiguous", "padded")}, is_row_possible)


def compiled(case: Case, problem: Problem, hints: dict[str, Any]) -> tilec.Compiled:
    signature = signature_of(case, problem.arguments())
    return tilec.compile(kernel_of(case), target="sm_100a", signature=signature, hints=hints, stop="ptx")


def moved_taps(case: Case) -> int:
    """The taps that read pixels of the run of an earlier one, one further."""
    read = {tap * case.dilation for tap in range(case.window)}
    return len(read & {at + case.stride for at in read})


def has_pixels_at_each_tap(case: Case) -> bool:
    """Whether some output pixel of a row reads a pixel of the images at each tap."""
    width, at = case.spatial_extents()[-1], np.arange(case.output_extents()[-1]) * case.stride - case.padding[0]
    taps = [at + tap * case.dilation for tap in range(case.window)]
    return all(((read >= 0) & (read < width)).any() for read in taps)


def has_room(case: Case, row_bytes: int) -> bool:
    """Whether shared memory has room for all runs with up to eight more pixels, and for two tiles of filters."""
    rows = (case.window - moved_taps(case)) * (case.pixel_tile + 8) + 2 * case.filter_tile
    return rows * row_bytes <= TARGETS["sm_100a"].shared_bytes


def check_run(case: Case, seeds: Any) -> None:
    problem = integer_problem(case)
    kernel, row_bytes = compiled(case, problem, ALLOWED), case.channel_tile * np.dtype(case.dtype).itemsize
    if has_pixels_at_each_tap(case) and has_room(case, row_bytes) and moved_taps(case):
        copies = max(1, row_bytes // 128) * (case.window - moved_taps(case))
        # A loop over tiles may load the runs of its first tile before it.
        assert kernel.ptx.count(".im2col::w.") in ((copies, 2 * copies) if case.persistent else (copies,))
    assert "tcgen05.mma.ws." in kernel.ptx and "tcgen05.mma.cta_group" not in kernel.ptx
    assert_exact_everywhere(problem, kernel, seeds)


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(CASES)])
def test_runs(case: Case) -> None:
    check_run(case, SEEDS[1:2])


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(CASES)])
def test_ten_seeds_of_runs(case: Case) -> None:
    check_run(case, SEEDS[:10])


OTHERS = cases_of_other_modes("weights", is_row_possible, PARAMETERS["extents"], filter_tile=32)


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(OTHERS)])
def test_ten_seeds_of_cases_of_other_modes(case: Case) -> None:
    """One copy has the pixels of all taps along W if the rows of the images are whole, else each tap has a copy."""
    problem = integer_problem(case)
    kernel = compiled(case, problem, ALLOWED)
    assert "tcgen05.mma.ws." in kernel.ptx and "tcgen05.mma.cta_group" not in kernel.ptx
    assert_exact_everywhere(problem, kernel, SEEDS[:10])


def test_cases_differ() -> None:
    assert len(set(CASES)) == COUNT
    shared = [case for case in CASES if moved_taps(case) and has_pixels_at_each_tap(case)]
    assert len(shared) >= COUNT // 2
    assert {(case.pixel_tile, case.filter_tile) for case in shared} == set(product((64, 128, 256), (32, 64, 128)))
    assert {case.window for case in CASES} == {2, 3, 4, 5, 6, 7}
    assert {case.stride for case in shared} == {1, 2, 3} and {case.kind for case in shared} == set(PARAMETERS["kind"])


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(COPIES)])
def test_a_copy_for_each_tap(case: Case) -> None:
    """Without the hint, multiplies clear and shift nothing, and images may have any width."""
    problem = integer_problem(case)
    kernel = compiled(case, problem, {})
    multiplies = re.findall(r"tcgen05\.mma\.\S+ ([^;]*);", kernel.ptx)
    # D, both descriptors, the instruction and whether to add to D, but no mask.
    assert multiplies and all(operands.count(",") == 4 for operands in multiplies)
    assert_exact_everywhere(problem, kernel, SEEDS[1:2])


def test_runs_that_are_too_large_have_a_copy_per_tap() -> None:
    """Three runs of 256 pixels of 256 bytes, as taps 0 and 3, 1 and 4, and 2 read pixels of one run."""
    case = Case(rank=1, kind="tf32", mode="weights", window=5, stride=3, padding=(1, 2), outputs=57, pixel_tile=256,
                filter_tile=128, channel_tile=64, extents="static")  # fmt: skip
    problem = integer_problem(case)
    (remark,) = remarks_of(compiled(case, problem, ALLOWED))
    assert "a copy of its own: tile: its runs have 200704 bytes, and 232448 are for them and two tiles" in remark


@ct.kernel
def layer(X, F, Y, rows: ct.Constant[int], columns: ct.Constant[int], mode: ct.Constant[str]):
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(rows, 64), mode=mode)
    total = ct.zeros((rows, columns), ct.float32)
    for r in range(3):
        for s in range(3):
            for c in range(images.num_tiles(1)):
                w = ct.load(F, (r, s, c, 0), (1, 1, 64, columns), padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(ct.load(images, (ct.bid(0), c), offset=(r, s)), w.reshape((64, columns)), total)
    ct.store(ct.im2col_view(Y, window=1, tile=(rows, columns), mode="w"), (ct.bid(0), 0), total)


def compiled_layer(hints: dict[str, Any], mode: str = "w", target: str = "sm_100a", **sizes: int) -> tilec.Compiled:
    size = {"rows": 64, "columns": 32, "channels": 72, "width": 9} | sizes
    shapes = "X: f16[9,3,{width},{channels}], F: f16[3,3,{channels},{columns}], Y: f32[9,3,{width},{columns}]"
    signature = f"{shapes}, rows={{rows}}, columns={{columns}}, mode={mode!r}".format(**size)
    return tilec.compile(layer, target=target, signature=signature, hints=hints, stop="ptx")


def remarks_of(kernel: tilec.Compiled) -> list[str]:
    return [remark.message for remark in kernel.all_remarks if remark.topic == "convolution"]


WEIGHTS = {"convolution": "weights"}
FIRST = "the filters are the first operand of tcgen05.mma.ws"


def test_remarks() -> None:
    """A remark says how pixels are loaded, and why each tap has a copy of its own."""
    (remark,) = remarks_of(compiled_layer(ALLOWED | WEIGHTS))
    assert remark == f"{FIRST}, and one copy has the pixels of all taps along W"
    (remark,) = remarks_of(compiled_layer(WEIGHTS))
    assert remark.startswith(f"{FIRST}, and each tap along W has a copy of its own: mode: PTX ISA 9.7.16.4.3 describes")
    assert not any("tcgen05.mma.ws" in message for message in remarks_of(compiled_layer(ALLOWED)))


def text_of(kernel: tilec.Compiled) -> list[str]:
    return [line for line in re.sub(r"//[^\n]*", "", kernel.ptx).splitlines() if ".loc" not in line]


def test_the_hint_gives_the_kernel_of_the_mode() -> None:
    """The hint changes views in the modes along W."""
    expected = text_of(compiled_layer(ALLOWED, mode="weights"))
    assert "tcgen05.mma.ws" in "".join(expected)
    assert text_of(compiled_layer(ALLOWED | WEIGHTS)) == expected
    assert text_of(compiled_layer(ALLOWED)) != expected


@pytest.mark.parametrize(
    "hints",
    [{"roles": False}, {"pipeline": False}, {"stages": 1}, {"warps": 8}, {"num_ctas": 2}, {"occupancy": 2}],
    ids=str,
)
def test_options(hints: dict[str, Any]) -> None:
    random = np.random.default_rng(6)
    x, f = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((9, 3, 9, 72), (3, 3, 72, 32)))
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    kernel = compiled_layer(ALLOWED | WEIGHTS | hints, rows=128)
    assert "tcgen05.mma.ws" in kernel.ptx
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (3,), (x, f, result, 128, 32, "w"), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)


def test_run_loads_a_third_of_the_pixels() -> None:
    """A window of 3 x 3 with stride 1: a third of the bytes of a copy per tap, and at most a tenth more."""
    x, f = np.ones((16, 3, 56, 64), np.float16), np.ones((3, 3, 64, 32), np.float16)
    loaded = {}
    for hints in ({}, ALLOWED):
        signature = "X: f16[16,3,56,64], F: f16[3,3,64,32], Y: f32[16,3,56,32], rows=128, columns=32, mode='weights'"
        kernel = tilec.compile(layer, target="sm_100a", signature=signature, hints=hints, stop="ptx")
        arguments = (x, f, np.zeros((16, 3, 56, 32), np.float32), 128, 32, "weights")
        counters = simulate(kernel.artifact, (4, 1, 1), arguments, Settings(0, checks=False))
        loaded[len(hints)] = counters["bulk_load_bytes"] - 4 * f.nbytes
    assert loaded[0] == 4 * 9 * 128 * 128
    assert loaded[1] <= 1.1 * loaded[0] / 3


def test_collectors_keep_the_pixels_of_a_run() -> None:
    """Each of four steps along K has a collector, which the first tap fills and the others use."""
    used = re.findall(r"\.collector::b(\d)::(\w+) ", compiled_layer(ALLOWED | WEIGHTS).ptx)
    assert used == [(str(step), usage) for usage in ("fill", "use", "lastuse") for step in range(4)]
    assert "collector" not in compiled_layer(WEIGHTS).ptx
    # Eight steps do not fit.
    case = Case(rank=1, mode="weights", outputs=11, channel_tile=128, filter_tile=32, extents="static")
    eight = compiled(case, integer_problem(case), ALLOWED)
    assert eight.ptx.count("tcgen05.mma.ws") == 3 * 8 and "collector" not in eight.ptx


@pytest.mark.parametrize(("rows", "columns"), [(64, 32), (128, 64), (256, 128)])
def test_ptxas_accepts_masks_and_shifts(rows: int, columns: int) -> None:
    assert assemble(compiled_layer(ALLOWED | WEIGHTS, rows=rows, columns=columns).ptx, "sm_100a").warnings == ()


@ct.kernel
def three_taps(X, F, Y):
    images = ct.im2col_view(X, window=3, padding=1, tile=(64, 64), mode="weights")
    total = ct.zeros((64, 32), Y.dtype)
    for s in range(3):
        w = ct.load(F, (s, 0, 0), (1, 64, 32)).reshape((64, 32))
        total = ct.mma(ct.load(images, (1, 0), offset=(s,)), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(64, 32)), (1, 0), total)


@ct.kernel
def two_halves(X, F, Y):
    """The result is stored in two parts of its filters, which are in different lanes of the sums."""
    images = ct.im2col_view(X, window=3, padding=1, tile=(64, 64), mode="weights")
    result, total = ct.im2col_view(Y, window=1, tile=(64, 32)), ct.zeros((64, 64), Y.dtype)
    for s in range(3):
        w = ct.load(F, (s, 0, 0), (1, 64, 64)).reshape((64, 64))
        total = ct.mma(ct.load(images, (0, 0), offset=(s,)), w, total)
    ct.store(result, (0, 1), ct.extract(total, (0, 0), shape=(64, 32)))
    ct.store(result, (0, 0), ct.extract(total, (0, 1), shape=(64, 32)))


def test_columns_of_the_sums() -> None:
    random = np.random.default_rng(7)
    x, f = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((6, 9, 64), (3, 64, 64)))
    exact = np.roll(conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1), 32, axis=2)
    signature = "X: f16[6,9,64], F: f16[3,64,64], Y: f32[6,9,64]"
    kernel = tilec.compile(two_halves, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")
    assert "tcgen05.mma.ws" in kernel.ptx
    for backend, settings in backends([0]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (1,), (x, f, result), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def two_layers(X, F, G, Y):
    """A convolution, whose result is the left operand of a product."""
    images = ct.im2col_view(X, window=3, padding=1, tile=(128, 64), mode="weights")
    hidden = ct.zeros((128, 64), ct.float32)
    for s in range(3):
        w = ct.load(F, (s, 0, 0), (1, 64, 64)).reshape((64, 64))
        hidden = ct.mma(ct.load(images, (0, 0), offset=(s,)), w, hidden)
    total = ct.mma(hidden.astype(ct.float16), ct.load(G, (0, 0), (64, 256)), ct.zeros((128, 256), ct.float32))
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 256)), (0, 0), total)


@pytest.mark.parametrize("warps", [4, 8])
def test_the_result_is_an_operand_of_another_multiply(warps: int) -> None:
    """Lanes have columns of the sums, but rows of the operand: threads exchange the elements."""
    random = np.random.default_rng(8)
    x, f, g = (random.integers(-1, 2, shape).astype(np.float16) for shape in ((9, 13, 64), (3, 64, 64), (64, 256)))
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1) @ g.astype(np.float64)
    signature = "X: f16[9,13,64], F: f16[3,64,64], G: f16[64,256], Y: f32[9,13,256]"
    hints = ALLOWED | {"warps": warps}
    kernel = tilec.compile(two_layers, target="sm_100a", signature=signature, hints=hints, stop="ptx")
    assert "tcgen05.mma.ws" in kernel.ptx and "tcgen05.mma.cta_group" in kernel.ptx
    for backend, settings in backends([0]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (1,), (x, f, g, result), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


MASK = re.compile(r"mov\.b64 (%rd\d+), \{%r\d+, %r\d+\};")
MASKED = re.compile(r"(tcgen05\.mma\.ws[^;]*%p\d+), %rd\d+;")
# Bits of a mask. Of each group of lanes: the lowest bit of its start, and which span is first. Then the lowest bits of
# the lengths of both spans.
FIELDS = [bit for group in range(4) for bit in (8 * group, 32 + group)] + [40, 48]
# The bits that enable the mask and shift it.
SHIFTS = [39, 56, 57]


def changed(ptx: str) -> Iterator[tuple[str, str]]:
    """The PTX with another bit of a mask, and with multiplies without a mask; tap 1 has the mask of all pixels."""
    for tap, found in enumerate(MASK.finditer(ptx)):
        for bit in SHIFTS if tap == 1 else FIELDS + SHIFTS:
            text = f"xor.b64 {found[1]}, {found[1]}, {1 << bit:#x};"
            yield f"bit {bit}", ptx[: found.end()] + text + ptx[found.end() :]
    for found in MASKED.finditer(ptx):
        yield "no mask", ptx[: found.start()] + found[1] + ";" + ptx[found.end() :]
    yield "fewer pixels after the run", ptx.replace("], {8, %h", "], {1, %h")


def test_changed_masks_are_noticed() -> None:
    """Tile 1 has output pixels 64 to 127 of images of 3 pixels, so that each group of 16 starts elsewhere."""
    random = np.random.default_rng(3)
    x = random.integers(1, 4, (60, 3, 64)).astype(np.float16)
    f = random.integers(1, 4, (3, 64, 32)).astype(np.float16)
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1).reshape(-1, 32)[64:128]
    signature = "X: f16[60,3,64], F: f16[3,64,32], Y: f32[60,3,32]"
    artifact = tilec.compile(three_taps, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx").artifact

    def is_right(artifact: ct.Artifact) -> bool:
        result = np.full((60, 3, 32), 99, np.float32)
        try:
            tilec.run(artifact, (1,), (x, f, result), backend="simulate", seed=0)
        except TilecError:
            return False
        return np.array_equal(result.reshape(-1, 32)[64:128], exact)

    assert is_right(artifact)
    changes = list(changed(artifact.ptx))
    # Three masks, and four multiplies of each tap.
    assert len(changes) == 2 * len(FIELDS) + 3 * len(SHIFTS) + 3 * 4 + 1
    assert all(ptx != artifact.ptx for _, ptx in changes)
    assert not [change for change, ptx in changes if is_right(dataclasses.replace(artifact, ptx=ptx))]


def test_integers_are_exact() -> None:
    random = np.random.default_rng(5)
    x, f = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((50, 3, 64), (3, 64, 32)))
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1).reshape(-1, 32)[64:128]
    signature = "X: i8[50,3,64], F: i8[3,64,32], Y: i32[50,3,32]"
    kernel = tilec.compile(three_taps, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")
    assert "tcgen05.mma.ws.cta_group::1.kind::i8" in kernel.ptx
    for backend, settings in backends([0]):
        result = np.full((50, 3, 32), 99, np.int32)
        tilec.run(kernel, (1,), (x, f, result), backend=backend, **settings)
        np.testing.assert_array_equal(result.reshape(-1, 32)[64:128], exact)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "filters": (
        {"columns": 16},
        "tcgen05.mma.ws needs 64, 128 or 256 pixels and 32, 64 or 128 filters, the tile has 64 and 16",
    ),
    "pixels": ({"rows": 32}, "expected tiles of 64, 128 or 256 pixels, got 32"),
    "no tensor memory": ({"target": "sm_90a"}, "sm_90a has no tensor memory: use run or im2col"),
    "rows of an image": (
        {"mode": None},
        "expected tiles of pixels at one position of the spatial dimensions but W, as of mode='w': give the views",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hint_that_cannot_be_followed_is_an_error(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(UnsupportedError, match=re.escape(f"convolution=weights cannot be followed: {message}")):
        compiled_layer(ALLOWED | WEIGHTS, **given)


@ct.kernel
def other_sums(X, F, Y, kind: ct.Constant[str]):
    images = ct.im2col_view(X, window=3, padding=1, tile=(64, 64), mode="weights")
    total = ct.full((64, 32), 1 if kind == "not zero" else 0, ct.float32)
    for s in range(3):
        w = ct.load(F, (s, 0, 0), (1, 64, 32)).reshape((64, 32))
        total = ct.mma(ct.load(images, (0, 0), offset=(s,)), w, total)
        if kind == "scaled":
            total = total * 0.5
    ct.store(ct.im2col_view(Y, window=1, tile=(64, 32)), (0, 0), total)


@pytest.mark.parametrize("kind", ["not zero", "scaled"])
def test_sums_that_threads_fill_or_change_are_an_error(kind: str) -> None:
    signature = f"X: f16[60,3,64], F: f16[3,64,32], Y: f32[60,3,32], kind={kind!r}"
    expected = "convolution=weights cannot be followed: expected sums that start as zeros, and to which"
    with pytest.raises(UnsupportedError, match=re.escape(expected)):
        tilec.compile(other_sums, target="sm_100a", signature=signature, hints=ALLOWED, stop="ptx")


FALLBACKS: dict[str, tuple[dict[str, int], str]] = {
    "wide images": ({"width": 300}, "array and padding: a mask has spans of 1 to 256 pixels, and 1 of the 300 output"),
    "narrow images": ({"width": 1}, "array and padding: a mask has spans of 1 to 256 pixels, and 1 of the 1 output"),
}


@pytest.mark.parametrize("case", FALLBACKS)
def test_images_that_a_mask_does_not_describe_have_a_copy_per_tap(case: str) -> None:
    sizes, message = FALLBACKS[case]
    (remark,) = remarks_of(compiled_layer(ALLOWED | WEIGHTS, **sizes))
    assert f"each tap along W has a copy of its own: {message}" in remark
