"""Tiles of images that threads read from runs of pixels, which TMA loads once for all taps along W."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.placed import LoadTileOp, ReadRowsOp
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile_to_gpu.access.image_run import ImageRun
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion
from tilec.lowering.tile_to_gpu.conversion.declared_map import buffer_type, declare_im2col_map
from tilec.lowering.tile_to_gpu.conversion.im2col_position import row_offsets, run_rows, start_coordinates


def read_from_run(op: ir.OpView, conversion: Conversion) -> None:
    """Reads the tile of a load from the run of its block that has the pixels of its row of the window."""
    tile = op.operation.results[0]
    run, view, type = conversion.plan.runs[tile], conversion.tile_views[op.view], conversion.type(tile)
    tap = splat(op.offset[-1])
    assert tap is not None, "the plan knows the tap"
    numbers = emitter.tile_type(type.shape[:1], emitter.integer_type(32), conversion.layouts[tile].keep(0))
    rows = run_rows(op, view, run, numbers, conversion)
    operands = [_placed(op, run, conversion), rows]
    read = emitter.gpu(ReadRowsOp, operands, [type], first=tap * view.type.dilation[-1])
    conversion.set(tile, read.result)


def _placed(op: ir.OpView, run: ImageRun, conversion: Conversion) -> ir.Value:
    """The run in shared memory, which the loads of a block share that differ in the tap along W alone."""
    view = conversion.tile_views[op.view]
    key = (op.operation.block, op.view, *op.index, *list(op.offset)[:-1])
    if key not in conversion.runs:
        map = declare_im2col_map(run.map, view, conversion, run.fields)
        start, offsets = start_coordinates(op, view, conversion), row_offsets(op, view.type, conversion)
        shape = (run.positions, view.type.tile_shape[1])
        buffer = buffer_type(shape, view.type.element, 1, run.map.swizzle)
        conversion.runs[key] = emitter.gpu(LoadTileOp, [map, start, offsets], [buffer]).result
    return conversion.runs[key]
