"""gather_parts: each CTA writes its tile to the shared memory of all CTAs of the cluster (PTX ISA 9.7.13.4)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.cluster import GatherPartsOp
from tilec.lowering.gpu_to_ptx.memory.exchange import read, row_major, write
from tilec.lowering.gpu_to_ptx.registers.cluster import address_in_cta, cluster_barrier
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress, writable_scratch
from tilec.lowering.gpu_to_ptx.registers.value_types import element, layout_of
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vector_width import MAXIMUM_VECTOR_BYTES


@lowers(GatherPartsOp)
def _gather_parts(lowering: Lowering, operation: ir.Operation) -> None:
    source = operation.operands[0]
    kind, flat = element(source), _of_elements(lowering, source)
    offsets = row_major(flat.size, kind)
    part_bytes = max(1 << offsets.rows, MAXIMUM_VECTOR_BYTES)
    # All CTAs use the same scratch memory: none writes it before the threads of every CTA are done with it.
    cluster_barrier(lowering)
    base = writable_scratch(lowering, part_bytes * lowering.ctas)
    own = base.plus_product(lowering, lowering.cluster_rank, part_bytes)
    for rank in range(lowering.ctas):
        register = address_in_cta(lowering, own.register, rank)
        to = SharedAddress(register, own.alignment)
        write(lowering, kind, to, flat, lowering.get(source), offsets, space="shared::cluster")
    cluster_barrier(lowering)
    registers: list[ir.Value] = []
    for rank in range(lowering.ctas):
        registers += read(lowering, kind, base.plus(lowering, rank * part_bytes), flat, offsets)
    lowering.set(operation.results[0], registers)


def _of_elements(lowering: Lowering, source: ir.Value) -> LinearLayout:
    """The layout of the elements in row-major order; every thread holds a scalar."""
    layout = layout_of(source.type) if isinstance(source.type, ir.RankedTensorType) else blocked((1,), lowering.warps)
    return layout.reshape((layout.size,))
