"""Operations of a loop whose operands are defined outside of it move before the loop, where that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.constants import splat

_LOOPS = ("cuda_tile.for", "cuda_tile.loop")
# Without effects, though their regions or views keep them from being marked pure.
_ALSO_FREE = ("cuda_tile.reduce", "cuda_tile.scan", "cuda_tile.make_tensor_view", "cuda_tile.yield")


def hoist_invariants(module: ir.Module) -> None:
    """Moves what may run at any time; a loop may run zero times, so what can be undefined (divi, assume, ..) stays."""
    for loop in _loops_inside_out(module.operation):
        for op in list(loop.body.blocks[0].operations):
            if _may_run_anytime(op) and not _depends_on(op, loop.operation):
                op.operation.move_before(loop.operation)


def _loops_inside_out(root: ir.Operation) -> list[Any]:
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _LOOPS:
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.POST_ORDER)
    return found


def _may_be_undefined(op: Any) -> bool:
    """Whether some operands make the operation undefined, which shows if it runs where it would not have run."""
    name = op.operation.name.removeprefix("cuda_tile.")
    if name in ("shli", "shri") and not _is_small(splat(op.rhs), ELEMENT_BITS[spell(op.result.type.element)]):
        return True
    if name == "ftoi":
        return not op.saturating
    return name in ("extract", "insert") or getattr(op, "overflow", "none") != "none"


def _is_small(amount: int | None, bits: int) -> bool:
    return amount is not None and 0 <= amount < bits


def _may_run_anytime(op: Any) -> bool:
    if op.operation.has_trait(ir.IsTerminatorTrait) and not _inside_fold(op):
        return False
    # Operations of other dialects say what they are only where they are Python's too.
    if ext.Pure not in getattr(op, "_traits", ()) and op.operation.name not in _ALSO_FREE:
        return False
    if _may_be_undefined(op):
        return False
    return all(_may_run_anytime(inner) for inner in _inner(op))


def _inside_fold(op: Any) -> bool:
    return op.operation.parent.operation.name in ("cuda_tile.reduce", "cuda_tile.scan")


def _inner(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.operations


def _depends_on(op: Any, loop: ir.Operation) -> bool:
    """Whether an operand of the operation, or of one inside it, is defined within the loop but not within itself."""
    return any(_is_within(operand, loop) and not _is_within(operand, op.operation) for operand in _operands(op))


def _operands(op: Any) -> Iterator[ir.Value]:
    yield from op.operation.operands
    for inner in _inner(op):
        yield from _operands(inner)


def _is_within(value: ir.Value, ancestor: ir.Operation) -> bool:
    owner = value.owner
    parent = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while parent is not None:
        if parent.operation == ancestor:
            return True
        parent = parent.operation.parent
    return False
