"""Assumptions about strides: checks verify them at make_tensor_view, and only for extents other than 1.

cuTile marks all strides of an array as divisible, also those of extents of 1, and `assume` does not know the extent.
"""

from __future__ import annotations

from typing import TypeAlias

from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr, SameElementsAttr
from tilec.dialect.mlir import ir

Predicate: TypeAlias = "BoundedAttr | DivByAttr | SameElementsAttr"

ASSUME, MAKE_TENSOR_VIEW = "cuda_tile.assume", "cuda_tile.make_tensor_view"


def is_stride(op: ir.OpView) -> bool:
    """Whether the result of an `assume` is used only as a stride of tensor views, also through other `assume`s."""
    uses = list(op.operation.results[0].uses)
    return bool(uses) and all(_is_stride_use(use, op.operation.results[0]) for use in uses)


def _is_stride_use(use: ir.OpOperand, value: ir.Value) -> bool:
    owner = use.owner
    if owner.operation.name == ASSUME:
        return is_stride(owner)
    return owner.operation.name == MAKE_TENSOR_VIEW and value not in (owner.base, *owner.dynamicShape)


def stride_assumptions(op: ir.OpView) -> tuple[tuple[Predicate, ...], ...]:
    """The predicates of the `assume`s of each dynamic stride of a make_tensor_view."""
    return tuple(tuple(_predicates(stride)) for stride in op.dynamicStrides)


def _predicates(value: ir.Value) -> list[Predicate]:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != ASSUME or not is_stride(owner):
        return []
    return [*_predicates(owner.value), owner.predicate]
