"""The layout of each register tile of an entry."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.layout.linear_layout import LinearLayout


def is_tile(value: ir.Value) -> bool:
    """Whether a value is spread over registers: a tile of rank one or more."""
    return isinstance(value.type, TileType) and value.type.rank > 0


class Layouts:
    """Layouts by tile; scalars, tokens and views have none. A tile keeps its first layout."""

    def __init__(self) -> None:
        self._layouts: dict[ir.Value, LinearLayout] = {}

    def __len__(self) -> int:
        return len(self._layouts)

    def __contains__(self, value: ir.Value) -> bool:
        return value in self._layouts

    def __getitem__(self, value: ir.Value) -> LinearLayout:
        return self._layouts[value]

    def lack(self, value: ir.Value) -> bool:
        """Whether a value is a tile without a layout."""
        return value not in self._layouts and is_tile(value)

    def get(self, value: ir.Value) -> LinearLayout | None:
        """The layout of a tile; None for any other value."""
        return self._layouts.get(value)

    def propose(self, value: ir.Value, layout: LinearLayout | None) -> None:
        """Assigns a layout to a tile that has none."""
        if layout is None or not is_tile(value) or value in self._layouts:
            return
        assert layout.shape == tuple(value.type.shape), (layout, value.type)
        self._layouts[value] = layout

    def first(self, values: list[ir.Value]) -> LinearLayout | None:
        """The layout of the first value that has one."""
        return next((self._layouts[value] for value in values if value in self._layouts), None)
