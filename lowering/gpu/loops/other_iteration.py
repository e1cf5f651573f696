"""Operations of a loop's body that are executed for another iteration."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import PutBeginOp, PutCommitOp
from tilec.dialect.walk import with_inner
from tilec.lowering.gpu.ir.early_loads import operations_behind
from tilec.lowering.gpu.ir.operation_role import is_rematerializable


def scalars_behind(group: Sequence[ir.Operation], body: ir.Block) -> list[ir.Operation] | None:
    """The scalar operations of a body that some of its operations need; None if they need more than the counter."""
    return operations_behind(group, body, is_rematerializable)


def copy_all(operations: Sequence[ir.Operation], values: dict[ir.Value, ir.Value]) -> list[ir.Operation]:
    """Copies operations to the insertion point, with other `values`, to which it adds the results."""
    copies = []
    for op in operations:
        copy = op.clone(ip=ir.InsertionPoint.current)
        for copied in with_inner(copy):
            for index, operand in enumerate(copied.operands):
                if operand in values:
                    copied.operands[index] = values[operand]
        values.update(zip(op.results, copy.results, strict=True))
        copies.append(copy)
    return copies


def copy_for(
    group: Sequence[ir.Operation], counter: ir.Value, replacement: ir.Value, *, first_round: bool = False
) -> None:
    """Copies operations of a body to the insertion point, for the iteration with another counter."""
    for copy in copy_all(group, {counter: replacement}):
        if first_round and copy.name in (PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME):
            copy.attributes["first_round"] = ir.UnitAttr.get()
