"""Shared and tensor memory, tensor maps and TMA."""

import math
from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration, Flag, Integers32, Text
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import (
    Channel,
    Index,
    Integer32,
    Integer64,
    RegisterTile,
    SharedBuffer,
    TensorBuffer,
    TensorMap,
)

SWIZZLES = ("none", "32B", "64B", "128B", "128B_atom_32B")
Swizzle = Enumeration(*SWIZZLES)
Fill = Enumeration("zero", "nan")


class MakeTensorMapOp(Operation, name="make_tensor_map", traits=[ext.Pure]):
    """A TMA descriptor over kernel arguments: innermost dimension first, strides in elements from the second on."""

    result: Result[TensorMap]
    base: Operand[Integer64]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    element: Text
    box: Integers32
    swizzle: Swizzle
    fill: Fill
    assembly = "$element $base[$extents] strides [$strides] box [$box] swizzle word($swizzle) fill $fill attr-dict"

    def check(self) -> str | None:
        if len(self.extents) != len(self.box) or len(self.strides) != len(self.box) - 1:
            return f"expected {len(self.box)} extents and {len(self.box) - 1} strides for box {list(self.box)}"
        return None


class SharedOp(Operation, name="shared"):
    """A buffer of the compute role alone."""

    buffer: Result[SharedBuffer]
    assembly = "attr-dict : type($buffer)"


def _same_shape(op: ir.OpView) -> str | None:
    tile = (op.results[0] if len(op.results) else op.operands[0]).type
    buffer = op.operands[-1].type
    if tuple(tile.shape) != buffer.shape or tile.element_type != buffer.element:
        return f"tile and buffer must agree, but got {tile} and {buffer.spelled()}"
    return None


class LoadSharedOp(Operation, name="load_shared"):
    """The tile in a shared buffer."""

    result: Result[RegisterTile]
    buffer: Operand[SharedBuffer]
    assembly = "$buffer attr-dict : type($buffer) -> type($result)"
    rules = [_same_shape]


class StoreSharedOp(Operation, name="store_shared"):
    """Writes a tile into a shared buffer."""

    value: Operand[RegisterTile]
    buffer: Operand[SharedBuffer]
    assembly = "$value, $buffer attr-dict : type($value) -> type($buffer)"
    rules = [_same_shape]


class LoadTensorMemoryOp(Operation, name="load_tensor_memory"):
    """The tile in a tensor memory buffer; complete when its registers are used."""

    result: Result[RegisterTile]
    buffer: Operand[TensorBuffer]
    assembly = "$buffer attr-dict : type($buffer) -> type($result)"
    rules = [_same_shape]


class StoreTensorMemoryOp(Operation, name="store_tensor_memory"):
    """Writes a tile into a tensor memory buffer."""

    value: Operand[RegisterTile]
    buffer: Operand[TensorBuffer]
    assembly = "$value, $buffer attr-dict : type($value) -> type($buffer)"
    rules = [_same_shape]


# A map of f32 copies tf32 with all its bits; a map of tf32 rounds the f32 that it loads. Maps know signs of integers.
# Elements of 4 bits are copied as bytes.
_COPIED_AS_EACH_OTHER = ({"f32", "tf32"}, {"i32", "u32"}, {"i64", "u64"}, {"i8", "f4E2M1FN"})


def _element_of_map(op: ir.OpView) -> str | None:
    """The problem with the element of the buffer of a TMA copy, or None."""
    copied, held = op.map.owner.element, str(op.buffer.type.element)
    if copied == held or {copied, held} in _COPIED_AS_EACH_OTHER:
        return None
    return f"expected a buffer of {copied}, the element of the map, but got {op.buffer.type.spelled()}"


def _box_of_map(op: ir.OpView) -> str | None:
    """The problem with the coordinates or the buffer of a TMA copy, by the map of its tensor, or None."""
    made, buffer = op.map.owner, op.buffer.type
    if isinstance(made, ir.Block):
        return "expected the result of tile_gpu.make_tensor_map in the kernel"
    box = list(made.box)
    if len(op.coordinates) != len(box):
        return f"expected {len(box)} coordinates for box {box}, but got {len(op.coordinates)}"
    # A buffer wider than the swizzle span consists of several panels of one box each.
    if math.prod(buffer.shape) % math.prod(box):
        return f"expected a buffer of whole boxes {box}, but got {buffer.spelled()}"
    return _element_of_map(op)


