"""Records of vectors: one operation with its operands and results, each element as the unsigned integer of its bits."""

from __future__ import annotations

from typing import Any

Tile = tuple[str, list[int]]


def tile(element: str, bits: list[int], shape: tuple[int, ...] | None = None) -> Tile:
    """A tile type with its elements in row-major order."""
    extents = (len(bits),) if shape is None else shape
    return f"tile<{''.join(f'{extent}x' for extent in extents)}{element}>", bits


def vector(
    operation: str, operands: list[Tile], results: list[Tile], attributes: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """The record of a file; `units` is the allowed error in units of the last place, `body` the body of a reduction."""
    return {
        "operation": operation,
        "attributes": attributes or {},
        "operands": [{"type": kind, "bits": bits} for kind, bits in operands],
        "results": [{"type": kind, "bits": bits} for kind, bits in results],
        **more,
    }
