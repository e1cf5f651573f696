"""The position of a tile block in the grid, and the dependencies between grids."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import (
    ClusterRankOp,
    ClusterSizeOp,
    GdcLaunchDependentsOp,
    GdcWaitOp,
    NumProgramsOp,
    ProgramIdOp,
)
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

_AXES = "xyz"
# The registers of kernels whose tile blocks are CTAs, in clusters or not, and of those whose tile blocks are clusters.
_REGISTERS = {
    ProgramIdOp.OPERATION_NAME: ("%ctaid", "%clusterid"),
    NumProgramsOp.OPERATION_NAME: ("%nctaid", "%nclusterid"),
}


@lowers(ProgramIdOp, NumProgramsOp)
def _position(lowering: Lowering, operation: ir.Operation) -> None:
    axis = _AXES[ir.IntegerAttr(operation.attributes["axis"]).value]
    of_blocks, of_clusters = _REGISTERS[operation.name]
    register = of_blocks if lowering.ctas == 1 or lowering.joins_programs else of_clusters
    lowering.set(operation.results[0], [lowering.b.compute(f"mov.u32 $0, {register}.{axis};", lowering.b.i32)])


@lowers(ClusterRankOp)
def _cluster_rank(lowering: Lowering, operation: ir.Operation) -> None:
    lowering.set(operation.results[0], [lowering.cluster_rank])


@lowers(ClusterSizeOp)
def _cluster_size(lowering: Lowering, operation: ir.Operation) -> None:
    if lowering.joins_programs:
        size = lowering.cluster_size
    else:
        size = lowering.compute(f"mov.b32 $0, {lowering.ctas};", "i32")
    lowering.set(operation.results[0], [size])


@lowers(GdcWaitOp)
def _gdc_wait(lowering: Lowering, _operation: ir.Operation) -> None:
    # PTX ISA 9.7.13.13: each thread that executes it waits, and then sees the memory of the prerequisite grids.
    lowering.b.execute("griddepcontrol.wait;")


@lowers(GdcLaunchDependentsOp)
def _gdc_launch_dependents(lowering: Lowering, _operation: ir.Operation) -> None:
    lowering.b.execute("griddepcontrol.launch_dependents;")
