"""Operations of a loop's body that are executed for another iteration."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu.operation_role import is_rematerializable


def scalars_behind(group: Sequence[ir.Operation], body: ir.Block) -> list[ir.Operation] | None:
    """The scalar operations of a body that some of its operations need; None if they need more than the counter."""
    needed: list[ir.Operation] = []
    work = [operand for op in group for operand in op.operands]
    while work:
        value = work.pop()
        owner = value.owner
        if isinstance(owner, ir.Block):
            if owner == body and value != body.arguments[0]:
                return None
        elif owner.operation.block == body and owner.operation not in needed and owner.operation not in group:
            if not is_rematerializable(owner.operation):
                return None
            needed.append(owner.operation)
            work += list(owner.operation.operands)
    return needed


def copy_for(
    group: Sequence[ir.Operation], counter: ir.Value, replacement: ir.Value, *, first_round: bool = False
) -> None:
    """Copies operations of a body to the insertion point, for the iteration with another counter."""
    values = {counter: replacement}
    for op in group:
        copy = op.clone(ip=ir.InsertionPoint.current)
        for index, operand in enumerate(op.operands):
            copy.operands[index] = values.get(operand, operand)
        if first_round and op.name in ("tile_gpu.put_begin", "tile_gpu.put_commit"):
            copy.attributes["first_round"] = ir.UnitAttr.get()
        values.update(zip(op.results, copy.results, strict=True))
