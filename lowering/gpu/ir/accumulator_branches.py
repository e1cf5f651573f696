"""Branches about an accumulator that a multiply may not have written yet: they fill it, or give a constant for it."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.memory import LoadTensorMemoryOp, StoreTensorMemoryOp

_STORE = StoreTensorMemoryOp.OPERATION_NAME
_LOAD, _CONSTANT = LoadTensorMemoryOp.OPERATION_NAME, "arith.constant"


def load_or_constant(branch: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """The load in the first region of a branch with one result, and the constant that the second one gives.

    None if a region has any other operation: upstream's passes merge the branches of a user with these.
    """
    if branch.name != "scf.if" or len(branch.results) != 1:
        return None
    first, second = ([op.operation for op in region.blocks[0].operations] for region in branch.regions)
    load, *others = first
    if load.name != _LOAD or [list(op.operands) for op in others] != [[load.results[0]]]:
        return None
    value = second[-1].operands[0]
    return (load, value) if is_constant(value) and all(op.name == _CONSTANT for op in second[:-1]) else None


def is_constant(value: ir.Value) -> bool:
    """Whether a value is the result of a constant operation."""
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == _CONSTANT


def fills_accumulator(op: ir.Operation) -> bool:
    """Whether an operation is a branch that only fills accumulators; predictions are of loops that have iterations."""
    if op.name != "scf.if" or len(op.results) or len(op.regions[1].blocks):
        return False
    *stores, _ = [inner.operation for inner in op.regions[0].blocks[0].operations]
    return bool(stores) and all(store.name == _STORE and is_constant(store.operands[0]) for store in stores)
