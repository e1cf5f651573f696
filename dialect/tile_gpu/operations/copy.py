"""Copies from global to shared memory by threads, without registers between them (PTX cp.async)."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans, Int32, Text
from tilec.dialect.fields import Operand
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.view import vector_has_a_dimension
from tilec.dialect.tile_gpu.sets import Index, Integer64, RegisterTile, SharedBuffer
from tilec.element_types import ELEMENT_TYPES

# PTX ISA 9.7.9.25.3: the sizes of a copy.
COPY_BYTES = (4, 8, 16)


def _size_of_copy(op: ir.OpView) -> str | None:
    element = ELEMENT_TYPES[spell(op.buffer.type.element)]
    size = op.vector * element.storage_bits // 8
    if element.per_byte > 1 or size not in COPY_BYTES:
        return f"a copy has 4, 8 or 16 bytes, but got {op.vector} elements of {element.name}"
    return None


def _pointers_of_buffer(op: ir.OpView) -> str | None:
    """Each element has a pointer, and perhaps an element of the mask in the same layout."""
    shape = list(op.pointers.type.shape)
    if shape != list(op.buffer.type.shape):
        return f"expected a pointer for each element of {op.buffer.type.spelled()}, but got {op.pointers.type}"
    if op.mask is not None and (list(op.mask.type.shape), op.mask.type.encoding) != (shape, op.pointers.type.encoding):
        return f"expected a mask in the layout of the pointers, but got {op.mask.type}"
    return None


def _positions_of_buffer(op: ir.OpView) -> str | None:
    rank = len(op.buffer.type.shape)
    counts = [len(group) for group in (op.offsets, op.extents, op.strides)]
    return None if counts == [rank] * 3 else f"expected {rank} offsets, extents and strides each, but got {counts}"


def _indices_of_view(op: ir.OpView) -> str | None:
    if (op.indices is None) != (op.sparse_dimension is None):
        return f"indices and their dimension come together, but got dimension {op.sparse_dimension}"
    return None


class CopyGlobalOp(Operation, name="copy_global"):
    """buffer[i] = the element at address pointers[i] where mask[i], else zero, as `load_global` reads it.

    A copy has the elements of `vector` successive registers of a thread, which are adjacent in memory and in the
    buffer, and share a mask. All copies of a thread before `put_commit` are complete when the slot is full.
    """

    interface = Interface(Category.COPY, Memory.SHARED, executor=Executor.COPY, scratch=Scratch.NONE)
    pointers: Operand[RegisterTile]
    mask: Operand[RegisterTile] | None
    buffer: Operand[SharedBuffer]
    vector: Int32
    assembly = "$pointers{, mask $mask} -> $buffer vector $vector attr-dict : type($pointers) -> type($buffer)"
    rules = [_size_of_copy, _pointers_of_buffer]


class CopyViewOp(Operation, name="copy_view"):
    """buffer[c] = the element that `load_view` reads with the same operands; elements outside of the view are zero.

    A copy has the elements of `vector` successive registers of a thread in `layout`, which are adjacent along
    `vector_dimension` and in the buffer. All copies of a thread before `put_commit` are complete when the slot is
    full.
    """

    interface = Interface(Category.COPY, Memory.SHARED, executor=Executor.COPY, scratch=Scratch.NONE)
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    indices: Operand[RegisterTile] | None
    buffer: Operand[SharedBuffer]
    sparse_dimension: Int32 | None
    vector: Int32
    vector_dimension: Int32 | None
    inbounds: Booleans | None
    layout: Text
    assembly = (
        "$base[$offsets] extents [$extents] strides [$strides]{ indices $indices along $sparse_dimension}"
        " -> $buffer vector $vector{ along $vector_dimension}{ inbounds [$inbounds]} layout $layout attr-dict"
        " : type($buffer)"
    )
    rules = [_size_of_copy, vector_has_a_dimension, _positions_of_buffer, _indices_of_view]
