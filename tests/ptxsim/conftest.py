"""What the tests of the simulator share."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import pytest

ELEMENTS = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 9, "bf16": 10}
SWIZZLES = {
    "none": (0, 0),
    "32B": (1, 0),
    "64B": (2, 0),
    "128B": (3, 0),
    "128B_atom_32B": (3, 1),
    "128B_atom_64B": (3, 3),
}


def _encode(
    address: int,
    element: str,
    extents: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle: str = "none",
    element_strides: Sequence[int] = (),
    fill_nan: bool = False,
    interleave: int = 0,
) -> bytes:
    """The 128 bytes of a map, dimension 0 innermost; `strides` in bytes, of dimensions 1 and up."""
    rank = len(extents)
    mode, atom = SWIZZLES[swizzle]
    flags = (rank - 1) << 4 | ELEMENTS[element] << 7 | interleave << 11 | mode << 13 | fill_nan << 15 | atom << 19
    strides = [*strides, *[0] * (4 - len(strides))]
    extents = [*extents, *[1] * (5 - rank)]
    box = [*box, *[1] * (5 - rank)]
    element_strides = [*element_strides, *[1] * (5 - len(element_strides))]
    high = sum((stride >> 36) << 4 * i for i, stride in enumerate(strides))
    packed = sum((stride - 1) << 3 * i for i, stride in enumerate(element_strides))
    words = [flags, *[stride >> 4 & 0xFFFFFFFF for stride in strides], high]
    words += [extent - 1 for extent in extents]
    words += [packed | (box[0] - 1) << 24, sum((size - 1) << 8 * i for i, size in enumerate(box[1:]))]
    return struct.pack("<Q13I", address, *words).ljust(128, b"\0")


@pytest.fixture
def encode_tensor_map() -> Callable[..., bytes]:
    """Encodes a tensor map independently of the simulator's decoder."""
    return _encode
