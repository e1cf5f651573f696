"""Tensor maps that recipes compute at launch: values, errors and encoding."""

import struct
from dataclasses import replace

import pytest
from tensor_map_cases import MATRIX, NDHWC, NHWC, W128, W

from tilec.errors import InputError, SourceLocation
from tilec.lowering.target import target_named
from tilec.lowering.tma.rules import violations
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.tensor_maps.expression import Operation, Parameter
from tilec.runtime.tensor_maps.padding_memory import over_padding, reads_nothing
from tilec.runtime.tensor_maps.tensor_map import Recipe, encode_for_simulator, location_of, make

NAMES = ["A", "A.shape[0]", "A.shape[1]", "A.strides[0]", "A.strides[1]"]
RECIPE = Recipe(
    base=Parameter(0),
    element="bf16",
    extents=(Parameter(2), Parameter(1)),
    strides=(Operation("mul", Parameter(3), 2),),
    box=(64, 128),
    element_strides=(1, 1),
    swizzle="128B",
    location="gemm.py:12:9",
)


def test_map_of_a_recipe_and_arguments() -> None:
    tensor_map = make(RECIPE, [0x7F0000001000, 1000, 776, 776, 1], NAMES)
    assert (tensor_map.base, tensor_map.extents, tensor_map.strides) == (0x7F0000001000, (776, 1000), (1552,))


def test_stride_of_an_extent_of_1_is_ignored() -> None:
    tensor_map = make(RECIPE, [0x1000, 1, 776, 777, 1], NAMES)
    assert (tensor_map.extents, tensor_map.strides) == ((776, 1), (16,))


def test_violation_names_argument_rule_and_line() -> None:
    with pytest.raises(InputError) as raised:
        make(RECIPE, [0x1000, 1000, 777, 777, 1], NAMES)
    assert str(raised.value).splitlines() == [
        "gemm.py:12:9: error: tensor map over 'A', stride of dimension 1: "
        "expected a multiple of 16 bytes from 0 to 2**40, got 1554 bytes "
        "(CUDA driver API, cuTensorMapEncodeTiled, globalStrides)",
        "note: its value is (A.strides[0] * 2)",
    ]


def test_misaligned_base_is_refused() -> None:
    message = "over 'A', base address: expected an address that is a multiple of 16 bytes, got 0x1008"
    with pytest.raises(InputError, match=message):
        make(RECIPE, [0x1008, 1000, 776, 776, 1], NAMES)


IMAGES = ["X", "X.shape[0]", "X.shape[1]", "X.shape[2]", "X.shape[3]"]
# Dense f16 images NHWC, in columns of 128 pixels and 64 channels of a 3x3 window with padding 1 and stride 2.
IM2COL = Recipe(
    base=Parameter(0),
    element="f16",
    extents=(Parameter(4), Parameter(3), Parameter(2), Parameter(1)),
    strides=(
        Operation("mul", Parameter(4), 2),
        Operation("mul", Operation("mul", Parameter(4), Parameter(3)), 2),
        Operation("mul", Operation("mul", Operation("mul", Parameter(4), Parameter(3)), Parameter(2)), 2),
    ),
    box=(),
    element_strides=(1, 2, 2, 1),
    swizzle="128B",
    location="conv.py:5:9",
    kind="im2col",
    lower=(-1, -1),
    upper=(-1, -1),
    channels_per_pixel=64,
    pixels_per_column=128,
)


