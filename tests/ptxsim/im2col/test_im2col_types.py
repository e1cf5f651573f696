"""Element types in the im2col modes: packed types, fills, conversions and reductions (PTX ISA 5.5.1, 5.5.4.3)."""

from __future__ import annotations

import numpy as np
import pytest
from im2col_copies import MODES, PixelMap
from swizzle_images import swizzled
from tensor_copies import UNIT_BYTES, load, store

from tilec.runtime.ptxsim import _native as ptxsim

# Images [W] with a padding of one pixel to the left: the walk of each image is W + 1 pixels from -1 on.
IMAGES, WIDTH, CHANNELS = 30, 5, 256
HALO = {"im2col": 0, "im2col_w": 1, "im2col_w128": 1}
PIXELS = {"im2col": 16, "im2col_w": 15, "im2col_w128": 128}
BITS = {"b4x16": 4, "b4x16_p64": 4, "b6x16_p32": 6}


def walked_rows(tensor: np.ndarray, kind: str, outside: np.ndarray) -> np.ndarray:
    """The pixels from (image 26, W -1) on, in the order of shared memory; `outside` is one outside of the tensor."""
    count = PIXELS[kind] + 4 * HALO[kind]
    walk = [divmod(26 * (WIDTH + 1) + i, WIDTH + 1) for i in range(count)]
    rows = np.array([tensor[n, w - 1] if n < IMAGES and w > 0 else outside for n, w in walk])
    if kind == "im2col_w128":
        # 5.5.5.3: the halo of a group of 32 pixels is the first pixel of the next one.
        return np.concatenate([rows[:128], rows[32:129:32]])
    return rows[: PIXELS[kind] + HALO[kind]]


def information(kind: str) -> list[int]:
    """No offset; the halo."""
    return [0] if kind == "im2col" else [HALO[kind], 0]


