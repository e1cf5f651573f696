"""Parts of the columns of tiles that threads load from tensor memory or store there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, CatOp, ExtractOp, SplatOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import owner_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.operation_role import set_compute_role
from tilec.lowering.gpu.memory.shared_plan import tensor_layout
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.tensor_layout import TensorLayout

# Each of four warps accesses lanes of its own, and a thread all columns of its rows.
WARPS = 4


def has_column_parts(access: ir.Operation, columns: int) -> bool:
    """Whether an operation accesses all columns of a tile, and those are several parts of `columns` columns."""
    buffer = access.operands[len(access.operands) - 1].type
    if access.opview.first_column is not None or not tensor_layout(buffer).has_whole_rows:
        return False
    return buffer.shape[1] > columns and buffer.shape[1] % columns == 0


def repeats_columns(value: ir.Value) -> bool:
    """Whether all columns of a tile are equal: one column or element that is repeated, or arithmetic on such tiles."""
    op = owner_of(value)
    if op is None or not is_register_tile(value.type):
        return False
    if op.name == BroadcastOp.OPERATION_NAME:
        return op.operands[0].type.shape[1] == 1
    if op.name == "arith.constant":
        return ir.DenseElementsAttr(op.attributes["value"]).is_splat
    if op.name == SplatOp.OPERATION_NAME:
        return True
    return interface_of(op.name).is_elementwise and all(map(repeats_columns, op.operands))


def has_parts(op: ir.Operation, layout: ir.Attribute) -> bool:
    """Whether each part of the columns of a result needs the same part of the operands, or equal columns."""
    if not interface_of(op.name).is_elementwise or len(op.results) != 1 or op.name == "arith.constant":
        return False
    tiles = [op.results[0], *(value for value in op.operands if not repeats_columns(value))]
    return all(isinstance(tile.type, ir.RankedTensorType) and tile.type.encoding == layout for tile in tiles)


def part_type(buffer: BufferType, tile: ir.RankedTensorType, columns: int) -> ir.RankedTensorType:
    """The type of some columns of a tile in a buffer of tensor memory."""
    return emitter.tile_type((tile.shape[0], columns), tile.element_type, _part_layout(tensor_layout(buffer), columns))


@lru_cache(maxsize=1024)
def _part_layout(whole: TensorLayout, columns: int) -> LinearLayout:
    return replace(whole, shape=(whole.shape[0], columns)).registers(WARPS)


def part_of(value: ir.Value, type: ir.RankedTensorType, number: int, role: str) -> ir.Value:
    """The part of this number of a tile; the first one of a tile whose columns are equal."""
    op = owner_of(value)
    if op is not None and op.name == "arith.constant" and repeats_columns(value):
        made = emitter.constant_tile(type, ir.DenseElementsAttr(op.attributes["value"])).owner.operation
    else:
        offsets = [emitter.i32(0), emitter.i32(0 if repeats_columns(value) else number)]
        made = emitter.gpu(ExtractOp, [value, offsets], [type]).operation
    set_compute_role(made, role)
    return made.results[0]


def joined(parts: Sequence[ir.Value], whole: ir.RankedTensorType, buffer: BufferType, role: str) -> ir.Value:
    """The tile of all parts, a power of two of them, at the insertion point."""
    while len(parts) > 1:
        type = whole if len(parts) == 2 else part_type(buffer, whole, 2 * parts[0].type.shape[1])
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [emitter.gpu(CatOp, pair, [type], dimension=1).result for pair in pairs]
        for part in parts:
            set_compute_role(part.owner.operation, role)
    return parts[0]
