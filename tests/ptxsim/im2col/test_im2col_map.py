"""Im2col tensor maps: the limits of their fields, and the instructions that may use them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from im2col_copies import THREADS, PixelMap, load_body, store_body

from tilec.runtime.ptxsim import _native as ptxsim

NWC, NHWC, NDHWC = (2, 9, 64), (2, 9, 9, 64), (2, 9, 9, 9, 64)
ROW = PixelMap("im2col", [0], [0], channels=64, pixels=16, swizzle="128B")
IMAGE = replace(ROW, lower=[0, 0], upper=[0, 0])
VOLUME = replace(ROW, lower=[0, 0, 0], upper=[0, 0, 0])
WIDE = replace(ROW, kind="im2col_w")


@pytest.fixture
def map_of(encode_tensor_map, aligned):
    """The bytes of a map over a tensor of zeros."""
    return lambda shape, pixel_map: pixel_map.encode(encode_tensor_map, aligned(np.zeros(shape, np.uint16)))


WIDE_TENSOR = (1, 40000, 8)
NO_SWIZZLE = {"channels": 8, "swizzle": "none"}
# Each limit: the shape, the fields of an accepted map, those of a refused one, and the message.
LIMITS = {
    "5.5.4.1 corners, 3D, least": (WIDE_TENSOR, ROW, {"lower": [-32768], **NO_SWIZZLE}, None, ""),
    "5.5.4.1 corners, 3D, most": (WIDE_TENSOR, ROW, {"upper": [32767], **NO_SWIZZLE}, None, ""),
    "5.5.4.1 corners, 4D, least W": (
        NHWC, IMAGE, {"lower": [-128, 0]}, {"lower": [-129, 0]},
        "lower corner W of -128 to 127 for a map of kind im2col and rank 4, got -129",
    ),
    "5.5.4.1 corners, 4D, most H": (
        NHWC, IMAGE, {"upper": [0, 127]}, {"upper": [0, 128]},
        "upper corner H of -128 to 127 for a map of kind im2col and rank 4, got 128",
    ),
    "5.5.4.1 corners, 5D, least D": (
        NDHWC, VOLUME, {"lower": [0, 0, -16]}, {"lower": [0, 0, -17]},
        "lower corner D of -16 to 15 for a map of kind im2col and rank 5, got -17",
    ),
    "5.5.4.1 corners, 5D, most W": (
        NDHWC, VOLUME, {"upper": [15, 0, 0]}, {"upper": [16, 0, 0]},
        "upper corner W of -16 to 15 for a map of kind im2col and rank 5, got 16",
    ),
    "5.5.5.1 corners of im2col::w, 5D": (NDHWC, WIDE, {"lower": [-32768], "upper": [32767]}, None, ""),
    "5.5.4.1 box of one position": (
        NHWC, IMAGE, {"lower": [0, 4], "upper": [0, -4]}, {"lower": [0, 5], "upper": [0, -4]},
        "lower corner H of at most 4, the last coordinate plus the upper corner, got 5",
    ),
    "5.5.5.1 box of one position": (
        NHWC, WIDE, {"lower": [-8], "upper": [-16]}, {"lower": [-8], "upper": [-17]},
        "lower corner W of at most -9, the last coordinate plus the upper corner, got -8",
    ),
    "driver: channels per pixel": (
        NHWC, IMAGE, {"channels": 256, "swizzle": "none"}, {"channels": 264, "swizzle": "none"},
        "channels per pixel of 1 to 256 for a map of kind im2col and rank 4, got 264",
    ),
    "driver: at least one channel": (NHWC, IMAGE, {}, {"channels": 0}, "channels per pixel of 1 to 256 .* got 0"),
    "5.5.3.1 channels of a multiple of 16 bytes": (
        NHWC, IMAGE, {"channels": 8, "swizzle": "none"}, {"channels": 12, "swizzle": "none"},
        "channels per pixel of a multiple of 16 bytes, got 24",
    ),
    "driver: channels within the span of the swizzle": (
        NHWC, IMAGE, {"channels": 32, "swizzle": "64B"}, {"channels": 40, "swizzle": "64B"},
        "channels per pixel of at most 64 bytes with swizzle 64B, got 80",
    ),
    "driver: pixels per column": (
        NHWC, IMAGE, {"pixels": 1024}, {"pixels": 1025},
        "pixels per column of 1 to 1024 for a map of kind im2col and rank 4, got 1025",
    ),
    "driver: at least one pixel": (NHWC, WIDE, {"pixels": 1}, {"pixels": 0}, "pixels per column of 1 to 1024 .* got 0"),
    "5.5.5.1 pixels per column are ignored": (NHWC, WIDE, {"kind": "im2col_w128", "pixels": 0}, None, ""),
    "5.5.4 dimensions": (NWC, ROW, {}, None, ""),
    "5.5.5 swizzle of im2col::w": (
        NHWC, WIDE, {"swizzle": "128B_atom_32B"}, {"swizzle": "none"},
        "a swizzle other than none and 128B_atom_32B_flip_8B for a map of kind im2col_w and rank 4, got none",
    ),
    "5.5.5 swizzle of im2col::w::128": (
        NHWC, replace(WIDE, kind="im2col_w128"), {"swizzle": "64B", "channels": 32}, {"swizzle": "none"},
        "a swizzle other than none and 128B_atom_32B_flip_8B for a map of kind im2col_w128 and rank 4, got none",
    ),
    "5.5.7 swizzle 96B of im2col::w::128": (
        NHWC, replace(WIDE, channels=48, swizzle="96B"), {}, {"kind": "im2col_w128"},
        "a swizzle other than 96B for a map of kind im2col_w128 and rank 4, got 96B",
    ),
    "5.5.6 interleave of im2col::w": (
        NHWC, WIDE, {}, {"interleave": 1}, "no interleaved layout for a map of kind im2col_w and rank 4, got 16B"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_fields(map_of, name):
    """PTX ISA 5.5.4.1, 5.5.5, 5.5.5.1 and 5.5.6; CUDA driver API, cuTensorMapEncodeIm2col and Im2colWide."""
    shape, pixel_map, accepted, refused, message = LIMITS[name]
    assert ptxsim.tensor_map_error(map_of(shape, replace(pixel_map, **accepted))) == ""
    if refused is not None:
        error = ptxsim.tensor_map_error(map_of(shape, replace(pixel_map, **refused)))
        assert error.startswith("expected")
        assert re.search(message, error)


def test_flip_is_no_swizzle_of_the_wide_kinds(map_of):
    """PTX ISA 5.5.5: swizzle 128B with atoms of 32 bytes and a flip of 8 bytes is not valid for im2col::w."""
    encoded = bytearray(map_of(NHWC, replace(WIDE, swizzle="128B_atom_32B")))
    encoded[10] += 1 << 3  # the atomicity, bits 19 and 20 of the word at 8
    assert "got 128B_atom_32B_flip_8B" in ptxsim.tensor_map_error(bytes(encoded))


@pytest.mark.parametrize("rank", [1, 2])
def test_rank_of_an_im2col_map(encode_tensor_map, rank):
    """PTX ISA 5.5.4: im2col mode supports tensors of 3, 4 and 5 dimensions."""
    tiled = encode_tensor_map(0x7000_0000, "u16", [64] * rank, [128] * (rank - 1), [64] * rank)
    error = ptxsim.tensor_map_error(tiled[:64] + ROW.fields())
    assert error == f"expected rank 3 to 5 for a map of kind im2col, got {rank}"


def test_kind_of_a_map(encode_tensor_map):
    """The kind is a word of 32 bits, which only the simulator defines."""
    tiled = encode_tensor_map(0x7000_0000, "u16", [64] * 3, [128] * 2, [64] * 3)
    for kind in (4, 256):
        encoded = tiled[:64] + kind.to_bytes(4, "little") + tiled[68:]
        assert ptxsim.tensor_map_error(encoded) == f"expected a kind of 0 to 3, got {kind}"


UNDOCUMENTED = [
    (replace(IMAGE, strides=[2, 2, 2]), "an element stride of 2 in dimension 3 (N) for a map of kind im2col"),
    (replace(WIDE, channels=16, swizzle="32B"), "swizzle 32B for a map of kind im2col_w"),
    (replace(WIDE, swizzle="128B_atom_64B"), "swizzle 128B_atom_64B for a map of kind im2col_w"),
    (replace(IMAGE, channels=32), "the shared-memory pitch of a box row of 64 bytes with swizzle 128B"),
]


@pytest.mark.parametrize(("pixel_map", "message"), UNDOCUMENTED)
def test_undocumented_fields(map_of, pixel_map, message):
    """PTX ISA 5.5.4.2 gives N no traversal stride; the driver encodes three swizzles for im2col::w."""
    assert message in ptxsim.tensor_map_undocumented(map_of(NHWC, pixel_map))
    assert ptxsim.tensor_map_undocumented(map_of(NHWC, IMAGE)) == ""
    assert ptxsim.tensor_map_undocumented(map_of(NHWC, WIDE)) == ""


# The kind of the map, the kind that the mode of the instruction needs, its mode.
MISMATCHES = [
    (kind, needed, mode)
    for kind in ("tiled", "im2col", "im2col_w", "im2col_w128")
    for needed, mode in (("im2col", "im2col"), ("im2col_w", "im2col::w"), ("im2col_w128", "im2col::w::128"))
    if kind != needed
]


@pytest.mark.parametrize(("kind", "needed", "mode"), MISMATCHES)
def test_mode_and_kind_agree(simulate, map_of, aligned, kind, needed, mode):
    """PTX ISA 5.5.2: the access mode is of the instruction and of its tensor map."""
    image = aligned(np.zeros(8, np.uint16))
    encoded = map_of(NHWC, replace(WIDE, kind=kind, lower=[0, 0], upper=[0, 0]))
    if kind == "tiled":
        encoded = encoded[:0x37] + b"\x3f" + encoded[0x38:]  # a box of 64 elements
    with pytest.raises(ptxsim.Trap, match=f"a tensor map of kind {needed} with .{mode}, got {kind}$") as trap:
        simulate(load_body(needed, (0, 0, 0, 0), (0, 0), 16), encoded, image, block=THREADS)
    assert trap.value.kind == "descriptor"


@pytest.mark.parametrize("kind", ["im2col", "im2col_w", "im2col_w128"])
def test_tiled_copies_need_a_tiled_map(simulate, map_of, aligned, kind):
    """PTX ISA 5.5.2: .tile is the mode without a modifier."""
    image = aligned(np.zeros(8, np.uint16))
    encoded = map_of(NHWC, replace(WIDE, kind=kind, lower=[0, 0], upper=[0, 0]))
    body = load_body("im2col", (0, 0, 0, 0), (0, 0), 16).replace(".im2col", "").replace(", {0, 0};", ";")
    with pytest.raises(ptxsim.Trap, match=f"a tensor map of kind tiled with .tile, got {kind}$") as trap:
        simulate(body, encoded, image, block=THREADS)
    assert trap.value.kind == "descriptor"


@pytest.mark.parametrize("kind", ["tiled", "im2col_w", "im2col_w128"])
def test_stores_need_a_map_of_kind_im2col(simulate, map_of, aligned, kind):
    """PTX ISA 9.7.9.27.1.2: .im2col_no_offs is the mode of stores through a map of kind im2col."""
    image = aligned(np.zeros(8, np.uint16))
    encoded = map_of(NHWC, replace(WIDE, kind=kind, lower=[0, 0], upper=[0, 0]))
    if kind == "tiled":
        encoded = encoded[:0x37] + b"\x3f" + encoded[0x38:]
    with pytest.raises(ptxsim.Trap, match=f"kind im2col with .im2col_no_offs, got {kind}$") as trap:
        simulate(store_body((0, 0, 0, 0), 16), encoded, image, block=THREADS)
    assert trap.value.kind == "descriptor"


def test_interleaved_im2col_map_is_not_supported(simulate, map_of, aligned):
    """PTX ISA 5.5.6 gives no order of the pixels of an interleaved layout in im2col mode."""
    encoded = map_of(NHWC, replace(IMAGE, channels=8, swizzle="none", interleave=1))
    with pytest.raises(ptxsim.Trap, match="im2col tensor map with an interleaved layout") as trap:
        simulate(
            load_body("im2col", (0, 0, 0, 0), (0, 0), 256), encoded, aligned(np.zeros(128, np.uint16)), block=THREADS,
            allow_unconfirmed=True,
        )  # fmt: skip
    assert trap.value.kind == "unsupported"


def test_rank_of_the_instruction(simulate, map_of, aligned):
    """PTX ISA 9.7.9.27.1.2: the dimension of the instruction is that of its tensor map."""
    with pytest.raises(ptxsim.Trap, match="a tensor map of rank 3, got rank 4") as trap:
        simulate(
            load_body("im2col", (0, 0, 0), (0,), 2048), map_of(NHWC, IMAGE), aligned(np.zeros(1024, np.uint16)),
            block=THREADS,
        )  # fmt: skip
    assert trap.value.kind == "descriptor"


REPLACE = """
.shared .align 128 .b8 map[128];
ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2];
mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; cvt.u64.u32 %rd3, %r1; add.u64 %rd4, %rd0, %rd3;
ld.global.b32 %r2, [%rd4]; mov.u32 %r3, map; add.u32 %r4, %r3, %r1; st.shared.b32 [%r4], %r2;
bar.warp.sync -1;
setp.eq.u32 %p0, %r0, 0; mov.b32 %r5, 5;
@%p0 tensormap.replace.tile.{field}.shared::cta.b1024.{value};
bar.warp.sync -1;
add.u64 %rd5, %rd1, %rd3; ld.shared.b32 %r2, [%r4]; st.global.b32 [%rd5], %r2;
"""
# The field, and the first byte and the bytes that it changes.
REPLACEMENTS = [
    ("global_address", "b64 [%r3], %rd2", 0, None),
    ("global_dim", "b32 [%r3], 1, %r5", 0x24, b"\4\0\0\0"),
    ("global_stride", "b64 [%r3], 1, 1024", 0x10, b"\x40\0\0\0"),
    ("element_stride", "b32 [%r3], 2, 2", 0x34, b"\x40"),
]


@pytest.mark.parametrize(("field", "value", "at", "changed"), REPLACEMENTS)
def test_replaced_fields_are_in_the_first_64_bytes(simulate, map_of, aligned, field, value, at, changed):
    """PTX ISA 9.7.9.28: the fields of tensormap.replace; corners, channels and pixels are not among them."""
    before = np.frombuffer(map_of(NHWC, replace(IMAGE, lower=[-3, -2], upper=[1, 2])), np.uint8)
    after, address = aligned(np.zeros(128, np.uint8)), aligned(np.zeros(16, np.uint8))
    simulate(REPLACE.format(field=field, value=value), aligned(before), after, address)
    changed = changed or address.ctypes.data.to_bytes(8, "little")
    expected = bytearray(before.tobytes())
    expected[at : at + len(changed)] = changed
    assert after.tobytes() == bytes(expected)


def test_im2col_map_has_no_box_to_replace(simulate, map_of, aligned):
    """PTX ISA 5.5.4.1: channels per pixel and pixels per column define the copy, and tensormap.replace has neither."""
    before, after = aligned(np.frombuffer(map_of(NHWC, IMAGE), np.uint8)), aligned(np.zeros(128, np.uint8))
    with pytest.raises(ptxsim.Trap, match="a tiled tensor map in the replacement of a box extent, got") as trap:
        simulate(REPLACE.format(field="box_dim", value="b32 [%r3], 0, %r5"), before, after, after)
    assert trap.value.kind == "descriptor"
