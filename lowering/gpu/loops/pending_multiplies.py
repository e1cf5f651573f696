"""The number of multiplies of warpgroups that may be in flight after each wait of a body.

Warpgroups complete multiplies in the order of issue.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.walk import operations_in
from tilec.lowering import emitter

_MULTIPLY, _WAIT = WgmmaOp.OPERATION_NAME, WgmmaWaitOp.OPERATION_NAME
# The simulator accepts up to seven pending groups.
MOST_PENDING = 7


def can_count_pending(body: ir.Block) -> bool:
    """Whether each multiply of a body has one wait, which is in the body."""
    operations = operations_in(body)
    multiplies = [op for op in operations if op.name == _MULTIPLY]
    waits = [op for op in operations if op.name == _WAIT]
    awaited = [op.operands[0].owner for op in waits]
    if len(multiplies) > MOST_PENDING or any(isinstance(owner, ir.Block) for owner in awaited):
        return False
    return len(awaited) == len(multiplies) and {owner.operation for owner in awaited} == set(multiplies)


def await_all(body: ir.Block) -> None:
    """Sets `pending` of the waits of a body to zero, which is right for copies of some of its operations too."""
    for op in (each.operation for each in body.operations):
        if op.name == _WAIT:
            op.attributes["pending"] = ir.IntegerAttr.get(emitter.integer_type(32), 0)


def count_pending(body: ir.Block) -> None:
    """Sets `pending` of the waits of a body: the multiplies that are issued between each and its multiply."""
    issued = list[ir.Operation]()
    for op in (each.operation for each in body.operations):
        if op.name == _MULTIPLY:
            issued.append(op)
        elif op.name == _WAIT:
            later = len(issued) - 1 - issued.index(op.operands[0].owner.operation)
            op.attributes["pending"] = ir.IntegerAttr.get(emitter.integer_type(32), later)
