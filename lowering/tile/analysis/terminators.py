"""The terminators of loops and branches, and early exits."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below

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


def yields(op: ir.OpView) -> list[ir.OpView]:
    """The `yield`s of an `if`."""
    blocks = [block for region in op.operation.regions for block in region.blocks]
    ends = [block.operations[len(block.operations) - 1] for block in blocks]
    return [end for end in ends if end.operation.name == YIELD]


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


def in_loop(op: ir.OpView) -> bool:
    """Whether an operation may run more than once."""
    parent = op.operation.parent
    while parent is not None and parent.operation.name != "cuda_tile.entry":
        if parent.operation.name in ("cuda_tile.for", "cuda_tile.loop"):
            return True
        parent = parent.operation.parent
    return False
