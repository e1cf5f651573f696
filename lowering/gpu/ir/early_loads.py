"""Loads of threads that may run before operations that precede them, also those of earlier iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, ConvertLayoutOp, IotaOp, ReshapeOp, SplatOp
from tilec.dialect.walk import operations_in, owner_of
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
    return operations_behind([load], body, _is_address_arithmetic)


def operations_behind(
    group: Sequence[ir.Operation], body: ir.Block, may_be_needed: Callable[[ir.Operation], bool]
) -> list[ir.Operation] | None:
    """The operations of a body that a group of others needs; None if it needs what a loop carries, or other ones."""
    needed: list[ir.Operation] = []
    work = [operand for op in group for operand in op.operands]
    while work:
        value = work.pop()
        op = owner_of(value)
        if op is None:
            if value.owner == body and value != body.arguments[0]:
                return None
        elif op.block == body and op not in needed and op not in group:
            if not may_be_needed(op):
                return None
            needed.append(op)
            work += op.operands
    return needed


def with_addresses(load: ir.Operation, body: ir.Block) -> list[ir.Operation]:
    """An early load after the operations that compute its addresses."""
    needed = {load, *(addresses_of(load, body) or [])}
    return [op for op in operations_in(body) if op in needed]


def _is_address_arithmetic(op: ir.Operation) -> bool:
    return is_rematerializable(op) or op.name.startswith("arith.") or op.name in _ADDRESSES
