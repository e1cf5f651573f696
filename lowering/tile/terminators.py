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
    """Whether control can leave one of the blocks around an operation before it comes to its end."""
    block, parent = op.operation.block, op.operation.parent
    while parent is not None and parent.operation.name.startswith("cuda_tile."):
        if parent.operation.name == "cuda_tile.loop" or any(leaves_early(inner) for inner in block.operations):
            return True
        block, parent = parent.operation.block, parent.operation.parent
    return False