def test_im2col_map_of_a_recipe_and_arguments() -> None:
    assert make(IM2COL, [0x1000, 4, 30, 32, 64], IMAGES, "sm_90a") == TensorMap(
        element="f16",
        extents=(64, 32, 30, 4),
        strides=(128, 4096, 122880),
        box=(),
        element_strides=(1, 2, 2, 1),
        base=0x1000,
        swizzle="128B",
        kind="im2col",
        lower=(-1, -1),
        upper=(-1, -1),
        channels_per_pixel=64,
        pixels_per_column=128,
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"channels_per_pixel": 512}, "tensor map over 'X', channels per pixel: expected rows of at most 128 bytes"),
        ({"pixels_per_column": 2000}, "tensor map over 'X', pixels per column: expected 1 to 1024 pixels, got 2000"),
    ],
)
def test_limits_of_im2col_boxes(changes: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as raised:
        make(replace(IM2COL, **changes), [0x1000, 4, 30, 32, 64], IMAGES, "sm_90a")
    assert raised.value.message.startswith(message)


def test_stride_of_0_names_the_signature_that_has_no_map() -> None:
    advice = "compile for a signature in which {}, or pass a copy of the array"
    for stride, reason in (
        (Operation("mul", Parameter(3), 2), "A.strides[0] is 0, as in 'strides (0,1)'"),
        (0, "the stride is the constant 0"),
    ):
        with pytest.raises(InputError) as raised:
            make(replace(RECIPE, strides=(stride,)), [0x1000, 1000, 776, 0, 1], NAMES)
        assert raised.value.message.endswith(f": {advice.format(reason)}")


def test_wide_map_for_hopper_is_refused() -> None:
    wide = replace(IM2COL, kind="im2col_w", lower=(-1,), upper=(-1,))
    with pytest.raises(InputError) as raised:
        make(wide, [0x1000, 4, 30, 32, 64], IMAGES, "sm_90a")
    assert str(raised.value) == (
        "conv.py:5:9: error: tensor map over 'X', target: expected compute capability 10.0 or later for kind im2col_w, "
        "got sm_90a (CUDA driver API, cuTensorMapEncodeIm2colWide, compute capability)"
    )


# No image, no channel, no row; and heights and widths below the window, whose box is empty.
@pytest.mark.parametrize(
    ("n", "h", "w", "c"), [(0, 9, 9, 64), (4, 9, 9, 0), (4, 0, 9, 64), (4, 9, 1, 64), (4, 1, 1, 64)]
)
@pytest.mark.parametrize("kind", ["im2col", "im2col_w"])
def test_map_that_reads_nothing_is_replaced_by_padding(n: int, h: int, w: int, c: int, kind: str) -> None:
    corners = ((-1, -2), (-3, -4)) if kind == "im2col" else ((-1,), (-3,))
    recipe = replace(IM2COL, kind=kind, lower=corners[0], upper=corners[1])
    empty = make(recipe, [0x1000, n, h, w, c], IMAGES, "sm_100a")
    reads_something = n and c and (w > 2 and h > 2 if kind == "im2col" else w > 2 and h)
    assert reads_nothing(empty) and not reads_something
    filled = over_padding(empty, 0x2000)
    assert (filled.base, filled.extents, filled.strides) == (0x2000, (8, 1, 1, 1), (128, 128, 128))
    assert not list(violations(filled, target_named("sm_100a")))
    # The box holds the coordinates of the kernel: from the lower corner to the last position, if there is one.
    last = [max(extent - 1 + up, low) for extent, low, up in zip((w, h), *corners, strict=False)]
    assert (list(filled.lower), list(filled.upper)) == (list(corners[0]), last)


@pytest.mark.parametrize(("lower", "upper"), [((0, 0), (0, 0)), ((1, 2), (0, -1))])
def test_box_of_padding_for_stores_is_one_pixel_of_the_memory(lower: tuple[int, int], upper: tuple[int, int]) -> None:
    """The box of a store lies inside of the tensor, so the corners must not go beyond it (PTX ISA 9.7.9.27.1.3)."""
    empty = make(replace(IM2COL, lower=lower, upper=upper), [0x1000, 0, 9, 9, 64], IMAGES, "sm_100a")
    filled = over_padding(empty, 0x2000)
    assert (filled.lower, filled.upper, filled.extents) == (lower, (0, 0), (8, lower[0] + 1, lower[1] + 1, 1))
    assert filled.base + sum(stride * at for stride, at in zip(filled.strides, lower, strict=False)) == 0x2000
    assert not filled.box_is_empty and not list(violations(filled, target_named("sm_100a")))


def test_corners_of_padding_are_in_range() -> None:
    # Rank 5 has corners up to 15.
    empty = replace(NDHWC, extents=(64, 100, 100, 100, 0))
    filled = over_padding(empty, 0x2000)
    assert filled.upper == (15, 15, 15)
    assert not list(violations(filled, target_named("sm_90a")))


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("k.py:3:7", SourceLocation("k.py", 3, 7)),
        ("k.py:3", SourceLocation("k.py", 3)),
        ("C:/k.py:3:7", SourceLocation("C:/k.py", 3, 7)),
        ("", None),
        ("k.py", None),
    ],
)
def test_location(text: str, location: SourceLocation | None) -> None:
    assert location_of(text) == location


