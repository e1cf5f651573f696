"""Left operands that are rows of a run of pixels, and the rows that a multiply skips."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.placed import LoadTileOp
from tilec.dialect.tile_gpu.operations.shifted_rows import (
    LHS_LAYOUT,
    LHS_ROWS,
    PlaceRowsOp,
    RowsInIntervalOp,
    ShiftRowsOp,
    ZeroRowsOp,
)
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.dialect.walk import users_of
from tilec.lowering import emitter
from tilec.lowering.plan.matrix.pairs import PAIR
from tilec.lowering.plan.matrix.runs_of_taps import StationaryTile
from tilec.lowering.tile_to_gpu.access.image_run import is_of_run
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, StationaryRows
from tilec.lowering.tile_to_gpu.conversion.declared_map import buffer_type, declare_im2col_map
from tilec.lowering.tile_to_gpu.conversion.im2col_position import (
    in_rows_before,
    output_column,
    row_offsets,
    start_coordinates,
)


def stationary_tile(operand: ir.Value, tile: StationaryTile, conversion: Conversion) -> ir.Value:
    """A run in shared memory, or its rows in tensor memory at the tap of an operand, after those of earlier taps."""
    if not tile.in_tensor_memory:
        if tile.run not in conversion.runs:
            conversion.runs[tile.run] = _run(operand, tile, conversion)
        return conversion.runs[tile.run]
    held = conversion.stationary.get(tile.run)
    if held is None:
        held = _placed(operand, tile, conversion)
    while held.tap < tile.moves:
        tap = held.tap + 1
        multiplies = users_of(held.rows)
        # Of several multiplies later passes choose the last one.
        moves = len(multiplies) == 1
        if moves:
            multiplies[0].attributes["ashift"] = ir.UnitAttr.get()
        operands = [held.rows, held.run]
        moved = emitter.gpu(ShiftRowsOp, operands, [held.rows.type], tap=tap, after_ashift=moves).result
        held = StationaryRows(held.run, moved, tap)
    conversion.stationary[tile.run] = held
    return held.rows


def _placed(operand: ir.Value, tile: StationaryTile, conversion: Conversion) -> StationaryRows:
    run = _run(operand, tile, conversion)
    rows = BufferType.get((LHS_ROWS, run.type.shape[1]), run.type.element, TENSOR, LHS_LAYOUT)
    return StationaryRows(run, emitter.gpu(PlaceRowsOp, [run], [rows]).result, 0)


def _run(operand: ir.Value, tile: StationaryTile, conversion: Conversion) -> ir.Value:
    op, channels = tile.load, tile.load.view.type.tile_shape[1]
    # TMA rounds to the type of the operand.
    element = operand.type.element
    view = conversion.tile_views[op.view]
    map = declare_im2col_map(tile.map, view, conversion, tile.fields)
    buffer = buffer_type((tile.rows, channels), element, 1, tile.map.swizzle)
    start = list(start_coordinates(op, view, conversion))
    if tile.start:
        start[1] = emitter.binary("arith.addi", start[1], emitter.i32(tile.start))
    if tile.start < view.type.lower[-1] and is_of_run(op) and not tile.has_padding:
        start[1:] = in_rows_before(start[1:], op, view, conversion)
    _, *others = row_offsets(op, view.type, conversion)
    offset = emitter.constant(emitter.integer_type(16), tile.offset)
    source = [map, start, [offset, *others]]
    return emitter.gpu(LoadTileOp, source, [buffer], halo=tile.halo).result


def attributes_of_rows(tile: StationaryTile) -> dict[str, int]:
    """The attributes of a multiply that reads rows of a run in shared memory."""
    if tile.in_tensor_memory:
        return {}
    return {"shifted": tile.moves, **dict(zip(("period", "pitch"), tile.every or (), strict=False))}


def skipped_rows(tile: StationaryTile, accumulator: BufferType, conversion: Conversion) -> list[ir.Value]:
    """The words with the rows that a multiply skips, which read padding at a tap; none if it skips no row."""
    if tile.skipped is None:
        return []
    op, interval = tile.load, dict(zip(("begin", "end"), tile.skipped, strict=True))
    sizes = {} if tile.skips_lanes else dict(zip(("rows", "columns"), accumulator.shape, strict=True))
    operation, words = (RowsInIntervalOp, 4) if tile.skips_lanes else (ZeroRowsOp, 2)
    blocks = accumulator.shape[0] // LHS_ROWS if tile.skips_lanes else 1
    if not tile.in_tensor_memory and tile.skips_lanes and blocks == 1 and conversion.ctas % PAIR == 0:
        # The pixels of the other CTA of a pair follow (lowering/tile/divide/divide_rows.py).
        blocks = PAIR
    key = (operation, op.view, op.index[0], *interval.values(), *sizes.values())
    if key not in conversion.positions:
        found = list[ir.Value]()
        with output_column(op, conversion.tile_views[op.view], conversion) as column:
            types = [emitter.integer_type(32)] * words
            for block in range(blocks):
                first = emitter.binary("arith.addi", column, emitter.i32(block * LHS_ROWS)) if block else column
                found += emitter.gpu(operation, [first], types, period=tile.width, **interval, **sizes).results
        conversion.positions[key] = found
    return conversion.positions[key]
