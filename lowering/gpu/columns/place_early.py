"""Tiles are placed as soon as they are computed, so that their registers are free for what follows.

before:   %p = exp2 ..   %o = read ..   %n = mulf %o, ..   place %n   %h = truncf %p   place %h
after:    %p = exp2 ..   %h = truncf %p   place %h   %o = read ..   %n = mulf %o, ..   place %n
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.placed import PlaceOp
from tilec.dialect.tile_gpu.shape import ConvertLayoutOp
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.ir.accumulator_channels import is_accumulator
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.staging import is_staged

# Operations without effects that make a tile smaller, or the same tile for other threads.
_CONVERSIONS = ("arith.truncf", ConvertLayoutOp.OPERATION_NAME)


def place_early(kernel: KernelOp, _context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run before its placed tiles get channels."""
    for op in [inner for inner in operations_inside(kernel) if inner.name == PlaceOp.OPERATION_NAME]:
        # The order stays of tiles that have a place in common: values of an accumulator, stores, and those of a group.
        if not is_accumulator(op.results[0]) and not is_staged(op) and "group" not in op.attributes:
            _move_behind_source(op)


def _move_behind_source(op: ir.Operation) -> None:
    source = op.operands[0].owner
    if isinstance(source, ir.Block) or source.operation.block != op.block:
        return
    if source.operation.name in _CONVERSIONS:
        _move_behind_source(source.operation)
    op.move_after(source.operation)
