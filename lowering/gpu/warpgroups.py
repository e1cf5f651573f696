"""The warpgroups of a role that execute a loop without waiting for each other."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.scratch_use import scratch_of_operation
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP

_WGMMA = "tile_gpu.wgmma"
# Operations by which warps may exchange elements in scratch memory, with barriers.
_EXCHANGES = ("tile_gpu.cat", "tile_gpu.convert_layout", "tile_gpu.extract", "tile_gpu.insert", "tile_gpu.reduce")
# Operations of which each thread, or each warpgroup, executes its part alone.
_ALONE = (
    *("arith.", "math.", "scf.if", "scf.yield", "tile_gpu.math"),
    *("tile_gpu.broadcast", "tile_gpu.get", "tile_gpu.iota", "tile_gpu.release"),
    # Of the warpgroups that these order, each goes on while the others compute.
    *("tile_gpu.order_signal", "tile_gpu.order_wait"),
    *("tile_gpu.reshape", "tile_gpu.skip", "tile_gpu.splat", "tile_gpu.view_buffer", "tile_gpu.yield", _WGMMA),
)


def independent_warpgroups(loop: ir.OpView, warps: int) -> int:
    """The number of warpgroups that multiply their own rows in a loop, with no barrier between them; else 1."""
    operations = operations_inside(loop)
    is_multiplied = any(op.name == _WGMMA for op in operations)
    return warps // WARPS_OF_A_GROUP if is_multiplied and all(map(_is_alone, operations)) else 1


def _is_alone(op: ir.Operation) -> bool:
    return op.name.startswith((*_ALONE, *_EXCHANGES)) and not scratch_of_operation(op)
