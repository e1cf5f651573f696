"""Loads of threads that may run before operations that precede them, also those of earlier iterations."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.shape import BroadcastOp, ConvertLayoutOp, IotaOp, ReshapeOp, SplatOp
from tilec.lowering.gpu.ir.operation_role import is_rematerializable

_ADDRESSES = (
    SplatOp.OPERATION_NAME,
    IotaOp.OPERATION_NAME,
    BroadcastOp.OPERATION_NAME,
    ReshapeOp.OPERATION_NAME,
    ConvertLayoutOp.OPERATION_NAME,
)


def early_loads(operations: Sequence[ir.Operation], body: ir.Block) -> list[ir.Operation]:
    """The loads that may run early and whose operands depend on the counter of the loop with this body alone."""
    loads = [op for op in operations if op.name in GLOBAL_LOADS and "early" in op.attributes]
    return [op for op in loads if addresses_of(op, body) is not None]


def addresses_of(load: ir.Operation, body: ir.Block) -> list[ir.Operation] | None:
    """The operations of the body that a load depends on; None if it needs more than the counter and arithmetic."""
    needed: list[ir.Operation] = []
    work = list(load.operands)
    while work:
        value = work.pop()
        owner = value.owner
        if isinstance(owner, ir.Block):
            if owner == body and value != body.arguments[0]:
                return None
        elif owner.operation.block == body and owner.operation not in needed:
            if not _is_address_arithmetic(owner.operation):
                return None
            needed.append(owner.operation)
            work += list(owner.operation.operands)
    return needed


def with_addresses(load: ir.Operation, body: ir.Block) -> list[ir.Operation]:
    """An early load after the operations that compute its addresses."""
    needed = {load, *(addresses_of(load, body) or [])}
    return [op.operation for op in body.operations if op.operation in needed]


def _is_address_arithmetic(op: ir.Operation) -> bool:
    return is_rematerializable(op) or op.name.startswith("arith.") or op.name in _ADDRESSES
