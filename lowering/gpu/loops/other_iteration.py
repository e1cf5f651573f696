"""Operations of a loop's body that are executed for another iteration."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import PutBeginOp, PutCommitOp
from tilec.lowering.gpu.ir.early_loads import operations_behind
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.tile.analysis.replacing import copy_operation


def scalars_behind(group: Sequence[ir.Operation], body: ir.Block) -> list[ir.Operation] | None:
    """The scalar operations of a body that some of its operations need; None if they need more than the counter."""
    return operations_behind(group, body, is_rematerializable)


def copy_all(operations: Sequence[ir.Operation], values: dict[ir.Value, ir.Value]) -> list[ir.Operation]:
    """Copies operations to the insertion point, with other `values`, to which it adds the results."""
    return [copy_operation(op, values) for op in operations]


def copy_for(
    group: Sequence[ir.Operation], counter: ir.Value, replacement: ir.Value, *, first_round: bool = False
) -> None:
    """Copies operations of a body to the insertion point, for the iteration with another counter."""
    for copy in copy_all(group, {counter: replacement}):
        if first_round and copy.name in (PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME):
            copy.attributes["first_round"] = ir.UnitAttr.get()
