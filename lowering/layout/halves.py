"""Layouts of tiles composed of two halves along a dimension, in which each thread holds equal parts of both."""

from __future__ import annotations

from tilec.lowering.layout.blocked import unit
from tilec.lowering.layout.linear_layout import Basis, LinearLayout


def doubled(layout: LinearLayout, dimension: int) -> LinearLayout:
    """The layout of two tiles concatenated along `dimension`: the highest register bit selects the tile."""
    shape = tuple(2 * extent if d == dimension else extent for d, extent in enumerate(layout.shape))
    top = unit(dimension, layout.shape[dimension], len(shape))
    return LinearLayout((*layout.register, top), layout.lane, layout.warp, shape)


def halved(layout: LinearLayout, dimension: int) -> LinearLayout | None:
    """The layout of either half along `dimension`; None unless one register bit selects the half."""
    half = layout.shape[dimension] // 2
    top = unit(dimension, half, len(layout.shape))

    def inside(bases: tuple[Basis, ...]) -> bool:
        return not any(basis[dimension] & half for basis in bases)

    register = tuple(basis for basis in layout.register if basis != top)
    if len(register) == len(layout.register) or not all(map(inside, (register, layout.lane, layout.warp))):
        return None
    shape = tuple(extent // 2 if d == dimension else extent for d, extent in enumerate(layout.shape))
    return LinearLayout(register, layout.lane, layout.warp, shape)
