"""The terminators of loops and branches, and early exits."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.tile_operation import is_tile_operation

CONTINUE, BREAK, RETURN, YIELD = (f"cuda_tile.{word}" for word in ("continue", "break", "return", "yield"))
IF = "cuda_tile.if"


def terminators(op: ir.OpView) -> Iterator[ir.OpView]:
    """The terminators of an operation's blocks, and those of nested `if`s that leave these blocks."""
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == IF:
                    yield from (end for end in terminators(inner) if end.operation.name != YIELD)
            yield block.operations[len(block.operations) - 1]


def leaves_early(op: ir.OpView) -> bool:
    """Whether an operation is an `if` that can leave the enclosing block, or contains a `return`."""
    if not len(op.operation.regions):
        return False
    if op.operation.name == IF and any(end.operation.name != YIELD for end in terminators(op)):
        return True
    return next(returns(op), None) is not None


def returns(op: ir.OpView) -> Iterator[ir.OpView]:
    """The `return`s inside an operation, at any depth."""
    return (inner for inner in operations_below(op) if inner.operation.name == RETURN)


def may_be_left(op: ir.OpView) -> bool:
    """Whether control may leave an enclosing block of an operation before the block ends.

    Operations of other dialects, around it or in the same block, count as leaving.
    """
    block, parent = op.operation.block, op.operation.parent
    while parent is not None:
        name = parent.operation.name
        if name not in _STAYS_INSIDE or any(_may_leave(inner) for inner in block.operations):
            return True
        if name == _ENTRY:
            return False
        block, parent = parent.operation.block, parent.operation.parent
    return True


_ENTRY = "cuda_tile.entry"
# Their blocks run to the end unless a nested `if` leaves.
_STAYS_INSIDE = (_ENTRY, "cuda_tile.for", IF, "cuda_tile.reduce", "cuda_tile.scan")


def _may_leave(op: ir.OpView) -> bool:
    """Whether control may not reach the operation that follows in the block."""
    return not is_tile_operation(op.operation) or leaves_early(op)
