"""Swizzled shared-memory images (PTX ISA 5.5.7)."""

from __future__ import annotations

import numpy as np

# The exclusive or of the number of a 16-byte unit: (line & mask) << shift, where a line has eight units.
UNIT_SWIZZLES = {
    "none": (0, 0),
    "32B": (1, 0),
    "64B": (3, 0),
    "128B": (7, 0),
    "128B_atom_32B": (3, 1),
    "128B_atom_64B": (1, 2),
}


def swizzled(image: np.ndarray, swizzle: str) -> np.ndarray:
    """The image at an address that is a multiple of 1024, with its 16-byte units exchanged.

    The exchange is its own inverse: it also removes the swizzle of an image.
    """
    mask, shift = UNIT_SWIZZLES[swizzle]
    units = image.reshape(-1).view(np.uint8).reshape(-1, 16)
    number = np.arange(len(units))
    exchanged = units[number ^ (number // 8 & mask) << shift]
    return exchanged.reshape(-1).view(image.dtype).reshape(image.shape)
