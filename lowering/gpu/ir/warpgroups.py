"""The warpgroups of a role that execute a loop without waiting for each other."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import GetOp, ReleaseOp, SkipOp
from tilec.dialect.tile_gpu.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.memory import OrderSignalOp, OrderWaitOp, ViewBufferOp
from tilec.dialect.tile_gpu.reduce import ReduceOp, YieldOp
from tilec.dialect.tile_gpu.shape import (
    BroadcastOp,
    CatOp,
    ConvertLayoutOp,
    ExtractOp,
    InsertOp,
    IotaOp,
    MathOp,
    ReshapeOp,
    SplatOp,
)
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.ir.scratch_use import scratch_of_operation
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP

_WGMMA = WgmmaOp.OPERATION_NAME
# Operations by which warps may exchange elements in scratch memory, with barriers.
_EXCHANGES = tuple(op.OPERATION_NAME for op in (CatOp, ConvertLayoutOp, ExtractOp, InsertOp, ReduceOp))
# Operations of which each thread, or each warpgroup, executes its part alone.
_ALONE = (
    *("arith.", "math.", "scf.if", "scf.yield", MathOp.OPERATION_NAME),
    *(BroadcastOp.OPERATION_NAME, GetOp.OPERATION_NAME, IotaOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME),
    # These order warpgroups, each of which continues while the others compute.
    *(OrderSignalOp.OPERATION_NAME, OrderWaitOp.OPERATION_NAME),
    *(op.OPERATION_NAME for op in (ReshapeOp, SkipOp, SplatOp, ViewBufferOp, YieldOp, WgmmaOp, WgmmaWaitOp)),
)


def independent_warpgroups(loop: ir.OpView, warps: int) -> int:
    """The number of warpgroups that multiply their own rows in a loop, with no barrier between them; else 1."""
    operations = operations_inside(loop)
    is_multiplied = any(op.name == _WGMMA for op in operations)
    return warps // WARPS_OF_A_GROUP if is_multiplied and all(map(_is_alone, operations)) else 1


def _is_alone(op: ir.Operation) -> bool:
    return op.name.startswith((*_ALONE, *_EXCHANGES)) and not scratch_of_operation(op)