@pytest.fixture
def map_of(encode_tensor_map):
    def make(tensor: np.ndarray, element: str, kind: str, channels: int, **changes):
        """The map of an array [N, W, bytes or elements of C]."""
        pixel_map = PixelMap(kind, [changes.pop("lower", -1)], [0], channels, PIXELS[kind])
        bits = BITS.get(element, 8 * tensor.itemsize)
        extents = (tensor.shape[2] * tensor.itemsize * 8 // bits, *tensor.shape[1::-1])
        fields = {"strides": tensor.strides[1::-1], "box": (1, 1, 1), "swizzle": "128B", **changes}
        return encode_tensor_map(tensor.ctypes.data, element, extents, **fields)[:64] + pixel_map.fields()

    return make


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("element", BITS)
def test_packed_types(simulate, map_of, aligned, element, kind, seed):
    """5.5.1.1: 128 channels of a pixel are 64 or 96 bytes of global memory, and 64 or 128 bytes of shared memory."""
    bits, channels = BITS[element], 256 if element == "b4x16" else 128
    size = CHANNELS * bits // 8
    tensor = aligned(np.random.default_rng(2).integers(0, 256, (IMAGES, WIDTH, size), np.uint8))
    first = CHANNELS - channels
    rows = walked_rows(tensor[..., first * bits // 8 :], kind, np.zeros(channels * bits // 8, np.uint8))
    data = UNIT_BYTES if element == "b4x16" else 2 * bits
    image = aligned(np.zeros((rows.size // data, UNIT_BYTES), np.uint8))
    text = load(
        (first, -1, 26), rows.size, image.nbytes, mode=MODES[kind], information=information(kind), bytes_of_unit=data
    )  # fmt: skip
    repeated = many_units(text, len(image))
    simulate(
        repeated, map_of(tensor, element, kind, channels), image, block=128, map_targets=[tensor], seed=seed,
        allow_unconfirmed=True,
    )  # fmt: skip
    np.testing.assert_array_equal(swizzled(image, "128B")[:, :data], rows.reshape(-1, data))


def many_units(text: str, units: int) -> str:
    """128 threads copy the units of the buffer, each every 128th."""
    setup, copies = text.split("ld.shared", maxsplit=1)
    steps = [setup]
    for first in range(0, units, 128):
        steps.append(f"setp.lt.u32 %p5, %r0, {units - first};\n")
        steps += [f"@%p5 {line}\n" for line in f"ld.shared{copies}".strip().splitlines()]
        steps.append("add.u32 %r4, %r4, 2048; add.u64 %rd2, %rd2, 2048;\n")
    return "".join(steps)


FLOATS = {"f16": np.float16, "f32": np.float32, "tf32": np.float32}


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("element", FLOATS)
def test_nan_fill_and_conversion(simulate, map_of, aligned, element, kind):
    """5.5.4.3: pixels outside of the tensor are OOB-NaN; a map of tf32 rounds the others to nearest even."""
    dtype = FLOATS[element]
    tensor = aligned((1 + np.arange(IMAGES * WIDTH * 64) / 4096).astype(dtype).reshape(IMAGES, WIDTH, 64))
    channels = 128 // tensor.itemsize
    given = tensor
    if element == "tf32":
        # 10 fraction bits below 2, 9 below 4, ...: a unit in the last place is 2^13 bits.
        given = (((tensor.view(np.uint32) + 0xFFF + (tensor.view(np.uint32) >> 13 & 1)) >> 13) << 13).view(np.float32)
        assert (given != tensor).any()
    outside = np.frombuffer(b"\xf7\x7f" * 64, dtype)
    rows = walked_rows(given[..., 64 - channels :], kind, outside)
    assert np.isnan(rows).all(axis=1).any()
    image = aligned(np.zeros((rows.nbytes // UNIT_BYTES, UNIT_BYTES), np.uint8))
    text = load((64 - channels, -1, 26), rows.nbytes, mode=MODES[kind], information=information(kind))
    simulate(
        many_units(text, len(image)), map_of(tensor, element, kind, channels, fill_nan=True), image, block=128,
        map_targets=[tensor], allow_unconfirmed=True,
    )  # fmt: skip
    expected = np.ascontiguousarray(rows).view(np.uint8).reshape(-1, UNIT_BYTES)
    np.testing.assert_array_equal(swizzled(image, "128B"), expected)


def test_store_of_six_bits(simulate, map_of, aligned):
    """5.5.1.1.1, .b6p2x16 with im2col_no_offs: twelve bytes per sixteen; pixels beyond the last image are dropped."""
    tensor = aligned(np.zeros((2, WIDTH, 192), np.uint8))
    elements = np.random.default_rng(3).integers(0, 256, (PIXELS["im2col"], 128), np.uint8)
    bits = elements[..., np.newaxis] >> np.arange(6) & 1
    packed = np.packbits(bits.reshape(len(elements), -1), axis=1, bitorder="little")
    map_bytes = map_of(tensor, "b6x16_p32", "im2col", 128, lower=0)
    image = aligned(swizzled(elements, "128B"))
    simulate(store((128, 3, 0), image.nbytes, mode="im2col_no_offs"), map_bytes, image, block=128, map_targets=[tensor])
    expected = np.zeros_like(tensor)
    expected.reshape(-1, 192)[3:, 96:] = packed[:7]
    np.testing.assert_array_equal(tensor, expected)


def test_stores_of_padded_types_are_refused(simulate, map_of, aligned):
    """9.7.9.27.1.1: .b4x16_p64 has no store, and packed types have no reduction."""
    tensor, image = aligned(np.zeros((2, WIDTH, 192), np.uint8)), aligned(np.zeros((128, UNIT_BYTES), np.uint8))
    for element, operation, message in (
        ("b4x16_p64", None, "that stores support, got b4x16_p64"),
        ("b6x16_p32", "add", "that the reduction supports, got b6x16_p32"),
        ("b4x16", "or", "that the reduction supports, got b4x16"),
    ):
        text = store((0, 0, 0), 2048, mode="im2col_no_offs", operation=operation)
        map_bytes = map_of(tensor, element, "im2col", 256 if element == "b4x16" else 128, lower=0)
        with pytest.raises(ptxsim.Trap, match=message) as trap:
            simulate(text, map_bytes, image, block=128, map_targets=[tensor])
        assert trap.value.kind == "descriptor"


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("element", ["b4x16_p64", "b6x16_p32"])
def test_channels_of_padded_types(map_of, aligned, element, kind):
    """9.7.9.27.1.1: 128 channels per pixel, and strides of 32 bytes."""
    tensor = aligned(np.zeros((IMAGES, WIDTH, 192), np.uint8))
    assert ptxsim.tensor_map_error(map_of(tensor, element, kind, 128)) == ""
    for channels in (112, 144):
        error = ptxsim.tensor_map_error(map_of(tensor, element, kind, channels))
        assert error == f"expected 128 channels per pixel with element type {element}, got {channels}"
    error = ptxsim.tensor_map_error(map_of(tensor, element, kind, 128, strides=(192, 976)))
    assert error == "expected stride 2 to be a multiple of 32 bytes, got 976"


@pytest.mark.parametrize("first", [64, 127, 129])
def test_first_channel_of_padded_types(simulate, map_of, aligned, first):
    """9.7.9.27.1.1: the first coordinate is a multiple of 128."""
    tensor, image = aligned(np.zeros((IMAGES, WIDTH, 192), np.uint8)), aligned(np.zeros((128, UNIT_BYTES), np.uint8))
    text = load((first, 0, 0), 1536, 2048, mode="im2col", information=[0], bytes_of_unit=12)
    message = f"coordinate 0 that is a multiple of 128 with element type b6x16_p32, got {first}"
    with pytest.raises(ptxsim.Trap, match=message):
        simulate(text, map_of(tensor, "b6x16_p32", "im2col", 128), image, block=128, map_targets=[tensor])


# (operation, element, the value in memory, the value in shared memory, the result)
REDUCTIONS = [
    ("add", "u64", np.uint64, 2**63, 2**63 + 3, 3), ("add", "bf16", np.uint16, 0x3F80, 0x4000, 0x4040),
    ("add", "f32", np.uint32, 1, 2, 3), ("add", "f32.ftz", np.uint32, 1, 2, 0),
    ("min", "s64", np.int64, -5, 4, -5), ("max", "u32", np.uint32, 5, 2**31, 2**31),
    ("inc", "u32", np.uint32, 7, 7, 0), ("dec", "u32", np.uint32, 0, 9, 9), ("and", "s32", np.int32, 12, 10, 8),
    ("or", "u64", np.uint64, 12, 10, 14), ("xor", "s64", np.int64, 12, 10, 6),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "element", "dtype", "memory", "given", "result"), REDUCTIONS)
def test_reductions(simulate, map_of, aligned, operation, element, dtype, memory, given, result):
    """9.7.9.27.1.3 with im2col_no_offs: ten pixels of two images, of which the first three are not reduced."""
    channels = 128 // np.dtype(dtype).itemsize
    tensor = aligned(np.full((2, WIDTH, channels), memory, dtype))
    image = aligned(np.full(PIXELS["im2col"] * channels, given, dtype))
    text = store((0, 3, 0), image.nbytes, mode="im2col_no_offs", operation=operation)
    map_bytes = map_of(tensor, element, "im2col", channels, lower=0)
    simulate(text, map_bytes, image, block=128, map_targets=[tensor])
    assert (tensor.reshape(10, -1)[:3] == dtype(memory)).all() and (tensor.reshape(10, -1)[3:] == dtype(result)).all()


@pytest.mark.parametrize(("operation", "element"), [("add", "f64"), ("add", "s64"), ("min", "f32"), ("inc", "s32")])
def test_refused_reductions(simulate, map_of, aligned, operation, element):
    dtype = {"f64": np.float64, "s64": np.int64, "f32": np.float32, "s32": np.int32}[element]
    tensor = aligned(np.zeros((2, WIDTH, 128 // np.dtype(dtype).itemsize), dtype))
    text = store((0, 0, 0), 2048, mode="im2col_no_offs", operation=operation)
    map_bytes = map_of(tensor, element, "im2col", tensor.shape[2], lower=0)
    with pytest.raises(ptxsim.Trap, match=f"an element type that the reduction supports, got {element}"):
        simulate(text, map_bytes, aligned(np.zeros(2048, np.uint8)), block=128, map_targets=[tensor])
