"""The element types of Tile IR by name, and the extents of types."""

from __future__ import annotations

# MLIR's own mark of a dynamic extent.
DYNAMIC = -(1 << 63)

# Bits of an element as the rules count them: tf32 has 19 there, though it fills four bytes of memory.
ELEMENT_BITS = {
    "i1": 1,
    "i4": 4,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "tf32": 19,
    "f64": 64,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "f8E8M0FNU": 8,
    "f4E2M1FN": 4,
    "fnv8E5M3FNU": 8,
}
NUMBERS = tuple(name for name in ELEMENT_BITS if name != "i4")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
FLOATS = tuple(name for name in NUMBERS if name not in INTEGERS)


def spell_extent(extent: int | None) -> str:
    """A number, or `?` for one known at run time only."""
    return "?" if extent is None else str(extent)
