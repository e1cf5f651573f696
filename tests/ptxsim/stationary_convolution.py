"""PTX of a convolution whose activations stay in tensor memory: taps are shifts of one row, borders disabled lanes.

Images have 9 pixels a row and a padding of 1 along W, and a window has three taps, so that each image has as many
outputs as pixels in a row. Lane i is output i of the tile. At tap s it reads pixel i + s of the run that TMA loads with
two pixels of halo, which is the pixel of its own image but at the borders between images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    halo: int = HALO


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
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r38], {(LANES + 4 * plan.halo) * ROW_BYTES};
cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes \
    [%r39], [%rd51, {{0, {plan.start}, {row}, 0}}], [%r38], {{{plan.halo}, 0}};
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
