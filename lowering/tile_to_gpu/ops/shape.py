"""Constants, iota, broadcast, reshape, permute, cat, extract and insert."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.memory import ViewBufferOp
from tilec.dialect.tile_gpu.operations.placed import ReadRowsOp
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    CatOp,
    ExtractOp,
    InsertOp,
    IotaOp,
    PackOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
    UnpackOp,
)
from tilec.lowering import emitter
from tilec.lowering.layout.blocks import block_of, doubled, halved, repeated
from tilec.lowering.layout.conversion import SCRATCH_LIMIT_BYTES
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import divided
from tilec.lowering.plan.layout_assignment import projected
from tilec.lowering.plan.matrix.row_loads import row_dimension
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tile_operations import is_tile
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes
from tilec.lowering.tile_to_gpu.access.declarations import element_type
from tilec.lowering.tile_to_gpu.access.packing import repacked
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts
from tilec.lowering.tile_to_gpu.conversion.declared_map import copied_buffer_type


@converts("constant")
def _constant(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    elements = ir.DenseElementsAttr(op.operation.attributes["value"])
    type = conversion.type(result)
    if is_tile(result):
        conversion.set(result, emitter.constant_tile(type, elements))
    else:
        attributes = {"value": elements.get_splat_value()}
        conversion.set(result, emitter.create("arith.constant", [type], [], **attributes).result)


@converts("iota")
def _iota(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    conversion.set(result, emitter.gpu(IotaOp, [], [conversion.type(result)]).result)


@converts("broadcast")
def _broadcast(op: ir.OpView, conversion: Conversion) -> None:
    source, result = op.operation.operands[0], op.operation.results[0]
    if not is_tile(result):
        conversion.set(result, conversion.get(source))
        return
    if _repeat_splat(source, result, conversion):
        return
    layout = conversion.layouts[result]
    made = conversion.tile(source, projected(layout, source.type.shape))
    conversion.set(result, emitter.gpu(BroadcastOp, [made], [conversion.type(result)]).result)


def _repeat_splat(source: ir.Value, result: ir.Value, conversion: Conversion) -> bool:
    """Makes the result a splat too where the source is one; a splat needs no conversion in any layout."""
    producer = conversion.get(source).owner
    if isinstance(producer, ir.Block) or producer.operation.name != SplatOp.OPERATION_NAME:
        return False
    scalar = producer.operation.operands[0]
    conversion.set(result, emitter.gpu(SplatOp, [scalar], [conversion.type(result)]).result)
    return True


@converts("reshape")
def _reshape(op: ir.OpView, conversion: Conversion) -> None:
    source, result = op.operation.operands[0], op.operation.results[0]
    made = conversion.get(source)
    if not is_tile(result):
        if is_tile(source):
            indices, type = [emitter.i32(0)] * source.type.rank, element_type(result.type.element)
            made = emitter.gpu(ExtractOp, [made, *indices], [type]).result
        conversion.set(result, made)
    elif not is_tile(source):
        conversion.set(result, emitter.gpu(SplatOp, [made], [conversion.type(result)]).result)
    elif not _repeat_splat(source, result, conversion):
        layout = conversion.layouts[result]
        made = conversion.tile(source, layout.reshape(source.type.shape))
        conversion.set(result, emitter.gpu(ReshapeOp, [made], [conversion.type(result)]).result)


@converts("permute")
def _permute(op: ir.OpView, conversion: Conversion) -> None:
    source, result = op.operation.operands[0], op.operation.results[0]
    if _repeat_splat(source, result, conversion):
        return
    permutation = list(op.permutation)
    inverse = [permutation.index(d) for d in range(len(permutation))]
    made = conversion.tile(source, conversion.layouts[result].transpose(inverse))
    conversion.set(result, emitter.gpu(TransposeOp, [made], [conversion.type(result)], permutation=permutation).result)


@converts("cat")
def _cat(op: ir.OpView, conversion: Conversion) -> None:
    """Both operands have the layout of half the result, converted if its halves belong to different threads."""
    result = op.operation.results[0]
    values = list(op.operation.operands)
    half = halved(conversion.layouts[result], op.dim) or conversion.layouts[values[0]]
    operands = [conversion.tile(value, half) for value in values]
    type = emitter.tile_type(result.type.shape, operands[0].type.element_type, doubled(half, op.dim))
    conversion.set_converted(result, emitter.gpu(CatOp, operands, [type], dimension=op.dim).result)


@converts("pack", "unpack")
def _pack(op: ir.OpView, conversion: Conversion) -> None:
    """A thread that holds an element holds its bytes, and all elements of its bytes."""
    source, result = op.operation.operands[0], op.operation.results[0]
    whole, _, parts = repacked(op)
    layout = divided(conversion.layouts[whole], 0, parts)
    operand = conversion.tile(source, conversion.layouts[source] if source == whole else layout)
    made = conversion.type(result)
    type = emitter.tile_type(made.shape, made.element_type, conversion.layouts[result] if result == whole else layout)
    operation = PackOp if op.operation.name == "cuda_tile.pack" else UnpackOp
    conversion.set_converted(result, emitter.gpu(operation, [operand], [type], dimension=0).result)


@converts("extract")
def _extract(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    if not is_tile(result):
        conversion.set(result, conversion.get(op.source))
        return
    if op.source in conversion.plan.folded:
        conversion.set(result, _row(op, conversion))
        return
    whole, part = _layouts_of_parts(op.source, result, conversion)
    type = emitter.tile_type(result.type.shape, element_type(result.type.element), part)
    indices = _indices(op.indices, op.source.type.shape, result.type.shape, conversion)
    made = emitter.gpu(ExtractOp, [conversion.tile(op.source, whole), *indices], [type]).result
    conversion.set_converted(result, made)


def _row(op: ir.OpView, conversion: Conversion) -> ir.Value:
    """A row of a tile that TMA loads, or a part of its only row, which threads read from shared memory."""
    source, type, map = op.source, conversion.type(op.result), conversion.plan.maps[op.source]
    dimension = row_dimension(source, map)
    assert dimension is not None, "the plan has other tiles in registers"
    rows, row = source.type.shape[dimension] // op.result.type.shape[dimension], op.result.type.shape[-1]
    matrix = copied_buffer_type(map, op.source.owner.view.type, (rows, row))
    placed = emitter.gpu(ViewBufferOp, [conversion.placed[source]], [matrix]).result
    layout = conversion.layouts[op.result].reshape((1, row))
    number = _indices(op.indices, source.type.shape, op.result.type.shape, conversion)[dimension]
    numbers = emitter.tile_type((1,), emitter.integer_type(32), layout.keep(0))
    operands = [placed, emitter.gpu(SplatOp, [number], [numbers]).result]
    made = emitter.tile_type((1, row), type.element_type, layout)
    read = emitter.gpu(ReadRowsOp, operands, [made], first=0).result
    return emitter.gpu(ReshapeOp, [read], [type]).result


@converts("insert")
def _insert(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    if not is_tile(result):
        conversion.set(result, conversion.get(op.source))
        return
    whole, part = _layouts_of_parts(result, op.source, conversion)
    source, destination = conversion.tile(op.source, part), conversion.tile(op.destination, whole)
    indices = _indices(op.indices, result.type.shape, op.source.type.shape, conversion)
    made = emitter.gpu(InsertOp, [source, destination, *indices], [destination.type]).result
    conversion.set_converted(result, made)


def _layouts_of_parts(whole: ir.Value, part: ir.Value, conversion: Conversion) -> tuple[LinearLayout, LinearLayout]:
    """The layouts of a tile and of a part of it: each thread holds its elements of every part if possible.

    Else scratch memory must hold the whole tile, or the conversion of the layout of a large tile exchanges it in parts.
    """
    own, other = conversion.layouts[whole], conversion.layouts[part]
    block = block_of(own, part.type.shape)
    if block is not None:
        return own, block
    by_parts = repeated(other, whole.type.shape)
    size_bytes = own.size * element_bytes(whole.type.element)
    if size_bytes > SCRATCH_LIMIT_BYTES and by_parts.register_count <= own.register_count:
        return by_parts, other
    return own, other


def _indices(
    indices: Sequence[ir.Value], whole: Sequence[int], part: Sequence[int], conversion: Conversion
) -> list[ir.Value]:
    """Indices beyond the grid are undefined; they select the last sub-tile, as in the interpreter."""
    return [
        _limited(conversion.get(index), splat(index), extent // size - 1)
        for index, extent, size in zip(indices, whole, part, strict=True)
    ]


def _limited(index: ir.Value, number: int | None, last: int) -> ir.Value:
    if number is not None or last == 0:
        return emitter.i32(min((number or 0) % (1 << 32), last))
    return emitter.binary("arith.minui", index, emitter.i32(last))
