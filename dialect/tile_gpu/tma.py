"""TMA copies between global and shared memory."""

import math
from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration
from tilec.dialect.fields import Operand
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Channel, Integer32, SharedBuffer, TensorMap

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
