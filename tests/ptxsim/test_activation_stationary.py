"""A convolution whose activations stay in tensor memory: taps along W are shifts of one row, borders disabled lanes.

Images have 9 pixels a row and a padding of 1 along W, and a window has three taps, so that each image has as many
outputs as pixels in a row. Lane i is output i of the tile. At tap s it reads pixel i + s of the run that TMA loads with
two pixels of halo, which is the pixel of its own image but at the borders between images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from im2col_copies import PixelMap
from tensor_operations import placed, program

from tilec.runtime.ptxsim import _native as ptxsim

IMAGES, HEIGHT, WIDTH, CHANNELS, FILTERS, TAPS = 17, 3, 9, 32, 8, 3
LANES, HALO, ROW_BYTES, STEP_BYTES = 128, 2, 2 * CHANNELS, 32
STEPS = ROW_BYTES // STEP_BYTES  # multiplies of 16 channels
A_COLUMN = 32
RUN_BYTES = 9216  # 128 + 4 * HALO rows, rounded to the period of swizzle 64B
INSTRUCTION = 0x08000010 | FILTERS >> 3 << 17  # f16 to f32, M 128

# The lanes of the first sixteen that each tap disables, by the first output (image, q) of the tile, worked by hand.
#
# From q = 0: lanes 0 to 8 are image 0, and 9 to 15 image 1. At tap 0, lane 9 needs pixel -1 of image 1 and holds pixel
# 8 of image 0. Lane 0 needs pixel -1 of image 0, which TMA fills with zeros. At tap 2, lane 8 needs pixel 9 of image 0
# and holds pixel 0 of image 1.
#
# From q = 5: lanes 0 to 3 are image 0, 4 to 12 image 1, 13 to 15 image 2. At tap 0, lanes 4 and 13 have q = 0; at tap
# 2, lanes 3 and 12 have q = 8.
VECTORS = {0: (0x0200, 0x0000, 0x0100), 5: (0x2010, 0x0000, 0x1008)}


def masks_of(first: int) -> list[int]:
    """The disabled lanes by tap: the first sixteen are those of VECTORS, the others follow by the period of 9."""
    masks = []
    for tap, word in enumerate(VECTORS[first]):
        border = {0: 0, 1: None, 2: WIDTH - 1}[tap]
        lanes = [lane for lane in range(16, LANES) if (first + lane) % WIDTH == border]
        masks.append(word | sum(1 << lane for lane in lanes))
    return masks


@dataclass(frozen=True)
class Steps:
    """What a program does between the multiplies; each field has a wrong value in a test."""

    masks: tuple[int, ...]
    first: int  # the output of lane 0 along W
    start: int  # the first pixel of the run along W
    shifts: int = 1
    refresh_lane: int = 31
    refresh_row: int = LANES  # of the run: the first new row
    rows_of_a_tap: int = 4
    ashift: bool = False


def steps(first: int, **changes) -> Steps:
    return replace(Steps(tuple(masks_of(first)), first, first - 1), **changes)


def descriptor_of_row(row: int, step: int) -> str:
    """%rd50 is the descriptor of the run from a row on: K-major, swizzle 64B, 8 rows of 64 bytes."""
    fields = 1 << 16 | (8 * ROW_BYTES >> 4) << 32 | 1 << 46 | 4 << 61
    return (
        f"add.u32 %r40, %r39, {row * ROW_BYTES + step * STEP_BYTES};\nshr.u32 %r40, %r40, 4;\n"
        f"cvt.u64.u32 %rd50, %r40;\nor.b64 %rd50, %rd50, {fields:#x};\n"
    )


def operations(plan: Steps, row: int) -> str:
    """The loads, copies, multiplies and shifts of one row of the images: the sum over the taps along W."""
    text = f"""
.shared .align 1024 .b8 run[{RUN_BYTES}];
.shared .align 8 .b64 loaded;
mov.u32 %r39, run;
mov.u32 %r38, loaded;
mbarrier.init.shared::cta.b64 [%r38], 1;
fence.mbarrier_init.release.cluster;
mov.b64 %rd51, p2;
cvta.param.u64 %rd51, %rd51;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r38], {(LANES + 4 * HALO) * ROW_BYTES};
cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes \
    [%r39], [%rd51, {{0, {plan.start}, {row}, 0}}], [%r38], {{{HALO}, 0}};
filled:
mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r38], 0;
@!%p7 bra filled;
mov.b32 %r15, {INSTRUCTION:#x};
"""
    for step in range(STEPS):
        text += f"add.u32 %r{30 + step}, %r14, {A_COLUMN + 8 * step};\n" + descriptor_of_row(0, step)
        text += f"tcgen05.cp.cta_group::1.128x256b [%r{30 + step}], %rd50;\n"
    for tap, mask in enumerate(plan.masks):
        last = tap == TAPS - 1
        for word in range(4):
            text += f"mov.b32 %r{20 + word}, {mask >> 32 * word & 0xFFFFFFFF:#x};\n"
        for step in range(STEPS):
            ashift = ".ashift" if plan.ashift and not last else ""
            text += (
                f"tcgen05.mma.cta_group::1.kind::f16{ashift} [%r14], [%r{30 + step}], %rd{10 + STEPS * tap + step}, "
            )
            text += "%r15, {%r20, %r21, %r22, %r23}, %p4;\n"
        if last:
            break
        for step in range(STEPS):
            if not plan.ashift:
                text += f"tcgen05.shift.cta_group::1.down [%r{30 + step}];\n" * plan.shifts
            text += descriptor_of_row(plan.refresh_row + plan.rows_of_a_tap * tap, step)
            text += f"add.u32 %r41, %r{30 + step}, {plan.refresh_lane << 16};\n"
            text += "tcgen05.cp.cta_group::1.4x256b [%r41], %rd50;\n"
    return text


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


def test_order_of_the_halo_is_unconfirmed(convolve):
    with pytest.raises(ptxsim.Trap, match="halo") as trap:
        convolve(steps(0), allow_unconfirmed=False)
    assert trap.value.kind == "unconfirmed"
