"""The boxes of a copy by TMA between global memory and a buffer."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.tma import outermost_wide, row_boxes
from tilec.lowering.gpu.memory.shared_plan import shared_layout


def box_starts(op: ir.OpView) -> list[list[int]]:
    """The first element of each box of a copy of a matrix through a map without kind, less that of the copy.

    Returns a number per coordinate, innermost first. The boxes of the first rows come first, one for each panel of the
    buffer.
    """
    box, starts = op.map.owner.box, list[list[int]]()
    along, panels = outermost_wide(box), shared_layout(op.buffer.type).panels
    for part in range(row_boxes(op)):
        for panel in range(panels):
            start = [0] * len(op.coordinates)
            start[along] += part * box[along]
            start[0] += panel * box[0]
            starts.append(start)
    return starts
