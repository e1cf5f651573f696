"""Variables of a module, and memory of a tile block, in global memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.global_memory import AllocateOp, GlobalAddressOp, GlobalOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.divisibility import GLOBAL_ALIGNMENT_BYTES
from tilec.lowering.tile.analysis.tile_operations import in_loop
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.pointers import pointers_to
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts, named_location


def convert_global(op: ir.OpView) -> None:
    """Builds the variable at the insertion point; an alignment of 16 permits vector accesses."""
    with named_location(op):
        made = emitter.gpu(
            GlobalOp, sym_name=op.sym_name, value=op.value, alignment=max(op.alignment, GLOBAL_ALIGNMENT_BYTES)
        )
    if op.symbol_visibility == "private":
        made.attributes["private"] = ir.UnitAttr.get()


@converts("get_global")
def _get_global(op: ir.OpView, conversion: Conversion) -> None:
    made = emitter.gpu(GlobalAddressOp, [], [emitter.integer_type(64)], symbol=op.name_).result
    result = op.operation.results[0]
    conversion.set(result, pointers_to(made, result.type.element))


@converts("alloca")
def _alloca(op: ir.OpView, conversion: Conversion) -> None:
    """Memory from the start of the kernel to its end, as the size is known.

    Each iteration of a loop has memory of its own: a barrier orders the accesses of the preceding one, which no token
    names.
    """
    result = op.operation.results[0]
    pointer = result.type.element
    size = -(-op.num_elem * element_bits(pointer.element) // 8)
    alignment = max(op.alignment, GLOBAL_ALIGNMENT_BYTES)
    made = conversion.declarations.declare(AllocateOp, [], [emitter.integer_type(64)], bytes=size, alignment=alignment)
    if in_loop(op):
        emitter.gpu(BarrierOp)
    conversion.set(result, pointers_to(made, pointer))
