"""The layout and the element type of a tile_gpu value."""

from __future__ import annotations

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element_of
from tilec.lowering.layout.layout_text import parse_layout
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout

SCALAR = LinearLayout((), ((),) * LANE_BITS, (), ())


@cached
def layout_of(type: ir.Type) -> LinearLayout:
    """The layout of a register tile; a scalar occupies one register with the same value in every thread."""
    return parse_layout(type.encoding.value) if isinstance(type, ir.RankedTensorType) else SCALAR


def element(value: ir.Value) -> PtxElement:
    """The element type of a scalar or register tile."""
    return element_of(value.type)
