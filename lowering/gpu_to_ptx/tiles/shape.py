"""splat, iota, reshape, transpose, broadcast, cat and gather_parts; most of them only rename registers."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.cluster import GatherPartsOp
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, CatOp, IotaOp, ReshapeOp, SplatOp, TransposeOp
from tilec.lowering.gpu_to_ptx.memory.shared_access import ScratchTile, read, row_major, write
from tilec.lowering.gpu_to_ptx.registers.cluster import address_in_cta, cluster_barrier
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.gpu_to_ptx.registers.value_parts import Position
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.blocks import inserted_registers
from tilec.lowering.layout.linear_layout import LinearLayout, flatten
from tilec.lowering.layout.vectors import MAXIMUM_VECTOR_BYTES


@lowers(SplatOp)
def splat(lowering: Lowering, operation: ir.Operation) -> None:
    result = operation.results[0]
    lowering.set(result, lowering.get(operation.operands[0]) * layout_of(result.type).register_count)


@lowers(IotaOp)
def iota(lowering: Lowering, operation: ir.Operation) -> None:
    result = operation.results[0]
    layout, kind = layout_of(result.type), element(result)
    thread = linear_index(lowering, layout.thread_matrix, lowering.thread)
    bits = image_bits(layout.thread_matrix)
    # Registers that have the same element get one value, so that results computed from it are computed once.
    made: dict[int, ir.Value] = {}
    constants = [layout.register_matrix(register) for register in range(layout.register_count)]
    for constant in constants:
        if constant not in made:
            swizzled, added = split_constant(constant, bits)
            index = _element(lowering, thread, swizzled, added)
            if not swizzled:
                lowering.positions[index] = Position(thread, added, layout.size)
            made[constant] = _of_kind(lowering, kind, index)
    lowering.set(result, [made[constant] for constant in constants])


def _of_kind(lowering: Lowering, kind: PtxElement, index: ir.Value) -> ir.Value:
    if kind.register == "i1":
        return lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", index)
    if kind.register == "i32":
        return index
    return lowering.compute(f"cvt.u{kind.register_bits}.u32 $0, $1;", kind.register, index)


def _element(lowering: Lowering, thread: ir.Value | None, swizzled: int, added: int) -> ir.Value:
    if thread is None:
        return lowering.constant(ELEMENTS["i32"], added)
    if swizzled:
        thread = lowering.compute(f"xor.b32 $0, $1, {swizzled};", "i32", thread)
    return lowering.plus(thread, added)


@lowers(ReshapeOp)
def reshape(lowering: Lowering, operation: ir.Operation) -> None:
    result, source = operation.results[0], layout_of(operation.operands[0].type)
    _rename(lowering, operation, source.reshape(layout_of(result.type).shape), layout_of(result.type))


@lowers(TransposeOp)
def transpose(lowering: Lowering, operation: ir.Operation) -> None:
    source, permutation = layout_of(operation.operands[0].type), operation.attributes["permutation"]
    _rename(lowering, operation, source.transpose(list(permutation)), layout_of(operation.results[0].type))


@lowers(BroadcastOp)
def broadcast(lowering: Lowering, operation: ir.Operation) -> None:
    source, shrunk = layout_of(operation.operands[0].type), layout_of(operation.results[0].type)
    for dimension, extent in enumerate(source.shape):
        shrunk = shrunk.project(dimension) if extent == 1 else shrunk
    _rename(lowering, operation, source, shrunk)


def _rename(lowering: Lowering, operation: ir.Operation, renamed: LinearLayout, result: LinearLayout) -> None:
    """Forwards the registers of the operand; raises UnsupportedError if the layouts differ."""
    if renamed != result:
        raise lowering.unsupported(operation, f"expected the result in layout '{renamed}', but got '{result}'")
    lowering.set(operation.results[0], lowering.get(operation.operands[0]))


@lowers(CatOp)
def cat(lowering: Lowering, operation: ir.Operation) -> None:
    """Selects registers if no element moves between threads, else exchanges through shared memory."""
    result, dimension = operation.results[0], operation.attributes["dimension"].value
    layout, source = layout_of(result.type), layout_of(operation.operands[0].type)
    sides = [lowering.get(operand) for operand in operation.operands]
    own = inserted_registers(layout, source)
    if own is None:
        lowering.set(result, _cat_through_shared(lowering, element(result), sides, source, layout, dimension))
    else:
        lowering.set(result, [sides[position[dimension]][register] for position, register in own])


def _cat_through_shared(
    lowering: Lowering,
    kind: PtxElement,
    sides: list[list[ir.Value]],
    source: LinearLayout,
    layout: LinearLayout,
    dimension: int,
) -> list[ir.Value]:
    tile = ScratchTile.reserve(lowering, kind, layout.shape)
    for side, registers in enumerate(sides):
        start = tuple(side * source.shape[dimension] if d == dimension else 0 for d in range(len(layout.shape)))
        first = tile.base.plus(lowering, tile.offsets(flatten(start, layout.shape)))
        tile.part(first, source.shape).write(source, registers)
    lowering.barrier()
    return tile.read(layout)


@lowers(GatherPartsOp)
def _gather_parts(lowering: Lowering, operation: ir.Operation) -> None:
    """Each CTA writes its tile to the shared memory of all CTAs of the cluster (PTX ISA 9.7.13.4)."""
    source = operation.operands[0]
    # Every thread holds a scalar.
    layout = layout_of(source.type) if isinstance(source.type, ir.RankedTensorType) else blocked((1,), lowering.warps)
    kind, flat = element(source), layout.reshape((layout.size,))
    offsets = row_major(flat.size, kind)
    part_bytes = max(1 << offsets.rows, MAXIMUM_VECTOR_BYTES)
    # All CTAs use the same scratch memory: none writes it before the threads of every CTA are done with it.
    cluster_barrier(lowering)
    base = SharedAddress(lowering.writable_scratch(part_bytes * lowering.ctas))
    own = base.plus_product(lowering, lowering.cluster_rank, part_bytes)
    for rank in range(lowering.ctas):
        to = SharedAddress(address_in_cta(lowering, own.register, rank), own.alignment)
        write(lowering, kind, to, flat, lowering.get(source), offsets, space="shared::cluster")
    cluster_barrier(lowering)
    registers: list[ir.Value] = []
    for rank in range(lowering.ctas):
        registers += read(lowering, kind, base.plus(lowering, rank * part_bytes), flat, offsets)
    lowering.set(operation.results[0], registers)
