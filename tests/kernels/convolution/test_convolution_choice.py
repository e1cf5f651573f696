"""The compiler chooses between a copy per tap along W and a copy for all of them; the hint `convolution` demands one.

The results equal numpy's in integers, whichever is chosen.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import backends
from direct_convolution import conv_forward

import tilec
import tilec as ct
from tilec.errors import UnsupportedError, UsageError
from tilec.explain.reports import reports_of
from tilec.lowering.target import TARGETS

ALLOWED = {"allow_unconfirmed": True}
ZERO = ct.PaddingMode.ZERO
EACH = "each tap along W has a copy of its own"


@ct.kernel
def convolution(
    X, F, Y, rows: ct.Constant[int], columns: ct.Constant[int], order: ct.Constant[str], mode: ct.Constant[str]
):
    """The loops over the window and the channels from the outside in, as in docs/language.md or in another order."""
    pixels = ct.im2col_view(X, window=(3, 3), padding=1, tile=(rows, 64), mode=mode)
    result = ct.im2col_view(Y, window=1, tile=(rows, columns), mode=mode)
    i, k, total = ct.bid(0), ct.bid(1), ct.zeros((rows, columns), ct.float32)
    if order == "rsc":
        for r in range(3):
            for s in range(3):
                for c in range(pixels.num_tiles(1)):
                    w = ct.load(F, (r, s, c, k), (1, 1, 64, columns), padding_mode=ZERO)
                    total = ct.mma(ct.load(pixels, (i, c), offset=(r, s)), w.reshape((64, columns)), total)
    elif order == "crs":
        for c in range(pixels.num_tiles(1)):
            for r in range(3):
                for s in range(3):
                    w = ct.load(F, (r, s, c, k), (1, 1, 64, columns), padding_mode=ZERO)
                    total = ct.mma(ct.load(pixels, (i, c), offset=(r, s)), w.reshape((64, columns)), total)
    elif order == "backwards":
        for r in range(3):
            for s in range(3):
                for c in range(pixels.num_tiles(1)):
                    w = ct.load(F, (2 - r, 2 - s, c, k), (1, 1, 64, columns), padding_mode=ZERO)
                    total = ct.mma(ct.load(pixels, (i, c), offset=(2 - r, 2 - s)), w.reshape((64, columns)), total)
    else:
        for r in range(3):
            for c in range(pixels.num_tiles(1)):
                for s in ct.static_iter(range(3)):
                    w = ct.load(F, (r, s, c, k), (1, 1, 64, columns), padding_mode=ZERO)
                    total = ct.mma(ct.load(pixels, (i, c), offset=(r, s)), w.reshape((64, columns)), total)
    ct.store(result, (i, k), total.astype(Y.dtype))


def compiled(
    target: str,
    hint: str | None = None,
    *,
    channels: int = 256,
    columns: int = 128,
    rows: int = 128,
    order: str = "rsc",
    mode: str | None = None,
    width: Any = 9,
    hints: dict[str, Any] | None = None,
) -> tilec.Compiled:
    shapes = f"X: f16[16,5,{width},{channels}], F: f16[3,3,{channels},{columns}], Y: f32[16,5,{width},{columns}]"
    signature = f"{shapes}, rows={rows}, columns={columns}, order={order!r}, mode={mode!r}"
    given = {**(hints or {}), **({} if hint is None else {"convolution": hint})}
    return tilec.compile(convolution, target=target, signature=signature, hints=given, stop="ptx")


def lowering_of(kernel: tilec.Compiled) -> str:
    """The lowering, by its instructions or by the pixels of its copies: a run has more pixels than a tile."""
    if "tcgen05.shift" in kernel.ptx:
        return "stationary"
    text = re.sub(r"\s+", " ", kernel.stage("gpu").content(False).decode())
    pixels = map(int, re.findall(r"kind im2col lower .*? box \[\d+, (\d+)\]", text))
    return "run" if max(pixels) > 128 else "im2col"


def remarks_of(kernel: tilec.Compiled) -> list[str]:
    return [remark.message for remark in kernel.all_remarks if remark.topic == "convolution"]


def instructions(kernel: tilec.Compiled) -> list[str]:
    """The PTX without comments and lines."""
    text = re.sub(r"//[^\n]*", "", kernel.ptx)
    return [line.strip() for line in text.splitlines() if line.strip() and ".loc" not in line]


# In the model, shared memory bounds the tiles of sm_100a, and a run writes less to it. The tensor core of sm_90a waits
# at the end of each run: for 256 columns, this wait is longer than the time that a run saves.
CHOICES = [("sm_100a", 256, "run"), ("sm_100a", 128, "run"), ("sm_90a", 256, "im2col"), ("sm_90a", 128, "run")]


@pytest.mark.parametrize(("target", "columns", "chosen"), CHOICES)
def test_model_chooses(target: str, columns: int, chosen: str) -> None:
    """The kernel equals the kernel of a hint with the choice. A remark names the choice, and the time of the other."""
    kernel, other = compiled(target, columns=columns), compiled(target, chosen, columns=columns)
    assert lowering_of(kernel) == chosen
    assert instructions(kernel) == instructions(other)
    (remark,) = remarks_of(kernel)
    expected = {"run": "% less time by the model than with a copy of", "im2col": "hint convolution=run, takes "}
    assert expected[chosen] in remark
    assert not remarks_of(other)


def test_model_chooses_runs_in_place() -> None:
    """With allow_unconfirmed multiplies read the taps of a run: the tensor core of sm_90a does not wait at its end."""
    for columns in (128, 256):
        kernel = compiled("sm_90a", columns=columns, width=64, hints=ALLOWED)
        assert " shifted 2 every 64 by 66" in re.sub(r"\s+", " ", kernel.stage("gpu").content(False).decode())
        assert "% less time by the model than with a copy of" in remarks_of(kernel)[0]
        assert instructions(kernel) == instructions(compiled("sm_90a", "run", columns=columns, width=64, hints=ALLOWED))
    assert lowering_of(compiled("sm_90a", columns=256, width=64)) == "im2col"


@ct.kernel
def product(A, B, C, rows: ct.Constant[int], columns: ct.Constant[int]):
    i, j, total = ct.bid(0), ct.bid(1), ct.zeros((rows, columns), ct.float32)
    for k in range(ct.num_tiles(A, 1, (rows, 64))):
        total = ct.mma(ct.load(A, (i, k), (rows, 64)), ct.load(B, (k, j), (64, columns)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


def tensor_share(kernel: tilec.Compiled) -> float:
    """The part of the time in which the tensor pipe multiplies, in the loop that multiplies most."""
    (report,) = reports_of(kernel, "cost")
    return max(report.loops, key=lambda loop: loop.work.multiply_adds).tensor_share


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "columns", "hint"), [(128, 128, "run"), (128, 128, None), (256, 256, None)])
def test_tensor_pipe_is_as_busy_as_in_a_matrix_product(rows: int, columns: int, hint: str | None, target: str) -> None:
    """At least 0.92 of the share in a product of equal M, N and K, with 256 channels and filters."""
    hints = {"num_ctas": rows // 128}
    kernel = compiled(target, hint, channels=256, columns=columns, rows=rows, hints=hints)
    pixels = 16 * 5 * 9
    shapes = f"A: f16[{pixels},{9 * 256}], B: f16[{9 * 256},256], C: f32[{pixels},256]"
    signature = f"{shapes}, rows={rows}, columns={columns}"
    other = tilec.compile(product, target=target, signature=signature, hints=hints, stop="ptx")
    assert tensor_share(kernel) >= 0.92 * tensor_share(other)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ["rsc", "crs", "static", "backwards"])
def test_loops_in_any_order_get_runs(order: str, target: str) -> None:
    random = np.random.default_rng(5)
    x = random.integers(-3, 4, (16, 5, 9, 72)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 72, 128)).astype(np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    kernel = compiled(target, channels=72, order=order)
    assert lowering_of(kernel) == "run"
    for backend, settings in backends([2]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (6, 1), (x, f, result, 128, 128, order, None), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("hint", ["im2col", "run"])
@pytest.mark.parametrize("target", TARGETS)
def test_hint_is_followed(target: str, hint: str) -> None:
    """Each hint gives the kernel of a view with this mode."""
    for columns in (128, 256):
        kernel = compiled(target, hint, columns=columns)
        assert lowering_of(kernel) == hint
        assert instructions(kernel) == instructions(compiled(target, columns=columns, mode=hint))


def test_stationary_by_a_hint() -> None:
    """Tiles of mode w128 have the same pixels as tiles that stay in tensor memory."""
    random = np.random.default_rng(6)
    x = random.integers(-3, 4, (16, 5, 9, 72)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 72, 128)).astype(np.float16)
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
    assert "tcgen05.shift" not in compiled("sm_100a", channels=72, mode="w128", hints=ALLOWED).ptx
    kernel = compiled("sm_100a", "stationary", channels=72, mode="w128", hints=ALLOWED)
    assert lowering_of(kernel) == "stationary"
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (10, 1), (x, f, result, 128, 128, "rsc", "w128"), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)


@ct.kernel
def along_one_dimension(X, F, Y):
    pixels, total = ct.im2col_view(X, window=3, padding=1, tile=(128, 64)), ct.zeros((128, 64), ct.float32)
    for s in range(3):
        w = ct.load(F, (s, 0, 0), (1, 64, 64)).reshape((64, 64))
        total = ct.mma(ct.load(pixels, (ct.bid(0), 0), offset=s), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64)), (ct.bid(0), 0), total)


def test_sequences_stay_without_a_mode() -> None:
    """Tiles of [N, W, C] are numbered alike in all modes."""
    random = np.random.default_rng(7)
    x = random.integers(-3, 4, (20, 13, 64)).astype(np.float16)
    f = random.integers(-3, 4, (3, 64, 64)).astype(np.float16)
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=1)
    signature = "X: f16[20,13,64], F: f16[3,64,64], Y: f32[20,13,64]"
    hints = ALLOWED | {"convolution": "stationary"}
    kernel = tilec.compile(along_one_dimension, target="sm_100a", signature=signature, hints=hints, stop="ptx")
    assert "tcgen05.shift" in kernel.ptx
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (3,), (x, f, result), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)


REFUSED = {
    "no TMA": ({"hint": "im2col", "hints": {"tma": False}}, "im2col cannot be followed: TMA is switched off"),
    "width": ({"width": "?", "hint": "run"}, "run cannot be followed: array: the width of the images is not known"),
    "rows of an image": (
        {"hint": "stationary", "hints": ALLOWED},
        "stationary cannot be followed: expected tiles of pixels at one position of the spatial dimensions but W, as "
        "of mode='w128': give the views of images and result this mode",
    ),
    "pixels": (
        {"hint": "stationary", "hints": ALLOWED, "rows": 64},
        "stationary cannot be followed: expected tiles of 128, 256, 512 or 1024 pixels, got 64",
    ),
    "order of halos": (
        {"hint": "stationary", "mode": "w128"},
        "stationary cannot be followed: mode: NVIDIA does not document where im2col::w::128 stores the pixels",
    ),
    "no tensor memory": (
        {"hint": "stationary", "target": "sm_90a"},
        "stationary cannot be followed: sm_90a has no tensor memory: use run or im2col",
    ),
    "no tensor memory, fewer pixels": (
        {"hint": "weights", "target": "sm_90a", "rows": 32},
        "weights cannot be followed: sm_90a has no tensor memory: use run or im2col",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hint_that_cannot_be_followed_is_an_error(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(UnsupportedError, match=re.escape(f"error: convolution={message}")):
        compiled(**({"target": "sm_100a"} | given))


def test_unknown_lowering_is_refused() -> None:
    message = "hint 'convolution': expected one of im2col, run, stationary, weights, got 'rum'"
    with pytest.raises(UsageError, match=re.escape(message)):
        compiled("sm_90a", "rum")


@pytest.mark.parametrize("target", TARGETS)
def test_unknown_width_is_named(target: str) -> None:
    """A remark says how to get a run."""
    (remark,) = remarks_of(compiled(target, width="?"))
    assert remark.startswith(f"{EACH}: array: the width of the images is not known: give it in the signature")


@ct.kernel
def other_loops(X, F, Y, kind: ct.Constant[str]):
    pixels = ct.im2col_view(X, window=(1, 3), padding=((0, 0), (1, 1)), tile=(128, 64))
    total = ct.zeros((128, 64), ct.float32)
    if kind == "one tap":
        total = ct.mma(ct.load(pixels, (ct.bid(0), 0), offset=(0, 1)), ct.load(F, (0, 0), (64, 64)), total)
    elif kind == "tap of a block":
        total = ct.mma(ct.load(pixels, (ct.bid(0), 0), offset=(0, ct.bid(1))), ct.load(F, (0, 0), (64, 64)), total)
    elif kind == "scaled between taps":
        for s in range(3):
            for c in range(2):
                total = ct.mma(ct.load(pixels, (ct.bid(0), c), offset=(0, s)), ct.load(F, (c, s), (64, 64)), total)
            total = total * 0.5
    else:
        for s in range(3):
            total = total + ct.load(pixels, (ct.bid(0), 0), offset=(0, s)).astype(ct.float32)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64)), (ct.bid(0), 0), total)


OTHER = {
    "one tap": [],
    "tap of a block": [],
    "sum of pixels": [],
    "scaled between taps": [
        f"{EACH}: offset: the tap along W is not a constant, also after the loop over it is unrolled"
    ],
}


@pytest.mark.parametrize("kind", OTHER)
def test_loops_without_a_choice(kind: str) -> None:
    """Kernels without a loop over the taps of multiplies have no remark. A loop that is not unrolled has a reason."""
    signature = f"X: f16[16,5,9,128], F: f16[128,192], Y: f32[16,5,9,64], kind={kind!r}"
    kernel = tilec.compile(other_loops, target="sm_100a", signature=signature, stop="ptx")
    assert remarks_of(kernel) == OTHER[kind]


@ct.kernel
def two_convolutions(X, Z, F, G, Y):
    """The second convolution has few channels, and the width of its images is known at the launch."""
    first, second = ct.im2col_view(X, 3, padding=1, tile=(128, 64)), ct.im2col_view(Z, 3, padding=1, tile=(128, 16))
    total = ct.zeros((128, 128), ct.float32)
    for r in range(3):
        for s in range(3):
            w = ct.load(G, (r, s, 0, 0), (1, 1, 16, 128)).reshape((16, 128))
            total = ct.mma(ct.load(second, (ct.bid(0), 0), offset=(r, s)), w, total)
    for r in range(3):
        for s in range(3):
            for c in range(first.num_tiles(1)):
                w = ct.load(F, (r, s, c, 0), (1, 1, 64, 128)).reshape((64, 128))
                total = ct.mma(ct.load(first, (ct.bid(0), c), offset=(r, s)), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 128)), (ct.bid(0), 0), total)


def test_each_view_has_its_own_choice() -> None:
    images = "X: f16[16,5,9,512], Z: f16[16,5,?,16]"
    signature = f"{images}, F: f16[3,3,512,128], G: f16[3,3,16,128], Y: f32[16,5,9,128]"
    kernel = tilec.compile(two_convolutions, target="sm_100a", signature=signature, stop="ptx")
    first, second = remarks_of(kernel)
    assert first.startswith("one copy has the pixels of all taps along W")
    assert second.startswith(f"{EACH}: array: the width of the images is not known")
    random = np.random.default_rng(8)
    x, z, f, g = (
        random.integers(-3, 4, shape).astype(np.float16)
        for shape in ((16, 5, 9, 512), (16, 5, 9, 16), (3, 3, 512, 128), (3, 3, 16, 128))
    )
    exact = sum(
        conv_forward(images, filters.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)
        for images, filters in ((x, f), (z, g))
    )
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (6,), (x, z, f, g, result), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)
