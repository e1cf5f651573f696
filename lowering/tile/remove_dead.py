"""Operations whose results nothing uses go: pure ones, weak loads, and loops and branches that do nothing else."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from tilec.dialect.cuda_tile.folds import effect_free
from tilec.dialect.mlir import ir
from tilec.lowering.tile.terminators import YIELD

# A weak load orders nothing once its token is unused, and memory that no one reads need not be read.
_LOADS = ("cuda_tile.load_ptr_tko", "cuda_tile.load_view_tko")
# A loop may go on for ever, so only loops that count are sure to end.
_STRUCTURES = ("cuda_tile.if", "cuda_tile.for", "cuda_tile.reduce", "cuda_tile.scan")
_ENDS = ("cuda_tile.yield", "cuda_tile.continue")


def remove_dead(module: ir.Module) -> None:
    """Erases from the last operation to the first, so that what only fed the dead goes with it."""
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("cuda_tile.") and operation.results or operation.name in _STRUCTURES:
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    # After an operation come those inside of it, so backward they go first and need not be asked for again.
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    lasting, leaving = set[ir.Operation](), set[ir.Operation]()
    for op in reversed(found):
        operation = op.operation
        if operation.name in _STRUCTURES:
            if _leaves(op, leaving):
                leaving.add(operation)
            if operation in leaving or not all(_is_within_reach(inner, lasting) for inner in _inner(op)):
                lasting.add(operation)
        if not any(list(result.uses) for result in operation.results) and _does_nothing(op, lasting):
            operation.erase()


def _leaves(op: Any, leaving: Set[ir.Operation]) -> bool:
    """Whether a branch leaves what stands around it, where the branches inside that do are known."""
    if op.operation.name != "cuda_tile.if":
        return False
    ends = (block.operations[len(block.operations) - 1] for region in op.operation.regions for block in region.blocks)
    return any(end.operation.name != YIELD for end in ends) or any(inner.operation in leaving for inner in _inner(op))


def _does_nothing(op: Any, lasting: Set[ir.Operation]) -> bool:
    """Whether an operation only makes its results; of those with regions it is known which do more."""
    name = op.operation.name
    if not name.startswith("cuda_tile."):
        return False
    if name in _LOADS:
        return op.memory_ordering_semantics == "weak"
    if name in _STRUCTURES:
        return op.operation not in lasting
    return name == "cuda_tile.alloca" or effect_free(op)


def _is_within_reach(op: Any, lasting: Set[ir.Operation]) -> bool:
    return op.operation.name in _ENDS or _does_nothing(op, lasting)


def _inner(op: Any) -> list[Any]:
    return [inner for region in op.operation.regions for block in region.blocks for inner in block.operations]
