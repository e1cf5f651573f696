"""Layouts of tiles composed of two halves along a dimension, in which each thread holds equal parts of both."""

from __future__ import annotations

from tilec.lowering.layout.blocks import block_of, repeated
from tilec.lowering.layout.linear_layout import LinearLayout


def doubled(layout: LinearLayout, dimension: int) -> LinearLayout:
    """The layout of two tiles concatenated along `dimension`: the highest register bit selects the tile."""
    return repeated(layout, tuple(2 * e if d == dimension else e for d, e in enumerate(layout.shape)))


def halved(layout: LinearLayout, dimension: int) -> LinearLayout | None:
    """The layout of either half along `dimension`; None unless register bits alone select the half."""
    return block_of(layout, tuple(e // 2 if d == dimension else e for d, e in enumerate(layout.shape)))
