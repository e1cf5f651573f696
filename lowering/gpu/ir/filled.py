"""Branches that only fill accumulators, of which a model of loops knows nothing."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.memory import StoreTensorMemoryOp
from tilec.lowering.gpu.ir.chosen_loads import is_constant

_STORE = StoreTensorMemoryOp.OPERATION_NAME


def fills_accumulator(op: ir.Operation) -> bool:
    """Whether an operation is a branch that only fills accumulators; predictions are of loops that have iterations."""
    if op.name != "scf.if" or len(op.results) or len(op.regions[1].blocks):
        return False
    *stores, _ = [inner.operation for inner in op.regions[0].blocks[0].operations]
    return bool(stores) and all(store.name == _STORE and is_constant(store.operands[0]) for store in stores)
