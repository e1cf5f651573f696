"""Loads and stores of register tiles in shared-memory buffers; elements of 4 bits are accessed as bytes."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.memory import LoadSharedOp, StoreSharedOp
from tilec.element_types import ELEMENT_TYPES
from tilec.lowering.gpu.memory.shared_plan import shared_layout, stored_layout
from tilec.lowering.gpu_to_ptx.memory.exchange import read, write
from tilec.lowering.gpu_to_ptx.memory.matrix_stores import stored_by_matrices
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.pack import divided_parts, joined_parts
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.gpu_to_ptx.registers.value_types import element, layout_of
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.packing import joined_in_threads


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
        if not stored_by_matrices(lowering, kind, base, layout, registers, stored.matrix):
            write(lowering, kind, base, layout, registers, stored.matrix)


def _per_byte(kind: PtxElement) -> int:
    return ELEMENT_TYPES[kind.name].per_byte


def _byte_layout(kind: PtxElement, layout: LinearLayout, contiguous: int) -> LinearLayout:
    """The layout of the bytes of a tile; raises ValueError if threads share a byte."""
    return joined_in_threads(layout, contiguous, _per_byte(kind))
