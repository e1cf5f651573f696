"""The element types of Tile IR by name, and the extents of types."""

from __future__ import annotations

from tilec.element_types import ELEMENT_TYPES, EXTENSION_FLOATS

# MLIR's own mark of a dynamic extent.
DYNAMIC = -(1 << 63)

# Bits of an element as the rules count them: tf32 has 19 there, though it fills four bytes of memory.
ELEMENT_BITS = {row.name: row.value_bits for row in ELEMENT_TYPES.values()}
NUMBERS = tuple(name for name in ELEMENT_BITS if name not in ("i4", *EXTENSION_FLOATS))
# The reason and the advice of errors about elements of EXTENSION_FLOATS.
NO_SIX_BITS = "Tile IR has no floats of 6 bits: use f8E4M3FN, which has all of their values"
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
FLOATS = tuple(name for name in NUMBERS if name not in INTEGERS)


def spell_extent(extent: int | None) -> str:
    """A number, or `?` for one known at run time only."""
    return "?" if extent is None else str(extent)
