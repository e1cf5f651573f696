"""Removes operations without used results: pure ones, weak loads, and loops and branches without effects."""

from __future__ import annotations

from collections.abc import Set

from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.mlir import ir
from tilec.dialect.walk import inner_operations, operations_named
from tilec.lowering.tile.analysis.tile_operations import LOADS, is_tile_operation, leaves

# An unused weak load whose token is unused has no effect on the order of other accesses.
# `loop` may not terminate; counted loops terminate.
_STRUCTURES = ("cuda_tile.if", "cuda_tile.for", "cuda_tile.reduce", "cuda_tile.scan")
_ENDS = ("cuda_tile.yield", "cuda_tile.continue")


def remove_dead(module: ir.Module) -> None:
    """Erases from the last operation to the first, so that the operands of removed operations go too."""
    # In pre-order, nested operations follow their parent, so the reverse order visits them first.
    found = operations_named(module, _may_be_removed)
    kept_structures, leaving_structures = set[ir.Operation](), set[ir.Operation]()
    for op in reversed(found):
        operation = op.operation
        if operation.name in _STRUCTURES:
            if _leaves(op, leaving_structures):
                leaving_structures.add(operation)
            body = inner_operations(op)
            if operation in leaving_structures or not all(_may_be_inside_dead(each, kept_structures) for each in body):
                kept_structures.add(operation)
        if not any(list(result.uses) for result in operation.results) and _is_effect_free(op, kept_structures):
            operation.erase()


def _may_be_removed(operation: ir.Operation) -> bool:
    return is_tile_operation(operation) and bool(operation.results) or operation.name in _STRUCTURES


def _leaves(op: ir.OpView, leaving_structures: Set[ir.Operation]) -> bool:
    """Whether an `if` leaves the enclosing region, given the nested branches that do."""
    if op.operation.name != "cuda_tile.if":
        return False
    if any(leaves(block) for region in op.operation.regions for block in region.blocks):
        return True
    return any(inner.operation in leaving_structures for inner in inner_operations(op))


def _is_effect_free(op: ir.OpView, kept_structures: Set[ir.Operation]) -> bool:
    """Whether an operation has no effect besides its results, given which structures have one."""
    name = op.operation.name
    if not is_tile_operation(op.operation):
        return False
    if name in LOADS:
        return op.memory_ordering_semantics == "weak"
    if name in _STRUCTURES:
        return op.operation not in kept_structures
    return name == "cuda_tile.alloca" or effect_free(op)


def _may_be_inside_dead(op: ir.OpView, kept_structures: Set[ir.Operation]) -> bool:
    return op.operation.name in _ENDS or _is_effect_free(op, kept_structures)
