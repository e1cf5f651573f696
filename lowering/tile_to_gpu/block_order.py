"""The numbers of operations in their blocks."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp

_OUTERMOST = ("cuda_tile.entry", KernelOp.OPERATION_NAME)


class BlockOrder:
    """Numbers the operations of each block once; the blocks do not change meanwhile."""

    def __init__(self) -> None:
        self._numbers: dict[ir.Block, dict[ir.Operation, int]] = {}

    def number(self, op: ir.Operation) -> int:
        """The number of an operation in its block."""
        block = op.block
        if block not in self._numbers:
            self._numbers[block] = {inner.operation: number for number, inner in enumerate(block.operations)}
        return self._numbers[block][op]

    def ancestor(self, op: ir.Operation, block: ir.Block) -> ir.Operation | None:
        """The operation of a block that is, or contains, an operation; None if it is elsewhere."""
        while op.block != block:
            op = op.parent.operation
            if op.name in _OUTERMOST:
                return None
        return op
