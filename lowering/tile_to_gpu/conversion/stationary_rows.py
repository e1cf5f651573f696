"""Left operands whose rows move in tensor memory from tap to tap, and the rows that a multiply skips."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.placed import LoadTileOp
from tilec.dialect.tile_gpu.shifted_rows import (
    LANE_GROUPS,
    LHS_LAYOUT,
    LHS_ROWS,
    PlaceRowsOp,
    RowsInIntervalOp,
    ShiftRowsOp,
)
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.lowering import emitter
from tilec.lowering.plan.matrix.stationary_tiles import StationaryTile
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, StationaryRows
from tilec.lowering.tile_to_gpu.conversion.declared_map import buffer_type, declare_im2col_map
from tilec.lowering.tile_to_gpu.conversion.im2col_position import output_column, row_offsets, start_coordinates


def stationary_tile(operand: ir.Value, tile: StationaryTile, conversion: Conversion) -> ir.Value:
    """The rows of a run in tensor memory at the tap of an operand; multiplies before it have read earlier taps."""
    held = conversion.stationary.get(tile.run)
    if held is None:
        held = _placed(operand, tile, conversion)
    while held.tap < tile.moves:
        tap = held.tap + 1
        moved = emitter.gpu(ShiftRowsOp, [held.rows, held.run], [held.rows.type], tap=tap).result
        held = StationaryRows(held.run, moved, tap)
    conversion.stationary[tile.run] = held
    return held.rows


def _placed(operand: ir.Value, tile: StationaryTile, conversion: Conversion) -> StationaryRows:
    op, (_, channels) = tile.load, tile.load.view.type.tile_shape
    # TMA rounds to the type of the operand.
    element = operand.type.element
    view = conversion.tile_views[op.view]
    map = declare_im2col_map(tile.map, view, conversion, tile.fields)
    buffer = buffer_type((LHS_ROWS + LANE_GROUPS * tile.halo, channels), element, 1, tile.map.swizzle)
    start = list(start_coordinates(op, view, conversion))
    if tile.start:
        start[1] = emitter.binary("arith.addi", start[1], emitter.i32(tile.start))
    _, *others = row_offsets(op, view.type, conversion)
    offset = emitter.constant(emitter.integer_type(16), tile.offset)
    source = [map, start, [offset, *others]]
    run = emitter.gpu(LoadTileOp, source, [buffer], halo=tile.halo).result
    rows = BufferType.get((LHS_ROWS, channels), element, TENSOR, LHS_LAYOUT)
    return StationaryRows(run, emitter.gpu(PlaceRowsOp, [run], [rows]).result, 0)


def skipped_rows(tile: StationaryTile | None, conversion: Conversion) -> list[ir.Value]:
    """The words with the rows that a multiply skips; none if it skips no row."""
    if tile is None or tile.skipped is None:
        return []
    op, (begin, end) = tile.load, tile.skipped
    key = ("rows in interval", op.view, op.index[0], begin, end)
    if key not in conversion.positions:
        with output_column(op, conversion.tile_views[op.view], conversion) as column:
            types, interval = [emitter.integer_type(32)] * 4, {"begin": begin, "end": end}
            made = emitter.gpu(RowsInIntervalOp, [column], types, period=tile.width, **interval)
        conversion.positions[key] = list(made.results)
    return conversion.positions[key]
