"""Parsing of the text form of layouts."""

from __future__ import annotations

import re
from functools import lru_cache

from tilec.errors import VerificationError
from tilec.lowering.layout.linear_layout import Basis, LinearLayout
from tilec.lowering.layout.packing import byte_shape
from tilec.lowering.layout.shared_layout import SharedLayout

_BASES = r"((?:\([\d,]*\))+|none)"
_LAYOUT = re.compile(rf"register={_BASES} lane={_BASES} warp={_BASES} shape=(\d+(?:x\d+)*|scalar)")
_SHARED = re.compile(r"contiguous=(\d+) swizzle=(\w+)(?: panel=(\d+))?")


@lru_cache(maxsize=4096)
def parse_layout(text: str) -> LinearLayout:
    """The layout whose `str()` is the text; raises VerificationError for other texts."""
    match = _LAYOUT.fullmatch(text)
    if match is None:
        raise VerificationError(
            f"expected a layout like 'register=(0,1) lane=(1,0)... warp=none shape=32x2', got '{text}'"
        )
    register, lane, warp, shape = match.groups()
    extents = () if shape == "scalar" else tuple(int(extent) for extent in shape.split("x"))
    try:
        return LinearLayout(_bases(register), _bases(lane), _bases(warp), extents)
    except ValueError as error:
        raise VerificationError(f"bad layout '{text}': {error}") from error


@lru_cache(maxsize=4096)
def parse_shared_layout(text: str, shape: tuple[int, ...], element_bytes: int, per_byte: int = 1) -> SharedLayout:
    """The shared layout whose `str()` is the text; raises VerificationError for other texts.

    If `per_byte` elements of the shape share a byte, it is the layout of the bytes.
    """
    match = _SHARED.fullmatch(text)
    if match is None:
        raise VerificationError(f"expected a layout like 'contiguous=1 swizzle=128B', got '{text}'")
    contiguous, swizzle, panel = match.groups()
    try:
        stored = byte_shape(shape, int(contiguous), per_byte)
        return SharedLayout(stored, element_bytes, int(contiguous), swizzle, int(panel) if panel else None)
    except (ValueError, IndexError) as error:
        raise VerificationError(f"bad layout '{text}': {error}") from error


def _bases(text: str) -> tuple[Basis, ...]:
    if text == "none":
        return ()
    return tuple(tuple(int(c) for c in basis.split(",") if c) for basis in text[1:-1].split(")("))
