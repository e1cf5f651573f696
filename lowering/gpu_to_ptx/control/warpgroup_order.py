"""order_wait and order_signal: a named barrier per warpgroup, at which it waits for the one before it to arrive."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE_ROLES
from tilec.dialect.tile_gpu.operations.memory import OrderSignalOp, OrderWaitOp
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP
from tilec.lowering.target import LANES

# Barrier 0 belongs to the CTA, and one to each role that computes; the others, to the warpgroups of the CTA in order.
_FIRST_BARRIER = 1 + len(COMPUTE_ROLES)
# A warpgroup that waits, and one that arrives.
_THREADS = 2 * WARPS_OF_A_GROUP * LANES


@lowers(OrderWaitOp)
def _order_wait(lowering: Lowering, operation: ir.Operation) -> None:
    groups = _groups(lowering, operation)
    if operation.opview.last:
        _at_first_barrier(lowering, "sync", executing=0)
    else:
        _at_own_barrier(lowering, "sync", groups, ahead=0)


@lowers(OrderSignalOp)
def _order_signal(lowering: Lowering, operation: ir.Operation) -> None:
    groups = _groups(lowering, operation)
    if operation.opview.first:
        _at_first_barrier(lowering, "arrive", executing=groups - 1)
    else:
        _at_own_barrier(lowering, "arrive", groups, ahead=1)


def _groups(lowering: Lowering, operation: ir.Operation) -> int:
    groups, rest = divmod(lowering.warps, WARPS_OF_A_GROUP)
    if rest or groups < 2:
        raise lowering.unsupported(
            operation, f"expected a role of 8, 12 or 16 warps, whose warpgroups have an order, but got {lowering.warps}"
        )
    return groups


def _own_group(lowering: Lowering) -> ir.Value:
    """The number of the warpgroup in the role, which is equal in the threads of a warp."""
    return lowering.compute("shr.u32 $0, $1, $2;", "i32", lowering.warp, WARPS_OF_A_GROUP.bit_length() - 1)


def _first_barrier(lowering: Lowering) -> int:
    return _FIRST_BARRIER + lowering.role.first_warp // WARPS_OF_A_GROUP


def _at_own_barrier(lowering: Lowering, action: str, groups: int, ahead: int) -> None:
    """All warpgroups, each at its barrier, or at that of the next one: the first follows the last."""
    number = _own_group(lowering)
    if ahead:
        is_last = lowering.compute("setp.eq.s32 $0, $1, $2;", "i1", number, groups - 1)
        following = lowering.compute("add.s32 $0, $1, $2;", "i32", number, 1)
        number = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", 0, following, is_last)
    barrier = lowering.compute("add.s32 $0, $1, $2;", "i32", number, _first_barrier(lowering))
    lowering.b.execute(f"bar.{action} $0, {_THREADS};", (), barrier)


def _at_first_barrier(lowering: Lowering, action: str, *, executing: int) -> None:
    """One warpgroup, at the barrier of the first one."""
    own = _own_group(lowering)
    executes = lowering.compute("setp.eq.s32 $0, $1, $2;", "i1", own, executing)
    lowering.b.execute(f"@$0 bar.{action} {_first_barrier(lowering)}, {_THREADS};", (), executes)
