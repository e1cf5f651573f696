"""Variables of a module in global memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile.divisibility import GLOBAL_ALIGNMENT_BYTES
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion, named_location
from tilec.lowering.tile_to_gpu.converts import converts
from tilec.lowering.tile_to_gpu.pointers import pointers_to


def convert_global(op: ir.OpView) -> None:
    """Builds the variable at the insertion point; an alignment of 16 permits vector accesses."""
    with named_location(op):
        made = emitter.gpu(
            "global", sym_name=op.sym_name, value=op.value, alignment=max(op.alignment, GLOBAL_ALIGNMENT_BYTES)
        )
    if op.symbol_visibility == "private":
        made.attributes["private"] = ir.UnitAttr.get()


@converts("get_global")
def _get_global(op: ir.OpView, conversion: Conversion) -> None:
    made = emitter.gpu("global_address", [], [emitter.integer_type(64)], symbol=op.name_).result
    result = op.operation.results[0]
    conversion.set(result, pointers_to(made, result.type.element))
