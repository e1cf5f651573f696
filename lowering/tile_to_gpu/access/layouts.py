"""The layout of each register tile of an entry."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.tile.analysis.tile_operations import is_tile


class Layouts(dict[ir.Value, LinearLayout]):
    """Layouts by tile; scalars, tokens and views have none. A tile keeps its first layout."""

    def lack(self, value: ir.Value) -> bool:
        """Whether a value is a tile without a layout."""
        return value not in self and is_tile(value)

    def propose(self, value: ir.Value, layout: LinearLayout | None) -> None:
        """Assigns a layout to a tile that has none."""
        if layout is not None and self.lack(value):
            assert layout.shape == tuple(value.type.shape), (layout, value.type)
            self[value] = layout

    def first(self, values: list[ir.Value]) -> LinearLayout | None:
        """The layout of the first value that has one."""
        return next((self[value] for value in values if value in self), None)
