"""Which comparisons of numbers of elements with bounds become bits of words: those of masks that choose elements."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import BroadcastOp, IotaOp, ReshapeOp, TransposeOp
from tilec.dialect.upstream_predicates import predicate_of

# The words of a bound take as long as the comparisons of some elements.
LEAST_ELEMENTS = 16
_BITS = 32
_ORDERS = ("slt", "sle", "sgt", "sge")
_COMBINES = ("arith.andi", "arith.ori", "arith.xori")
_RENAMES = (BroadcastOp.OPERATION_NAME, ReshapeOp.OPERATION_NAME, TransposeOp.OPERATION_NAME)


def is_mask_comparison(op: ir.Operation) -> bool:
    """Whether an operation compares tiles of i32 by signed order, and its results only choose between elements.

    Accesses by vectors read one element of a mask each, so the comparisons of their masks are few.
    """
    if op.name != "arith.cmpi" or predicate_of(op) not in _ORDERS:
        return False
    type = op.operands[0].type
    element = type.element_type if isinstance(type, ir.RankedTensorType) else None
    return isinstance(element, ir.IntegerType) and element.width == _BITS and _only_chooses(op.results[0])


def _only_chooses(mask: ir.Value) -> bool:
    """Whether all uses of a mask, also as a part of another one, are conditions of selects."""
    seen, waiting = {mask}, [mask]
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if user.name in _COMBINES + _RENAMES:
                if user.results[0] not in seen:
                    seen.add(user.results[0])
                    waiting.append(user.results[0])
            elif user.name != "arith.select" or use.operand_number != 0:
                return False
    return True


def position_comparisons(mask: ir.Value) -> list[ir.Operation]:
    """The comparisons of numbers of elements with bounds that a mask consists of; empty if it has other parts."""
    comparisons: list[ir.Operation] = []
    seen, waiting = {mask}, [mask]
    while waiting:
        op = _unnamed(waiting.pop()).owner
        if isinstance(op, ir.Block):
            return []
        if op.operation.name in _COMBINES:
            parts = [operand for operand in op.operation.operands if operand not in seen]
            seen.update(parts)
            waiting += dict.fromkeys(parts)
        elif is_mask_comparison(op.operation) and any(is_position(operand) for operand in op.operation.operands):
            if op.operation not in comparisons:
                comparisons.append(op.operation)
        else:
            return []
    return comparisons


def is_position(value: ir.Value) -> bool:
    """Whether a tile has the number of each element along a dimension."""
    op = _unnamed(value).owner
    return not isinstance(op, ir.Block) and op.operation.name == IotaOp.OPERATION_NAME


def _unnamed(value: ir.Value) -> ir.Value:
    """The tile of which a tile repeats or renames elements."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _RENAMES:
        value = value.owner.operation.operands[0]
    return value
