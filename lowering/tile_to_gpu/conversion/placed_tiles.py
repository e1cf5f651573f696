"""Tiles in shared memory: loads, stores and reductions by TMA, and the operands and scale factors of multiplies."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from tilec.dialect.build import Group
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.memory import ViewBufferOp
from tilec.dialect.tile_gpu.operations.placed import (
    GatherTileOp,
    LoadTileOp,
    PlaceOp,
    PlaceScalesOp,
    ReadOp,
    ReadRowsOp,
    StoreTileOp,
)
from tilec.dialect.tile_gpu.operations.shape import MathOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType
from tilec.dialect.tilex.im2col_type import BY_ROW, Im2colViewType
from tilec.lowering import emitter
from tilec.lowering.kernel_hints import REPEATED_LOAD
from tilec.lowering.layout.scale_layout import ScaleLayout
from tilec.lowering.plan.matrix.matrix_plan import Multiply, Operand, Scale, site_of
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tile_operations import point_after
from tilec.lowering.tile.expand.widen_operands import NARROW_MULTIPLIES, is_widened
from tilec.lowering.tile_to_gpu.access.image_run import ImageRun
from tilec.lowering.tile_to_gpu.access.index import is_narrow, sparse_index
from tilec.lowering.tile_to_gpu.access.packing import (
    is_predicate_tile,
    tile_of_elements,
    type_of_bytes,
    with_whole_bytes,
)
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, swizzle_for
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, TileView
from tilec.lowering.tile_to_gpu.conversion.declared_map import (
    buffer_type,
    coordinates,
    copied_buffer_type,
    declare_im2col_map,
    declare_map,
    offsets,
    row_end,
    starts_inside,
)
from tilec.lowering.tile_to_gpu.conversion.im2col_position import row_offsets, run_rows, start_coordinates, tap_offsets
from tilec.lowering.tile_to_gpu.conversion.stationary_rows import stationary_tile


def load_by_tma(op: ir.OpView, conversion: Conversion) -> None:
    """Places the tile of a load in shared memory, and reads it if registers need it too."""
    tile = op.operation.results[0]
    map = conversion.plan.maps[tile]
    placed = _load(op, map, _loaded_buffer(op, map, conversion), conversion)
    conversion.placed[tile] = placed
    if tile not in conversion.plan.folded:
        type = conversion.type(tile)
        stored = type_of_bytes(type, map.contiguous) if is_predicate_tile(type) else type
        read = emitter.gpu(ReadOp, [placed], [stored]).result
        conversion.set(tile, tile_of_elements(read, type, map.contiguous))


def read_from_run(op: ir.OpView, conversion: Conversion) -> None:
    """Reads the tile of a load from the run of its block that has the pixels of its row of the window."""
    tile = op.operation.results[0]
    run, view, type = conversion.plan.runs[tile], conversion.tile_views[op.view], conversion.type(tile)
    tap = splat(op.offset[-1])
    assert tap is not None, "the plan knows the tap"
    numbers = emitter.tile_type(type.shape[:1], emitter.integer_type(32), conversion.layouts[tile].keep(0))
    rows = run_rows(op, view, run, numbers, conversion)
    operands = [_placed_run(op, run, conversion), rows]
    read = emitter.gpu(ReadRowsOp, operands, [type], first=tap * view.type.dilation[-1])
    conversion.set(tile, read.result)


def _placed_run(op: ir.OpView, run: ImageRun, conversion: Conversion) -> ir.Value:
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


def _loaded_buffer(op: ir.OpView, map: TensorMap, conversion: Conversion) -> BufferType:
    type, factors = conversion.tile_views[op.view].type, conversion.plan.scale_layouts.get(op.operation.results[0])
    if factors is None:
        return copied_buffer_type(map, type)
    return _scale_buffer(factors, type.element, SHARED)


def _load(op: ir.OpView, map: TensorMap, buffer: BufferType, conversion: Conversion) -> ir.Value:
    view = conversion.tile_views[op.view]
    if isinstance(view.type, Im2colViewType):
        handle, start = declare_im2col_map(map, view, conversion), start_coordinates(op, view, conversion)
        halo = 0 if view.type.mode in BY_ROW else None
        slices = None if view.type.interleave is None else view.type.tensor_view.shape[1]
        source: list[Group] = [handle, start, tap_offsets(op, view.type, conversion)]
        return emitter.gpu(LoadTileOp, source, [buffer], halo=halo, slices=slices).results[0]
    handle = declare_map(map, view, conversion)
    start = coordinates(map, view, op, offsets(view, op, conversion))
    if view.sparse_dimension is None:
        return emitter.gpu(LoadTileOp, [handle, start, []], [buffer], group=_turn(op, conversion)).results[0]
    return emitter.gpu(GatherTileOp, [handle, start[0], row_indices(op, view, conversion)], [buffer]).results[0]


def _turn(load: ir.OpView, conversion: Conversion) -> int | None:
    """The group of the tiles of a load that was repeated for several taps."""
    attributes = load.operation.attributes
    if REPEATED_LOAD not in attributes:
        return None
    return conversion.group((load.operation.block, load.view, attributes[REPEATED_LOAD]))


def operand_tile(operand: Operand, multiply: Multiply, conversion: Conversion) -> ir.Value:
    """The operand of a multiply in shared or tensor memory."""
    if operand.stationary is not None:
        return stationary_tile(operand.value, operand.stationary, conversion)
    if operand.source is None or operand.map is None:
        return _from_registers(operand, multiply, conversion)
    placed = conversion.placed[operand.source.load.operation.results[0]]
    type = operand.value.type
    map = operand.map
    element = type.element if map.packed_bits is None else emitter.integer_type(8)
    wanted = buffer_type(
        type.shape, element, operand.contiguous, map.swizzle, map.panel_elements, packed_bits=map.packed_bits
    )
    return placed if placed.type == wanted else emitter.gpu(ViewBufferOp, [placed], [wanted]).result


def _from_registers(operand: Operand, multiply: Multiply, conversion: Conversion) -> ir.Value:
    type = operand.value.type
    if operand.tensor_layout is not None:
        buffer = BufferType.get(tuple(type.shape), type.element, TENSOR, str(operand.tensor_layout))
        if operand.over is None:
            return _placed_once(operand, buffer, multiply, conversion)
        tile = conversion.tile(operand.value, operand.register_layout)
        return emitter.gpu(PlaceOp, [tile, conversion.in_memory[operand.over].tile], [buffer]).result
    is_converted = is_widened(operand.value) and multiply.op.operation.name in NARROW_MULTIPLIES
    row_bytes = multiply.types.row_bytes(type.shape[operand.contiguous])
    swizzle = swizzle_for(row_bytes) if multiply.unit.swizzles_operands else "none"
    element = ir.Type.parse(multiply.types.elements[operand is multiply.rhs]) if is_converted else type.element
    buffer = buffer_type(type.shape, element, operand.contiguous, swizzle)
    site = site_of(multiply.op)
    is_shared = conversion.plan.sites[site] > 1
    group = conversion.group((site, operand is multiply.lhs, buffer, multiply.unit.name)) if is_shared else None
    tile = conversion.get(operand.value)
    if is_converted:
        wide = emitter.with_element(tile.type, element)
        tile = emitter.gpu(MathOp, [tile], [wide], function="ftof.rn").result
    tile = with_whole_bytes(tile, operand.contiguous, conversion.warps)
    return emitter.gpu(PlaceOp, [tile, None], [buffer], group=group).result


def _placed_once(operand: Operand, buffer: BufferType, multiply: Multiply, conversion: Conversion) -> ir.Value:
    """An operand in tensor memory, for all multiplies of a block; one that is loaded is placed where it is loaded."""
    if operand.source is not None:
        key, point = (operand.source.load.operation.results[0], None), point_after(conversion.get(operand.value))
    else:
        key, point = (operand.value, multiply.op.operation.block), nullcontext()
    if key not in conversion.operands:
        with point:
            tile = conversion.tile(operand.value, operand.register_layout)
            conversion.operands[key] = emitter.gpu(PlaceOp, [tile, None], [buffer]).result
    return conversion.operands[key]


def scale_tile(scale: Scale, conversion: Conversion) -> ir.Value:
    """The scale factors of one operand in tensor memory."""
    if scale.load is not None:
        source = conversion.placed[scale.load.operation.results[0]]
    else:
        tile = conversion.get(scale.value)
        source = emitter.gpu(PlaceOp, [tile], [_scale_buffer(scale.layout, tile.type.element_type, SHARED)]).result
    return emitter.gpu(PlaceScalesOp, [source], [_scale_buffer(scale.layout, source.type.element, TENSOR)]).result


def _scale_buffer(layout: ScaleLayout, element: ir.Type, memory: str) -> BufferType:
    return BufferType.get(layout.shape, element, memory, str(layout))


def row_indices(op: ir.OpView, view: TileView, conversion: Conversion) -> ir.Value:
    """The placed indices of one load, beside their definition: a loop around the load then stores them once."""
    assert view.sparse_dimension is not None
    index = list(op.index)[view.sparse_dimension]
    made = conversion.get(index)
    width = view.tensor.index_width
    type = buffer_type(index.type.shape, emitter.integer_type(width), 0, "none")
    with point_after(made):
        return emitter.gpu(PlaceOp, [sparse_index(index, made, width)], [type]).result


def _scattered_rows(op: ir.OpView, view: TileView, conversion: Conversion) -> ir.Value:
    """The placed indices of a store; one outside of the matrix is not negative (PTX ISA 9.7.9.27)."""
    assert view.sparse_dimension is not None
    index = list(op.index)[view.sparse_dimension]
    made = sparse_index(index, conversion.get(index), view.tensor.index_width)
    if not is_narrow(index):
        # No extent of a tensor with a map is greater.
        made = emitter.binary("arith.minui", made, emitter.constant(made.type, MAXIMUM_NARROW))
    return emitter.gpu(PlaceOp, [made, None], [buffer_type(index.type.shape, made.type.element_type, 0, "none")]).result


def store_by_tma(
    op: ir.OpView, tile: ir.Value, map: TensorMap, conversion: Conversion, reduction: str | None = None
) -> None:
    """Stores a tile, or combines it with the elements of the view by a `reduction` of tile_gpu."""
    view, order = conversion.tile_views[op.view], conversion.order
    is_im2col = isinstance(view.type, Im2colViewType)
    handle = (declare_im2col_map if is_im2col else declare_map)(map, view, conversion)
    rows = None if view.sparse_dimension is None else _scattered_rows(op, view, conversion)
    stored = with_whole_bytes(tile, map.contiguous, conversion.warps)
    # TMA packs elements of 6 bits from bytes.
    buffer = copied_buffer_type(replace(map, packed_bits=None), view.type)
    placed = emitter.gpu(PlaceOp, [stored], [buffer]).result
    awaited = order.stores_to_await(op)
    facts: dict[str, Any] = {
        "after_stores": bool(awaited),
        "after_itself": awaited == {op.operation},
        # Generic accesses: loads, or stores that threads may have made.
        "after_accesses": bool(order.before(op) if is_im2col else order.loads_before(op)),
    }
    if is_im2col:
        emitter.gpu(StoreTileOp, [handle, start_coordinates(op, view, conversion), None, None, placed], **facts)
        return
    starts = offsets(view, op, conversion)
    inside = starts_inside(view, op, starts)
    with nullcontext() if inside is None else emitter.only_if(inside):
        start = coordinates(map, view, op, starts)
        if rows is not None:
            start = start[:1]
        operands = [handle, start, row_end(map, view, conversion), rows, placed]
        emitter.gpu(StoreTileOp, operands, reduction=reduction, **facts)