class TmaLoadOp(Operation, name="tma_load"):
    """Copies the box at `coordinates` (innermost first, in elements) into a buffer of the slot being filled.

    Elements outside the tensor are filled as the map says; the slot's full barrier counts the bytes.
    """

    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    buffer: Operand[SharedBuffer]
    channel: Operand[Channel]
    assembly = "$map[$coordinates] -> $buffer of $channel attr-dict : type($buffer)"
    rules = [_box_of_map]


_COMPARED = ("i32", "u32", "i64", "u64", "f16", "bf16")
_BITWISE = ("i32", "u32", "i64", "u64")
# The elements of the maps that TMA reduces into (PTX ISA 9.7.9.25, cp.reduce.async.bulk).
REDUCED = {
    "add": ("i32", "u32", "u64", "f16", "bf16", "f32", "f64"),
    "min": _COMPARED,
    "max": _COMPARED,
    "and": _BITWISE,
    "or": _BITWISE,
    "xor": _BITWISE,
}
Reduction = Enumeration(*REDUCED)


def _reduces_elements_of_map(op: ir.OpView) -> str | None:
    if op.reduction is None or isinstance(op.map.owner, ir.Block):
        return None
    allowed, found = REDUCED[op.reduction], op.map.owner.element
    return None if found in allowed else f"reduction {op.reduction} takes {', '.join(allowed)}, but the map has {found}"


# The rows that one instruction gathers (PTX ISA 5.5.3.2, tile::gather4).
GATHERED_ROWS = 4


def _rows_of_map(op: ir.OpView) -> str | None:
    """The problem with the indices or the buffer of a gather, by the map of its matrix, or None."""
    made, buffer, rows = op.map.owner, op.buffer.type, op.rows.type
    if isinstance(made, ir.Block):
        return "expected the result of tile_gpu.make_tensor_map in the kernel"
    box = list(made.box)
    if len(box) != 2 or box[1] != 1:
        return f"expected a map of a matrix with a box of one row, but got box {box}"
    if len(buffer.shape) != 2 or buffer.shape[0] % GATHERED_ROWS or buffer.shape[1] % box[0]:
        return f"expected a buffer of whole boxes {box} and {GATHERED_ROWS} rows each, but got {buffer.spelled()}"
    if rows.shape != buffer.shape[:1] or str(rows.element) != "i32":
        return f"expected a buffer of {buffer.shape[0]} indices of i32, but got {rows.spelled()}"
    return _element_of_map(op)


class TmaGatherOp(Operation, name="tma_gather"):
    """Copies elements `column` to column + N of row rows[i] of a matrix to row i of a buffer of the slot being filled.

    A row that the matrix does not have, as all elements outside of it, is filled as the map says; the slot's full
    barrier counts the bytes. `column` is a multiple of 16 bytes.
    """

    map: Operand[TensorMap]
    column: Operand[Integer32]
    rows: Operand[SharedBuffer]
    buffer: Operand[SharedBuffer]
    channel: Operand[Channel]
    assembly = "$map[$column] rows $rows -> $buffer of $channel attr-dict : type($rows) -> type($buffer)"
    rules = [_rows_of_map]


class TmaStoreOp(Operation, name="tma_store"):
    """Copies a buffer to the box at `coordinates`; elements outside the tensor are dropped.

    With `reduction` combines each element in memory with that of the buffer, atomically, with order relaxed.gpu.
    """

    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    buffer: Operand[SharedBuffer]
    reduction: Reduction | None
    assembly = "$buffer -> $map[$coordinates]{ reduction $reduction} attr-dict : type($buffer)"
    rules = [_box_of_map, _reduces_elements_of_map]


class StoreWaitOp(Operation, name="store_wait"):
    """The thread that issued `tma_store`s waits until they are visible, or until they have `read` their buffers."""

    read: Flag
    assembly = "{$read }attr-dict"


class FenceAsyncOp(Operation, name="fence_async"):
    """Orders this thread's accesses of shared memory before those of TMA and tensor cores (PTX fence.proxy.async).

    With `global_memory` also its accesses of global memory.
    """

    global_memory: Flag
    assembly = "{$global_memory }attr-dict"


class FenceAliasOp(Operation, name="fence_alias"):
    """Orders this thread's accesses across different addresses of the same memory (PTX fence.proxy.alias)."""


class BarrierOp(Operation, name="barrier"):
    """A barrier of all threads of the role."""


class ViewBufferOp(Operation, name="view_buffer", traits=[ext.Pure]):
    """The same bytes as a buffer of permuted dimensions, with dimensions of one element added or removed.

    A buffer of i8 may be viewed as one of the elements that share its bytes.
    """

    result: Result[SharedBuffer]
    source: Operand[SharedBuffer]
    assembly = "$source attr-dict : type($source) -> type($result)"
