"""A convolution whose activations stay in tensor memory equals numpy's; a wrong mask, shift or row does not.

`stationary_convolution.py` has the steps, and the vectors of masks.
"""

from __future__ import annotations

import numpy as np
import pytest
from im2col_copies import PixelMap
from stationary_convolution import (
    CHANNELS,
    FILTERS,
    HEIGHT,
    IMAGES,
    LANES,
    STEPS,
    TAPS,
    VECTORS,
    WIDTH,
    Steps,
    masks_of,
    operations,
    steps,
)
from tensor_operations import placed, program

from tilec.runtime.ptxsim import _native as ptxsim


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Images [N, H, W, C] and filters [S, K, C] of positive numbers: each contribution that is lost changes a sum."""
    random = np.random.default_rng(3)
    images = random.integers(1, 4, (IMAGES, HEIGHT, WIDTH, CHANNELS)).astype(np.float16)
    return images, random.integers(1, 4, (TAPS, FILTERS, CHANNELS)).astype(np.float16)


def direct(images: np.ndarray, filters: np.ndarray, first: int, row: int) -> np.ndarray:
    """The outputs of 128 positions from output `first` of image 0 on."""
    padded = np.zeros((IMAGES, WIDTH + 2, CHANNELS), np.int64)
    padded[:, 1:-1] = images[:, row].astype(np.int64)
    windows = np.stack([padded[:, tap : tap + WIDTH] for tap in range(TAPS)])
    sums = np.einsum("snqc,skc->nqk", windows, filters.astype(np.int64))
    return sums.reshape(-1, FILTERS)[first : first + LANES]


@pytest.fixture
def convolve(simulate, encode_tensor_map, aligned):
    """The sums of 128 lanes, and the exact ones."""
    images, filters = arrays()
    tensor = aligned(images)
    pixel_map = PixelMap("im2col_w128", [0], [0], CHANNELS, LANES, swizzle="64B", element="f16")
    encoded = pixel_map.encode(encode_tensor_map, tensor)
    parts = [np.ascontiguousarray(tap[:, 16 * step : 16 * step + 16]) for tap in filters for step in range(STEPS)]
    image, offsets, descriptors = placed(*parts)

    def run(plan: Steps, row: int = 1, **options) -> tuple[np.ndarray, np.ndarray]:
        body = program(image.size, descriptors, offsets, operations(plan, row), FILTERS, clear=True)
        got = np.zeros((LANES, FILTERS), np.float32)
        options = {"allow_unconfirmed": True} | options
        simulate(body, aligned(image), got, encoded, block=128, map_targets=[tensor], **options)
        return got, direct(images, filters, plan.first, row).astype(np.float32)

    return run


@pytest.mark.parametrize("ashift", [False, True], ids=["shift", "ashift"])
@pytest.mark.parametrize("first", VECTORS)
@pytest.mark.parametrize("seed", range(2))
def test_equals_the_direct_convolution(convolve, first, ashift, seed):
    for row in range(HEIGHT):
        got, exact = convolve(steps(first, ashift=ashift), row, seed=seed)
        np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("first", VECTORS)
def test_each_bit_of_the_masks_counts(convolve, first):
    """A bit that is cleared adds the pixel of another image; one that is set drops a pixel, or the zeros of TMA."""
    for tap, mask in enumerate(masks_of(first)):
        for lane in range(16):
            masks = masks_of(first)
            masks[tap] = mask ^ 1 << lane
            got, exact = convolve(steps(first, masks=tuple(masks)))
            padding_by_tma = first == tap == lane == 0
            wrong = [] if padding_by_tma else [lane]
            np.testing.assert_array_equal(np.flatnonzero((got != exact).any(1)), wrong)


@pytest.mark.parametrize(
    "changes",
    [
        {"shifts": 0},
        {"shifts": 2},
        {"refresh_lane": 30},
        {"refresh_row": LANES - 1},
        {"refresh_row": LANES + 4, "rows_of_a_tap": 0},
        {"rows_of_a_tap": 1},
        {"start": 3},
        {"start": 5},
    ],
    ids=str,
)
def test_a_wrong_step_changes_the_sums(convolve, changes):
    got, exact = convolve(steps(5, **changes))
    assert (got != exact).any()


def test_rows_beyond_the_halo_are_reported(convolve):
    with pytest.raises(ptxsim.Trap, match="tcgen05.cp.cta_group::1.4x256b' reads .* which was never written") as trap:
        convolve(steps(0, halo=1))
    assert trap.value.kind == "uninitialised"


def test_order_of_the_halo_is_unconfirmed(convolve):
    with pytest.raises(ptxsim.Trap, match="halo") as trap:
        convolve(steps(0), allow_unconfirmed=False)
    assert trap.value.kind == "unconfirmed"
