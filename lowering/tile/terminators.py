"""What ends the blocks of loops and branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CONTINUE, BREAK, RETURN, YIELD = (f"cuda_tile.{word}" for word in ("continue", "break", "return", "yield"))


def terminators(op: Any) -> Iterator[Any]:
    """What ends the blocks of an operation, and what leaves them from the `if`s inside."""
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == "cuda_tile.if":
                    yield from (end for end in terminators(inner) if end.operation.name != YIELD)
            yield block.operations[len(block.operations) - 1]


def leaves_early(op: Any) -> bool:
    """Whether an operation is an `if` that can leave what stands around it."""
    return op.operation.name == "cuda_tile.if" and any(end.operation.name != YIELD for end in terminators(op))


def may_be_left(op: Any) -> bool:
    """Whether control may leave one of the blocks around an operation before it comes to its end.

    What other dialects do with the blocks around it, or beside it, is not known, so they may leave.
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
# Their blocks run to their end unless an `if` inside leaves.
_STAYS_INSIDE = (_ENTRY, "cuda_tile.for", "cuda_tile.if", "cuda_tile.reduce", "cuda_tile.scan")


def _may_leave(op: Any) -> bool:
    """Whether what follows an operation in its block may not be run after it."""
    if not op.operation.name.startswith("cuda_tile."):
        return True
    return leaves_early(op) or any(_holds_return(inner) for inner in _inner(op))


def _holds_return(op: Any) -> bool:
    return op.operation.name == RETURN or any(_holds_return(inner) for inner in _inner(op))


def _inner(op: Any) -> Iterator[Any]:
    for region in op.operation.regions:
        for block in region.blocks:
            yield from block.operations
