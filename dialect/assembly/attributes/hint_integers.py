"""The type of integers in optimization hints written without one."""

from __future__ import annotations

# cuTile writes hints of this width, and tileirdisasm 13.5 prints them without a type.
HINT_BITS = 32


def fits_hint(value: int) -> bool:
    """Whether an integer without a type has HINT_BITS bits; larger ones have 64."""
    return -(1 << HINT_BITS - 1) <= value < 1 << HINT_BITS - 1
