"""Stores through one partition view that write no element of each other, in whichever iterations they run."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PartitionViewType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.constants import splat
from tilec.lowering.tile.divisibility import divisibility

_STORE = "cuda_tile.store_view_tko"


def are_disjoint(first: ir.OpView, second: ir.OpView) -> bool:
    """Whether the tiles of two stores are of one grid, and their indices always differ along a dimension.

    Elements of a tensor whose strides make them share memory count as different ones.
    """
    if not all(op.operation.name == _STORE and _is_of_grid(op.view) for op in (first, second)):
        return False
    if first.view.type != second.view.type or first.view.owner.operands[0] != second.view.owner.operands[0]:
        return False
    return any(_differ(*indices) for indices in zip(first.index, second.index, strict=True))


def _is_of_grid(view: ir.Value) -> bool:
    """Whether the tiles of a view do not overlap."""
    return isinstance(view.type, PartitionViewType)


def _differ(first: ir.Value, second: ir.Value) -> bool:
    (number, divisor), (other, other_divisor) = _remainder(first), _remainder(second)
    return (number - other) % min(divisor, other_divisor) != 0


def _remainder(index: ir.Value) -> tuple[int, int]:
    """A number, and a power of two that divides the difference of the index and the number."""
    wraps_at = 1 << index.type.element.width
    known = splat(index)
    if known is not None:
        return known, wraps_at
    owner = index.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "cuda_tile.addi":
        for added, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            number = splat(added)
            if number is not None:
                return number, min(wraps_at, divisibility(other))
    return 0, min(wraps_at, divisibility(index))