def test_bytes_of_a_matrix() -> None:
    # The second 64-bit word has rank - 1 = 1, element code of bf16 = 10 and swizzle 128B = 3.
    encoded = encode_for_simulator(
        TensorMap("bf16", (776, 1000), (1552,), (64, 128), (1, 2), base=0x7F0000001000, swizzle="128B")
    )
    assert len(encoded) == 128
    assert encoded[:8] == (0x7F0000001000).to_bytes(8, "little")
    assert encoded[8:12] == (1 << 4 | 10 << 7 | 3 << 13).to_bytes(4, "little")
    assert encoded[12:16] == (1552 // 16).to_bytes(4, "little")
    assert encoded[16:32] == bytes(16)
    assert encoded[32:40] == (775).to_bytes(4, "little") + (999).to_bytes(4, "little")
    assert encoded[40:52] == bytes(12)
    assert encoded[52:56] == (1 << 3 | 63 << 24).to_bytes(4, "little")
    assert encoded[56:60] == bytes([127, 0, 0, 0])
    assert encoded[60:] == bytes(68)


@pytest.mark.parametrize(
    ("tensor_map", "fields"),
    [
        (replace(NHWC, lower=(-1, -2), upper=(3, 4)), (1, -1, -2, 0, 3, 4, 0, 64, 64)),
        (replace(NDHWC, lower=(-16, -2, -3), upper=(15, 0, 1)), (1, -16, -2, -3, 15, 0, 1, 64, 64)),
        (replace(W, lower=(-(2**15),), upper=(2**15 - 1,)), (2, -(2**15), 0, 0, 2**15 - 1, 0, 0, 64, 64)),
        (replace(W128, channels_per_pixel=32), (3, -1, 0, 0, -1, 0, 0, 32, 128)),
    ],
)
def test_bytes_of_im2col_kinds(tensor_map: TensorMap, fields: tuple[int, ...]) -> None:
    encoded = encode_for_simulator(tensor_map)
    assert len(encoded) == 128
    # The first half is that of a tiled map whose box is one element.
    box = replace(tensor_map, kind="tiled", box=(1,) * tensor_map.rank, lower=(), upper=())
    assert encoded[:64] == encode_for_simulator(box)[:64]
    # Kind, corners W, H, D, channels and pixels.
    assert encoded[0x40:0x54] == struct.pack("<I6h2H", *fields)
    assert encoded[0x54:] == bytes(128 - 0x54)


@pytest.mark.parametrize(
    ("element", "code", "flag"), [("f32", 7, 0), ("f32_ftz", 8, 0), ("tf32", 7, 1), ("tf32_ftz", 8, 1)]
)
def test_element_code_and_flag_of_tf32(element: str, code: int, flag: int) -> None:
    word = int.from_bytes(encode_for_simulator(replace(MATRIX, element=element))[8:12], "little")
    assert (word >> 7 & 15, word >> 16 & 1) == (code, flag)


def test_bytes_of_flags_and_high_stride_bits() -> None:
    # Bits of the second word: interleave 12:11, NaN fill 15, tf32 16, swizzle atom 20:19. A nibble has bits 35:32 of
    # each stride.
    tensor_map = TensorMap("tf32", (32, 8, 8), (16, 2**39), (32, 8, 8), (1, 1, 1), base=0, fill="nan", interleave="16B")
    atoms = replace(tensor_map, swizzle="128B_atom_32B", interleave="none", fill="zero")
    assert encode_for_simulator(tensor_map)[8:12] == (2 << 4 | 7 << 7 | 1 << 11 | 1 << 15 | 1 << 16).to_bytes(
        4, "little"
    )
    assert encode_for_simulator(atoms)[8:12] == (2 << 4 | 7 << 7 | 3 << 13 | 1 << 16 | 1 << 19).to_bytes(4, "little")
    assert encode_for_simulator(tensor_map)[28:30] == (2**39 >> 4 >> 32 << 4).to_bytes(2, "little")
