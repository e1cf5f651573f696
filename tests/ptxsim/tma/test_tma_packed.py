"""Copies of the sub-byte types .b4x16, .b4x16_p64, .b6x16_p32 and .b6p2x16 (PTX ISA 5.5.1.1, 9.7.9.27.1.1).

In global memory elements are contiguous. The shared-memory images are worked out in numpy from Figures 5 to 7.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from swizzle_images import swizzled
from tensor_copies import UNIT_BYTES, load, multicast_load, prefetch, store

from tilec.runtime.ptxsim import _native as ptxsim

ROWS, ELEMENTS, CONTAINER = 8, 256, 16
# Bytes of 16 elements in global memory. .b6p2x16 has the code of .b6x16_p32: it is the type of stores.
CONTAINER_BYTES = {"b4x16": 8, "b4x16_p64": 8, "b6x16_p32": 12}
# The swizzles of padded types.
SWIZZLES = ("none", "128B", "128B_atom_32B", "128B_atom_64B")


def row_bytes(element: str, count: int) -> int:
    return CONTAINER_BYTES[element] * count // CONTAINER


@pytest.fixture
def tensor(aligned):
    def make(element: str, rows: int = ROWS) -> np.ndarray:
        random = np.random.default_rng(5)
        return aligned(random.integers(0, 256, (rows, row_bytes(element, ELEMENTS)), np.uint8))

    return make


@pytest.fixture
def map_of(encode_tensor_map):
    def make(tensor: np.ndarray, element: str, **changes):
        fields = {"extents": (ELEMENTS, ROWS), "strides": (tensor.strides[0],), "box": (128, 4), "swizzle": "none"}
        address = tensor.ctypes.data + changes.pop("displacement", 0)
        return encode_tensor_map(address, element, **{**fields, **changes})

    return make


def padded(rows: np.ndarray, element: str) -> np.ndarray:
    """The units of 16 bytes of an image: 16 elements each, and padding, which is zero here."""
    size = CONTAINER_BYTES[element]
    units = np.zeros((rows.size // size, UNIT_BYTES), np.uint8)
    units[:, :size] = rows.reshape(-1, size)
    return units


def run_load(simulate, map_bytes, tensor, image, *arguments, **options) -> None:
    run = options.pop("run", {})
    threads = image.size // UNIT_BYTES
    text = load(*arguments, image_bytes=image.size, **options)
    simulate(text, map_bytes, image, block=threads, map_targets=[tensor], **run)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first", [0, 16, 192, -16])
def test_b4x16_is_copied_as_is(simulate, map_of, tensor, aligned, first, seed):
    """5.5.1.1.1, .b4x16: sixteen elements are eight bytes in both memories. Outside of the tensor they are zero."""
    given, image = tensor("b4x16"), aligned(np.zeros((4, 64), np.uint8))
    run_load(simulate, map_of(given, "b4x16"), given, image, (first, 6), 256, run={"seed": seed})
    expected = np.zeros((4, 64), np.uint8)
    for column in range(64):
        at = first // 2 + column
        if 0 <= at < ELEMENTS // 2:
            expected[:2, column] = given[6:, at]
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("element", ["b4x16_p64", "b6x16_p32"])
def test_padded_types_have_a_unit_of_16_bytes_per_16_elements(
    simulate, map_of, tensor, aligned, element, swizzle, seed
):
    """5.5.1.1.1, Figures 5 and 6: 8 or 12 bytes of data, then padding. Transactions are bytes of global memory."""
    given, image = tensor(element), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    size = CONTAINER_BYTES[element]
    map_bytes = map_of(given, element, swizzle=swizzle)
    run_load(
        simulate, map_bytes, given, image, (128, 6), 4 * row_bytes(element, 128), bytes_of_unit=size,
        run={"seed": seed},
    )  # fmt: skip
    rows = np.zeros((4, row_bytes(element, 128)), np.uint8)
    rows[:2] = given[6:, row_bytes(element, 128) :]
    np.testing.assert_array_equal(image, swizzled(padded(rows, element), swizzle))


@pytest.mark.parametrize(("element", "size"), [("b4x16_p64", 8), ("b6x16_p32", 12)])
def test_padding_is_undefined(simulate, map_of, tensor, aligned, element, size):
    """5.5.1.1.1: the padded region is uninitialized."""
    given, image = tensor(element), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    arguments = (map_of(given, element), given, image, (0, 0), 4 * row_bytes(element, 128))
    with pytest.raises(ptxsim.Trap, match="includes padding that a tensor copy leaves undefined") as trap:
        run_load(simulate, *arguments, bytes_of_unit=size + 4)
    assert trap.value.kind == "uninitialised"
    run_load(simulate, *arguments, bytes_of_unit=size + 4, run={"checks": False})


def test_store_over_padding_defines_it(simulate, map_of, tensor, aligned):
    given, image = tensor("b4x16_p64"), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    text = load((0, 0), 256, image.size)
    setup, read = text.split("ld.shared", maxsplit=1)
    text = f"{setup}mov.b64 %rd3, 7;\nst.shared.b64 [%r4+8], %rd3;\nld.shared{read}"
    simulate(text, map_of(given, "b4x16_p64"), image, block=32, map_targets=[given])
    np.testing.assert_array_equal(image[:, 8:].copy().view(np.uint64), np.full((32, 1), 7, np.uint64))


def test_padded_tensor_of_three_dimensions(simulate, map_of, tensor, aligned):
    """5.5.1: dimensions, sizes and strides are those of the other types; the row of 256 elements has 128 bytes."""
    given, image = tensor("b4x16_p64", 12), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    map_bytes = map_of(given, "b4x16_p64", extents=(ELEMENTS, 3, 4), strides=(128, 384), box=(128, 2, 2))
    run_load(simulate, map_bytes, given, image, (0, 1, 2), 256, bytes_of_unit=8)
    rows = given.reshape(4, 3, 128)[2:, 1:, :64]
    np.testing.assert_array_equal(image, padded(np.ascontiguousarray(rows), "b4x16_p64"))


@pytest.mark.parametrize("element", CONTAINER_BYTES)
def test_gather4_of_packed_types(simulate, map_of, tensor, aligned, element):
    given, rows = tensor(element), [3, 7, -1, 0]
    size, width = CONTAINER_BYTES[element], row_bytes(element, 128)
    dense = np.stack([given[row, width:] if row >= 0 else np.zeros(width, np.uint8) for row in rows])
    expected = dense.reshape(-1, UNIT_BYTES) if element == "b4x16" else padded(dense, element)
    image = aligned(np.zeros_like(expected))
    run_load(
        simulate, map_of(given, element, box=(128, 1)), given, image, (128, *rows), 4 * width,
        mode="tile::gather4", bytes_of_unit=UNIT_BYTES if element == "b4x16" else size,
    )  # fmt: skip
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("seed", range(3))
def test_multicast_of_a_padded_type(simulate, map_of, tensor, aligned, seed):
    """Each destination has the padding, and its mbarrier counts the bytes of global memory."""
    given, images = tensor("b4x16_p64"), aligned(np.zeros((2, 32, UNIT_BYTES), np.uint8))
    text = multicast_load((0, 4), 256, 512, bytes_of_unit=8)
    simulate(text, map_of(given, "b4x16_p64"), images, cluster=2, map_targets=[given], seed=seed)
    for image in images:
        np.testing.assert_array_equal(image, padded(np.ascontiguousarray(given[4:, :64]), "b4x16_p64"))


def packed_six_bits(elements: np.ndarray) -> np.ndarray:
    """Bytes of rows of 6-bit elements without gaps, the first element in the lowest bits."""
    bits = (elements[..., np.newaxis] >> np.arange(6)) & 1
    return np.packbits(bits.reshape(len(elements), -1), axis=1, bitorder="little")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_b6p2x16_drops_two_bits_per_byte(simulate, map_of, tensor, aligned, swizzle, seed):
    """5.5.1.1.1, Figure 7: sixteen bytes become twelve. Rows outside of the tensor are dropped."""
    given = tensor("b6x16_p32")
    before = given.copy()
    elements = np.random.default_rng(6).integers(0, 256, (4, 128), np.uint8)
    image = aligned(swizzled(elements, swizzle))
    map_bytes = map_of(given, "b6x16_p32", swizzle=swizzle)
    simulate(store((128, 6), 512), map_bytes, image, block=32, map_targets=[given], seed=seed)
    before[6:, 96:] = packed_six_bits(elements)[:2]
    np.testing.assert_array_equal(given, before)


def test_b6p2x16_packs_the_first_element_into_the_lowest_bits(simulate, map_of, tensor, aligned):
    """Elements 1, 2, 3, 4, ...: 1 | 2 << 6 | 3 << 12 | 4 << 18 is 0x103081. The upper two bits of 0xC1 are dropped."""
    given, image = tensor("b6x16_p32"), aligned(np.tile(np.array([0xC1, 2, 3, 4], np.uint8), (32, 4)))
    simulate(store((0, 0), 512), map_of(given, "b6x16_p32"), image, block=32, map_targets=[given])
    np.testing.assert_array_equal(given[:4, :96], np.tile(np.array([0x81, 0x30, 0x10], np.uint8), (4, 32)))


def test_b6p2x16_reads_whole_units(simulate, map_of, tensor, aligned):
    """5.5.1.1.1, Figure 7: a store reads all sixteen bytes of a unit, of which the program writes twelve here."""
    given, image = tensor("b6x16_p32"), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    text = store((0, 0), 512)
    parts = "st.shared.v2.b32 [%r4], {%r10, %r11};\nst.shared.b32 [%r4+8], %r12;"
    with pytest.raises(ptxsim.Trap, match="which was never written") as trap:
        simulate(
            text.replace("st.shared.v4.b32 [%r4], {%r10, %r11, %r12, %r13};", parts),
            map_of(given, "b6x16_p32"), image, block=32, map_targets=[given],
        )  # fmt: skip
    assert trap.value.kind == "uninitialised"


def test_b4x16_is_stored_as_is(simulate, map_of, tensor, aligned):
    given = tensor("b4x16")
    before, image = given.copy(), aligned(np.arange(256, dtype=np.uint8).reshape(4, 64))
    simulate(store((192, 5), 256), map_of(given, "b4x16"), image, block=16, map_targets=[given])
    before[5:, 96:] = image[:3, :32]
    np.testing.assert_array_equal(given, before)


def test_scatter4_of_b6p2x16(simulate, map_of, tensor, aligned):
    given = tensor("b6x16_p32")
    before, image = given.copy(), aligned(np.arange(512, dtype=np.uint16).astype(np.uint8).reshape(4, 128))
    map_bytes = map_of(given, "b6x16_p32", box=(128, 1))
    text = store((128, 5, 0, 9, 2), 512, mode="tile::scatter4")
    simulate(text, map_bytes, image, block=32, map_targets=[given])
    for row, stored in zip([5, 0, 2], packed_six_bits(image)[[0, 1, 3]], strict=True):
        before[row, 96:] = stored
    np.testing.assert_array_equal(given, before)


PADDED = ("b4x16_p64", "b6x16_p32")
# (elements, fields beyond the boundary, the message, fields at the boundary)
MAP_LIMITS = [
    (PADDED, {"box": (112, 4)}, "an innermost box of 128 elements .* got 112", {"box": (128, 4)}),
    (PADDED, {"box": (144, 4)}, "an innermost box of 128 elements .* got 144", {"box": (128, 4)}),
    (PADDED, {"extents": (192, 8)}, "extent 0 that is a multiple of 128 .* got 192", {"extents": (128, 8)}),
    (("b4x16",), {"extents": (255, 8)}, "expected an even extent 0 .* got 255", {"extents": (254, 8)}),
    (("b4x16",), {"box": (16, 4)}, "a multiple of 16 bytes, got 8", {"box": (32, 4)}),
    (("b4x16",), {"box": (33, 4)}, "a box row of whole bytes .* got 33 elements", {"box": (32, 4)}),
    (("b4x16",), {"box": (160, 4), "swizzle": "64B"}, "at most 64 bytes with swizzle 64B, got 80", {"swizzle": "64B"}),
    (PADDED, {"displacement": 16}, "a global address that is a multiple of 32", {"displacement": 32}),
    (PADDED, {"strides": (208,)}, "stride 1 to be a multiple of 32 bytes, got 208", {"strides": (224,)}),
    (("b4x16",), {"displacement": 8}, "a global address that is a multiple of 16", {"displacement": 16}),
    (PADDED, {"swizzle": "32B"}, "swizzle none, 128B, 128B_atom_32B or 128B_atom_64B .* got 32B", {}),
    (PADDED, {"swizzle": "64B"}, "swizzle none, 128B, 128B_atom_32B or 128B_atom_64B .* got 64B", {}),
    (PADDED, {"swizzle": "96B"}, "swizzle none, 128B, 128B_atom_32B or 128B_atom_64B .* got 96B", {}),
    (PADDED, {"swizzle": "128B_atom_32B_flip_8B"}, "128B_atom_64B .* got 128B_atom_32B_flip_8B", {}),
    (CONTAINER_BYTES, {"fill_nan": True}, "a float element type with the NaN fill", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("element", "beyond", "message", "at"), [(element, *row) for elements, *row in MAP_LIMITS for element in elements]
)
def test_rules_of_maps_of_packed_types(map_of, tensor, element, beyond, message, at):
    """9.7.9.27.1.1: box, extents, alignment, swizzles and fill, on both sides of each limit."""
    given = tensor(element)
    assert ptxsim.tensor_map_error(map_of(given, element, **at)) == ""
    assert re.search(message, ptxsim.tensor_map_error(map_of(given, element, **beyond)))


@pytest.mark.parametrize(
    ("element", "first", "step"),
    [("b4x16_p64", 64, 128), ("b6x16_p32", 64, 128), ("b6x16_p32", -64, 128), ("b4x16", 17, 2)],
)
def test_first_coordinate_of_packed_types(simulate, map_of, tensor, aligned, element, first, step):
    """9.7.9.27.1.1: a multiple of 128 for padded types. Two elements of .b4x16 share a byte."""
    given, image = tensor(element), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    map_bytes, message = map_of(given, element), f"coordinate 0 that is a multiple of {step} .* got {first}"
    for text in (load((first, 0), 256, 512), prefetch((first, 0))):
        with pytest.raises(ptxsim.Trap, match=message) as trap:
            simulate(text, map_bytes, image, block=32, map_targets=[given])
        assert trap.value.kind == "illegal"
    simulate(prefetch((128, 0)), map_bytes, image, block=32, map_targets=[given])


def test_copy_from_within_a_container_of_b4x16_is_unconfirmed(simulate, map_of, tensor, aligned):
    """5.5.1.1.1 describes the copy of whole containers of sixteen elements."""
    given, image = tensor("b4x16"), aligned(np.zeros((4, 64), np.uint8))
    text = load((2, 0), 256)
    with pytest.raises(ptxsim.Trap, match="begins within a container of sixteen elements, at coordinate 2"):
        simulate(text, map_of(given, "b4x16"), image, block=16, map_targets=[given])
    simulate(text, map_of(given, "b4x16"), image, block=16, map_targets=[given], allow_unconfirmed=True)
    np.testing.assert_array_equal(image, given[:4, 1:65])


def test_b4x16_p64_has_no_store(simulate, map_of, tensor, aligned):
    given, image = tensor("b4x16_p64"), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    with pytest.raises(ptxsim.Trap, match="an element type that stores support, got b4x16_p64") as trap:
        simulate(store((0, 0), 512), map_of(given, "b4x16_p64"), image, block=32, map_targets=[given])
    assert trap.value.kind == "descriptor"


@pytest.mark.parametrize("operation", ["add", "min", "max", "inc", "dec", "and", "or", "xor"])
@pytest.mark.parametrize("element", ["b4x16", "b6x16_p32"])
def test_packed_types_have_no_reduction(simulate, map_of, tensor, aligned, element, operation):
    given, image = tensor(element), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    with pytest.raises(ptxsim.Trap, match=f"an element type that the reduction supports, got {element}"):
        simulate(store((0, 0), 512, operation=operation), map_of(given, element), image, block=32, map_targets=[given])


@pytest.mark.parametrize("element", CONTAINER_BYTES)
def test_packed_types_require_blackwell(simulate, map_of, tensor, aligned, element):
    """ptxas 13.0 refuses the codes of these types in tensormap.replace for sm_90a."""
    given, image = tensor(element), aligned(np.zeros((32, UNIT_BYTES), np.uint8))
    with pytest.raises(ptxsim.Trap, match=f"target sm_100 or later for element type {element}, got target sm_90a"):
        simulate(load((0, 0), 256, 512), map_of(given, element), image, block=32, target="sm_90a", map_targets=[given])
    text = load((0, 0), 4 * row_bytes(element, 128), 512, bytes_of_unit=8)
    blocks = {"b4x16": 16}.get(element, 32)
    for target in ("sm_100a", "sm_103a"):
        simulate(text, map_of(given, element), image, block=blocks, target=target, map_targets=[given])


@pytest.fixture
def store_six_bits(simulate, map_of, aligned):
    """Stores rows of bytes at coordinate (64, 6) of a tensor of 8 rows of 192 elements."""

    def run(elements: np.ndarray, target: str = "sm_103a", first: int = 64, **changes: object) -> np.ndarray:
        storage = aligned(np.zeros(16 + 8 * 144, np.uint8))
        displacement = changes.pop("displacement", 0)
        tensor = storage[displacement : displacement + 8 * 144].reshape(8, 144)
        fields = {"extents": (192, 8), "box": (elements.shape[1], 4), **changes}
        image = aligned(swizzled(elements, "64B") if fields.get("swizzle") == "64B" else elements)
        map_bytes = map_of(tensor, "b6x16_p32", **fields)
        threads = image.size // UNIT_BYTES
        simulate(store((first, 6), image.size), map_bytes, image, block=threads, target=target, map_targets=[storage])
        return tensor

    return run


@pytest.mark.parametrize("displacement", [0, 16])
@pytest.mark.parametrize(("width", "swizzle"), [(64, "none"), (64, "64B"), (128, "none"), (128, "128B_atom_64B")])
def test_b6p2x16_on_sm_103a(store_six_bits, width, swizzle, displacement):
    """9.7.9.27.1.1, restrictions for sm_103a: rows of 48 or 96 bytes, and multiples of 64 elements and of 16 bytes."""
    elements = np.random.default_rng(8).integers(0, 256, (4, width), np.uint8)
    given = elements
    if swizzle == "128B_atom_64B":
        given = swizzled(elements, swizzle)
    stored = store_six_bits(given, swizzle=swizzle, displacement=displacement)
    expected = np.zeros((8, 144), np.uint8)
    expected[6:, 48 : 48 + width * 3 // 4] = packed_six_bits(elements)[:2]
    np.testing.assert_array_equal(stored, expected)
    # The columns from 192 on are outside of the tensor.
    end = store_six_bits(given, first=128, swizzle=swizzle, displacement=displacement)
    np.testing.assert_array_equal(end[6:, 96:], packed_six_bits(elements)[:2, :48])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 32}, "an innermost box of 64 or 128 elements .* got 32"),
        ({"width": 96}, "an innermost box of 64 or 128 elements .* got 96"),
        ({"extents": (160, 8)}, "an extent 0 that is a multiple of 64 .* got 160"),
        ({"displacement": 8}, "a global address that is a multiple of 16"),
        ({"swizzle": "32B"}, "swizzle none, 64B, 128B, 128B_atom_32B or 128B_atom_64B .* got 32B"),
        ({"first": 32}, "a coordinate 0 that is a multiple of 64 .* got 32"),
        ({"target": "sm_100a"}, "stride 1 to be a multiple of 32 bytes, got 144"),
    ],
)
def test_limits_of_b6p2x16_on_sm_103a(store_six_bits, changes, message):
    """9.7.9.27.1.1, restrictions for sm_103a. They are those of stores alone, and of this target."""
    elements = np.zeros((4, changes.pop("width", 64)), np.uint8)
    with pytest.raises(ptxsim.Trap, match=message):
        store_six_bits(elements, **changes)


def test_loads_of_six_bits_on_sm_103a_have_rows_of_128(simulate, map_of, tensor, aligned):
    given, image = tensor("b6x16_p32"), aligned(np.zeros((16, UNIT_BYTES), np.uint8))
    map_bytes = map_of(given, "b6x16_p32", box=(64, 4))
    with pytest.raises(ptxsim.Trap, match="an innermost box of 128 elements .* got 64"):
        simulate(load((0, 0), 192, 256), map_bytes, image, block=16, target="sm_103a", map_targets=[given])
