"""Legal parents of control-flow operations, and legal types of loop-carried values."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.cuda_tile.sets import VIEWS
from tilec.dialect.cuda_tile.types import TensorViewType
from tilec.dialect.mlir import ir
from tilec.dialect.verify import noted


def ancestor_problem(op: ir.OpView, through: tuple[str, ...], to: tuple[str, ...]) -> str | None:
    """The problem with the ancestors of an operation up to `to`, of which only `through` may lie between; or None."""
    parent = op.operation.parent
    while parent is not None and parent.operation.name in through:
        parent = parent.operation.parent
    if parent is not None and parent.operation.name in to:
        return None
    listed = ", ".join(f"'{name}'" for name in (*to, *through))
    problem = f"can only be nested within a ancestor chain of {listed} operations"
    if parent is None:
        return problem
    between = parent.operation
    return noted(f"{problem}, but found '{between.name}'", "see unexpected ancestor operation", between)


def first_ancestor(op: ir.OpView, names: tuple[str, ...]) -> ir.Operation:
    """The innermost ancestor of an operation with one of the names."""
    parent = op.operation.parent.operation
    while parent.name not in names:
        parent = parent.parent.operation
    return parent


def carried_problem(subject: str, types: Sequence[ir.Type]) -> str | None:
    """Checks that no view is carried between iterations or branches."""
    for index, type in enumerate(types):
        if isinstance(type, TensorViewType):
            return f"{subject} {index} is a tensor_view, which is not supported"
        if isinstance(type, VIEWS):
            return f"{subject} {index} is a tile view, which is not supported"
    return None
