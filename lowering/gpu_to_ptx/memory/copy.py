"""Copies from global to a slot of shared memory by cp.async (PTX ISA 9.7.9.25.3)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.copy import COPY_BYTES, CopyGlobalOp, CopyViewOp
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.memory.access import Access, signed
from tilec.lowering.gpu_to_ptx.memory.element_accesses import ElementAccesses, accesses_by_pointers, accesses_in_layout
from tilec.lowering.gpu_to_ptx.memory.shared_access import tile_access
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, layout_of
from tilec.lowering.gpu_to_ptx.registers.guards import first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.linear_layout import parse_layout
from tilec.lowering.layout.vectors import vector_groups


@lowers(CopyGlobalOp)
def _copy_global(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    groups = vector_groups(layout_of(op.pointers.type).register_count, range(_vector_bits(op)))
    _copy(lowering, op, accesses_by_pointers(lowering, op, _element(op), groups))


@lowers(CopyViewOp)
def _copy_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _copy(lowering, op, accesses_in_layout(lowering, op, _element(op), parse_layout(op.layout)))


def _element(op: ir.OpView) -> PtxElement:
    return ELEMENTS[spell(op.buffer.type.element)]


def _vector_bits(op: ir.OpView) -> int:
    return int(op.vector).bit_length() - 1


def _copy(lowering: Lowering, op: ir.OpView, accesses: ElementAccesses) -> None:
    """Copies each vector once, by the first thread that holds it; raises ValueError if it is apart in memory."""
    offsets, base = shared_layout(op.buffer.type).matrix, SharedAddress(lowering.scalar(op.buffer))
    stored, bits = tile_access(lowering, accesses.kind, base, accesses.layout, offsets), tuple(range(_vector_bits(op)))
    if stored.vector[: len(bits)] != bits or any(len(group) != op.vector for group in accesses.groups):
        raise ValueError(f"expected {op.vector} successive registers of a thread to be adjacent in memory")
    # The layout may have more warps than the role, of which the others hold the same elements.
    holder = first_holder(lowering, accesses.layout.free_thread_mask & lowering.role.threads - 1)
    for group in accesses.distinct:
        size_bytes = op.vector * accesses.kind.bytes
        _copy_vector(lowering, size_bytes, accesses.access(group), *stored.address(group[0]), holder)


def _copy_vector(
    lowering: Lowering, size_bytes: int, source: Access, target: ir.Value, offset: int, holder: ir.Value | None
) -> None:
    operands = [target, source.address]
    # L1 has no use for operands, and only copies of the largest size can pass it over.
    cache = "cg" if size_bytes == max(COPY_BYTES) else "ca"
    text = f"cp.async.{cache}.shared::cta.global [$0{signed(offset)}], [$1{signed(source.offset)}], {size_bytes}"
    if source.guard is not None:
        # The bytes that a copy writes after those of its source are zero.
        operands.append(lowering.compute(f"selp.b32 $0, {size_bytes}, 0, $1;", "i32", source.guard))
        text += ", $2"
    if holder is not None:
        text = f"@${len(operands)} {text}"
        operands.append(holder)
    lowering.b.execute(f"{text};", (), *operands)
