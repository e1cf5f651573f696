"""The position of a tile block in the grid."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registry import lowers

_AXES = "xyz"


@lowers("tile_gpu.program_id", "tile_gpu.num_programs")
def _position(lowering: Lowering, operation: ir.Operation) -> None:
    axis = _AXES[ir.IntegerAttr(operation.attributes["axis"]).value]
    register = "%ctaid" if operation.name == "tile_gpu.program_id" else "%nctaid"
    lowering.set(operation.results[0], [lowering.b.compute(f"mov.u32 $0, {register}.{axis};", lowering.b.i32)])
