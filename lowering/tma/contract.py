"""Checks tensor maps against the rules of TMA: all fields at launch, and at compile time the fields that are known.

Source: CUDA driver API, "Tensor Map Object Management", cuTensorMapEncodeTiled; PTX ISA 5.5 and 9.7.9.27.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilec.element_types import ELEMENT_TYPES


@dataclass(frozen=True)
class TensorElement:
    """An element type of a tensor map: its CUtensorMapDataType, its code in the encoded map, and its size in bits."""

    host_enumerator: int
    code: int
    bits: int
    is_float: bool = False
    padded: bool = False


# CUtensorMapDataType -> element. *_ALIGN16B types are `padded`: 128 elements form an indivisible group.
DATA_TYPES: dict[str, TensorElement] = {
    "UINT8": TensorElement(0, 0, 8),
    "UINT16": TensorElement(1, 1, 16),
    "UINT32": TensorElement(2, 2, 32),
    "INT32": TensorElement(3, 3, 32),
    "UINT64": TensorElement(4, 4, 64),
    "INT64": TensorElement(5, 5, 64),
    "FLOAT16": TensorElement(6, 6, 16, is_float=True),
    "FLOAT32": TensorElement(7, 7, 32, is_float=True),
    "FLOAT64": TensorElement(8, 9, 64, is_float=True),
    "BFLOAT16": TensorElement(9, 10, 16, is_float=True),
    "TFLOAT32": TensorElement(11, 7, 32, is_float=True),
    "16U4_ALIGN8B": TensorElement(13, 11, 4),
    "16U4_ALIGN16B": TensorElement(14, 12, 4, padded=True),
    "16U6_ALIGN16B": TensorElement(15, 13, 6, padded=True),
}
# Element names in launch metadata: those of Tile IR, unsigned integers, and the sub-byte types of the driver.
ELEMENTS: dict[str, TensorElement] = {
    **{row.name: DATA_TYPES[row.tensor_map] for row in ELEMENT_TYPES.values() if row.tensor_map is not None},
    **{f"u{bits}": DATA_TYPES[f"UINT{bits}"] for bits in (8, 16, 32, 64)},
    "u4_align8b": DATA_TYPES["16U4_ALIGN8B"],
    "u4_align16b": DATA_TYPES["16U4_ALIGN16B"],
    "u6_align16b": DATA_TYPES["16U6_ALIGN16B"],
}


@dataclass(frozen=True)
class Swizzle:
    """A shared-memory swizzle.

    Attributes:
        host_enumerator: The CUtensorMapSwizzle.
        code: The swizzle mode in the encoded map.
        atomicity: The swizzle atomicity in the encoded map.
        span_bytes: The maximum size of a row of the box.
    """

    host_enumerator: int
    code: int
    atomicity: int
    span_bytes: int


SWIZZLES: dict[str, Swizzle] = {
    "none": Swizzle(0, 0, 0, 0),
    "32B": Swizzle(1, 1, 0, 32),
    "64B": Swizzle(2, 2, 0, 64),
    "128B": Swizzle(3, 3, 0, 128),
    "128B_atom_32B": Swizzle(4, 3, 1, 128),
    "128B_atom_32B_flip_8B": Swizzle(5, 3, 2, 128),
    "128B_atom_64B": Swizzle(6, 3, 3, 128),
}
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
FILLS = {"zero": 0, "nan": 1}
L2_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}

MAX_RANK = 5
MAX_EXTENT = 2**32
STRIDE_LIMIT = 2**40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
# Elements per group of a padded sub-byte type.
PADDED_GROUP = 128


@dataclass(frozen=True)
class TensorMap:
    """The fields of a tiled tensor map.

    Dimension 0 is contiguous. Strides are in bytes and start with dimension 1. None is a value that is not yet known.
    """

    element: str
    extents: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    base: int | None = None
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2_promotion: str = "none"

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def granule_bytes(self) -> int:
        """The required alignment of the base address and of every stride, in bytes."""
        return 32 if self.interleave == "32B" or ELEMENTS[self.element].padded else 16


@dataclass(frozen=True)
class Violation:
    """A violated rule: the field, its dimension, the expected value and the actual value."""

    field: str
    dimension: int | None
    expected: str
    found: str


def with_usable_strides(tensor_map: TensorMap) -> TensorMap:
    """The map with a valid stride for each extent of 1, whose stride has no effect."""
    strides = tuple(
        tensor_map.granule_bytes if extent == 1 else stride
        for extent, stride in zip(tensor_map.extents[1:], tensor_map.strides, strict=True)
    )
    return replace(tensor_map, strides=strides)


def violations(tensor_map: TensorMap, target: str | None = None, unconfirmed: bool = False) -> Iterator[Violation]:
    """Yields the rules that the known fields of a tensor map violate.

    `unconfirmed` permits values that NVIDIA neither documents nor forbids.
    """
    yield from _shape(tensor_map)
    if tensor_map.rank == len(tensor_map.box) == len(tensor_map.element_strides) == len(tensor_map.strides) + 1:
        yield from _memory(tensor_map, unconfirmed)
        yield from _box(tensor_map)
        yield from _swizzle(tensor_map, target, unconfirmed)
        yield from _interleave(tensor_map)
        yield from _fill(tensor_map)


def _shape(tensor_map: TensorMap) -> Iterator[Violation]:
    rank = tensor_map.rank
    if not 1 <= rank <= MAX_RANK:
        yield Violation("extents", None, f"1 to {MAX_RANK} dimensions", str(rank))
    for field, expected in (("box", rank), ("element_strides", rank), ("strides", rank - 1)):
        if len(getattr(tensor_map, field)) != expected:
            yield Violation(field, None, f"{expected} values", str(len(getattr(tensor_map, field))))


def _memory(tensor_map: TensorMap, unconfirmed: bool) -> Iterator[Violation]:
    granule, element = tensor_map.granule_bytes, ELEMENTS[tensor_map.element]
    if tensor_map.base is not None and tensor_map.base % granule:
        yield Violation("base", None, f"an address that is a multiple of {granule} bytes", f"{tensor_map.base:#x}")
    for dimension, extent in enumerate(tensor_map.extents):
        if extent is not None and not 1 <= extent <= MAX_EXTENT:
            yield Violation("extents", dimension, "1 to 2**32 elements", str(extent))
    group = PADDED_GROUP if element.padded else 2 if element.bits == 4 else 1
    if tensor_map.extents[0] is not None and tensor_map.extents[0] % group:
        yield Violation("extents", 0, f"a multiple of {group} elements", str(tensor_map.extents[0]))
    for dimension, stride in enumerate(tensor_map.strides, start=1):
        if stride is None:
            continue
        if stride % granule or not 0 <= stride < STRIDE_LIMIT:
            yield Violation("strides", dimension, f"a multiple of {granule} bytes from 0 to 2**40", f"{stride} bytes")
        elif stride == 0 and not unconfirmed:
            yield Violation(
                "strides", dimension, "a positive stride, because broadcasting by stride 0 is undocumented", "0"
            )


def row_bytes(tensor_map: TensorMap) -> int:
    """The size of a row of the box in global memory, in bytes."""
    return tensor_map.box[0] * ELEMENTS[tensor_map.element].bits // 8


def _box(tensor_map: TensorMap) -> Iterator[Violation]:
    for dimension, extent in enumerate(tensor_map.box):
        if not 1 <= extent <= MAX_BOX:
            yield Violation("box", dimension, f"1 to {MAX_BOX} elements", str(extent))
    first = 1 if tensor_map.interleave == "none" else 0
    for dimension, stride in list(enumerate(tensor_map.element_strides))[first:]:
        if not 1 <= stride <= MAX_ELEMENT_STRIDE:
            yield Violation("element_strides", dimension, f"1 to {MAX_ELEMENT_STRIDE}", str(stride))
    if ELEMENTS[tensor_map.element].padded:
        if tensor_map.box[0] != PADDED_GROUP:
            yield Violation(
                "box", 0, f"exactly {PADDED_GROUP} elements of {tensor_map.element}", str(tensor_map.box[0])
            )
    elif tensor_map.interleave == "none" and row_bytes(tensor_map) % 16:
        yield Violation("box", 0, "rows that are a multiple of 16 bytes", f"{row_bytes(tensor_map)} bytes")


# The swizzles that padded types support (CUDA driver API, CUtensorMapSwizzle).
_PADDED_SWIZZLES = ("none", "128B", "128B_atom_32B")


def _swizzle(tensor_map: TensorMap, target: str | None, unconfirmed: bool) -> Iterator[Violation]:
    swizzle = SWIZZLES[tensor_map.swizzle]
    if swizzle.atomicity and target is not None and target.startswith("sm_90"):
        yield Violation("swizzle", None, "16-byte atoms on sm_90", tensor_map.swizzle)
    if ELEMENTS[tensor_map.element].padded:
        if tensor_map.swizzle not in _PADDED_SWIZZLES:
            yield Violation("swizzle", None, f"one of {', '.join(_PADDED_SWIZZLES)}", tensor_map.swizzle)
        return
    if tensor_map.swizzle == "none" or tensor_map.interleave != "none":
        return
    width = row_bytes(tensor_map)
    if width > swizzle.span_bytes:
        yield Violation(
            "box", 0, f"rows of at most {swizzle.span_bytes} bytes with swizzle {tensor_map.swizzle}", f"{width} bytes"
        )
    elif width < swizzle.span_bytes and not unconfirmed:
        rows = f"rows of {swizzle.span_bytes} bytes with swizzle {tensor_map.swizzle}"
        yield Violation("box", 0, f"{rows}, because shorter rows are undocumented", f"{width} bytes")


def _interleave(tensor_map: TensorMap) -> Iterator[Violation]:
    if tensor_map.interleave == "none":
        return
    if tensor_map.rank < 3:
        yield Violation("interleave", None, "at least 3 dimensions", str(tensor_map.rank))
    if tensor_map.interleave == "32B" and tensor_map.swizzle != "32B":
        yield Violation("swizzle", None, "32B with interleave 32B", tensor_map.swizzle)
    if tensor_map.element == "u6_align16b":
        yield Violation("interleave", None, "none for u6_align16b", tensor_map.interleave)


def _fill(tensor_map: TensorMap) -> Iterator[Violation]:
    if tensor_map.fill == "nan" and not ELEMENTS[tensor_map.element].is_float:
        yield Violation("fill", None, "zero for elements other than floats", "nan")
