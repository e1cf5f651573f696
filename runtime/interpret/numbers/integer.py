"""Integers of every width in numpy: a tile read as unsigned or signed integers, and truncation to the width."""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.numbers.element import TileElement


def unsigned(tile: np.ndarray, element: TileElement) -> np.ndarray:
    """The tile read as unsigned, in numpy's type of that width."""
    if element.name == "i4":
        return tile.view(np.uint8) & np.uint8(15)
    return np.asarray(tile).view(f"u{tile.dtype.itemsize}")


def signed(tile: np.ndarray, element: TileElement) -> np.ndarray:
    """The tile read as signed; the only bit of an i1 is its sign, so true is -1."""
    return -np.asarray(tile).view(np.int8) if element.name == "i1" else tile


def reading(tile: np.ndarray, element: TileElement, signedness: str) -> np.ndarray:
    """The tile read as signed or unsigned integers, by the attribute `signedness`."""
    return signed(tile, element) if signedness == "signed" else unsigned(tile, element)


def wrap(values: np.ndarray, element: TileElement) -> np.ndarray:
    """The low bits of integers of any type, as a tile."""
    if element.name == "i1":
        return (values & values.dtype.type(1)) != 0
    if element.name == "i4":
        # numpy warns about a scalar subtraction that wraps, but not about shifts.
        return np.asarray(values.astype(np.uint8) << np.uint8(4)).view(np.int8) >> np.int8(4)
    return values.astype(f"u{element.dtype.itemsize}").view(element.dtype)


def limits(element: TileElement, signedness: str) -> tuple[int, int]:
    """The smallest and the largest integer of an element type."""
    if signedness == "unsigned":
        return 0, 2**element.width - 1
    return -(2 ** (element.width - 1)), 2 ** (element.width - 1) - 1


def scalar(tile: np.ndarray, element: TileElement, signedness: str = "signed") -> int:
    """A 0-D tile as a Python integer."""
    return int(reading(tile, element, signedness))
