"""Reductions of tiles that TMA does: the operation and the element type of the tensor map."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.tma import REDUCED

# The reduction of TMA for each mode, and the prefix of the element of its tensor map: maps know signs, modes too.
_REDUCTIONS = {
    "and": ("and", "u"),
    "or": ("or", "u"),
    "xor": ("xor", "u"),
    "add": ("add", "u"),
    "addf": ("add", ""),
    "max": ("max", "i"),
    "min": ("min", "i"),
    "umax": ("max", "u"),
    "umin": ("min", "u"),
}


def tma_reduction(op: ir.OpView, element: str) -> tuple[str, str]:
    """The reduction for an atomic_red_view_tko, and the element of its map.

    Args:
        element: The element of the map of a store to the same view.
    """
    reduction, sign = _REDUCTIONS[op.mode]
    return reduction, f"{sign}{element[1:]}" if sign else element


def refusal_of_reduction(op: ir.OpView, element: str) -> str | None:
    """Why TMA cannot do an atomic_red_view_tko of this element; None if it can."""
    reduction, signed = tma_reduction(op, element)
    return None if signed in REDUCED[reduction] else f"{op.mode} of {element} is not a reduction of TMA"
