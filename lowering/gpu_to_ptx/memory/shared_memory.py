"""Shared-memory buffers, and loads and stores of register tiles in them; elements of 4 bits are accessed as bytes."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.memory import LoadSharedOp, SharedOp, StoreSharedOp, ViewBufferOp
from tilec.element_types import ELEMENT_TYPES
from tilec.lowering.gpu.memory.shared_plan import shared_layout, stored_layout
from tilec.lowering.gpu_to_ptx.memory.access import signed
from tilec.lowering.gpu_to_ptx.memory.shared_access import SharedAccess, read, write
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.pack import divided_parts, joined_parts
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout
from tilec.lowering.layout.vectors import joined_in_threads

_ELEMENT_BYTES, _ROW_BYTES = 2, 16
# The offsets of the bits of an element's number in a row of a matrix, which has eight elements.
_ROW = (2, 4, 8)
_ROW_BITS = len(_ROW)
# An instruction stores up to four matrices.
_MAXIMUM_MATRIX_BITS = LANE_BITS - _ROW_BITS


@lowers(SharedOp)
def _shared(lowering: Lowering, operation: ir.Operation) -> None:
    result = operation.results[0]
    lowering.set(result, [lowering.shared_address(lowering.plan.buffers[result])])


@lowers(ViewBufferOp)
def _view_buffer(lowering: Lowering, operation: ir.Operation) -> None:
    lowering.set(operation.results[0], lowering.get(operation.operands[0]))


@lowers(LoadSharedOp)
def load_shared(lowering: Lowering, operation: ir.Operation) -> None:
    result, buffer = operation.results[0], operation.operands[0]
    kind, layout = element(result), layout_of(result.type)
    stored, base = shared_layout(buffer.type), SharedAddress(lowering.scalar(buffer))
    if _per_byte(kind) == 1:
        lowering.set(result, read(lowering, kind, base, layout, stored.matrix))
        return
    bytes_ = _byte_layout(kind, layout, stored.contiguous)
    loaded = read(lowering, ELEMENTS["i8"], base, bytes_, stored.matrix)
    lowering.set(result, divided_parts(lowering, kind, loaded, layout, stored.contiguous))


@lowers(StoreSharedOp)
def store_shared(lowering: Lowering, operation: ir.Operation) -> None:
    value, buffer = operation.operands
    kind, layout, registers = element(value), layout_of(value.type), lowering.get(value)
    if _per_byte(kind) > 1:
        contiguous = shared_layout(buffer.type).contiguous
        registers = joined_parts(lowering, kind, registers, layout, contiguous)
        kind, layout = ELEMENTS["i8"], _byte_layout(kind, layout, contiguous)
    stored = stored_layout(buffer.type)
    for copy in stored.copies:
        base = SharedAddress(lowering.scalar(buffer)).plus(lowering, copy)
        if not _stored_by_matrices(lowering, kind, base, layout, registers, stored.matrix):
            write(lowering, kind, base, layout, registers, stored.matrix)


def _per_byte(kind: PtxElement) -> int:
    return ELEMENT_TYPES[kind.name].per_byte


def _byte_layout(kind: PtxElement, layout: LinearLayout, contiguous: int) -> LinearLayout:
    """The layout of the bytes of a tile; raises ValueError if threads share a byte."""
    return joined_in_threads(layout, contiguous, _per_byte(kind))


def _stored_by_matrices(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    registers: list[ir.Value],
    offsets: BitMatrix,
) -> bool:
    """Stores element i (row-major) at byte offsets(i) from `base`; False if the layout is not one of matrices.

    Each register of a matrix holds two elements of a row, or with `.trans` of a column.
    """
    columns = (offsets @ layout.register_matrix).columns
    threads = (offsets @ layout.thread_matrix).columns
    if kind.bytes != _ELEMENT_BYTES or layout.free_register_mask or layout.free_thread_mask or not columns:
        return False
    inner, outer = columns[:1] + threads[:2], threads[2:LANE_BITS]
    if inner == _ROW:
        rows, transpose = outer, ""
    elif outer == _ROW:
        rows, transpose = inner, ".trans"
    else:
        return False
    matrices = columns[1:]
    if any(column % _ROW_BYTES for column in (*rows, *matrices, *threads[LANE_BITS:])) or base.alignment < _ROW_BYTES:
        return False
    packed = pack(lowering, kind, registers)
    count = 1 << min(len(matrices), _MAXIMUM_MATRIX_BITS)
    # The lower three lane bits select a row of a matrix, the others one of the first matrices.
    selected = [*matrices[:_MAXIMUM_MATRIX_BITS], 0, 0][:_MAXIMUM_MATRIX_BITS]
    addressed = (*rows, *selected, *threads[LANE_BITS:])
    bits = offsets.rows
    access = SharedAccess(lowering, kind, base, BitMatrix(matrices, bits), BitMatrix(addressed, bits))
    head = f"stmatrix.sync.aligned.m8n8.x{count}{transpose}.shared.b16"
    for first in range(0, len(packed), count):
        address, offset = access.address(first)
        text = f"{head} [$0{signed(offset)}], {{{operands(count, 1)}}};"
        lowering.b.execute(text, (), address, *packed[first : first + count])
    return True
