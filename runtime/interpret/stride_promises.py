"""Promises about strides: they hold only where the extent is not one, which make_tensor_view knows and assume does not.

cuTile marks all strides of an array as divisible, those of extents of one too.
"""

from __future__ import annotations

from typing import Any

from tilec.dialect.mlir import ir

ASSUME, MAKE_TENSOR_VIEW = "cuda_tile.assume", "cuda_tile.make_tensor_view"


def is_about_a_stride(op: Any) -> bool:
    """Whether the result of an `assume` is used as a stride of tensor views only, through other promises too."""
    uses = list(op.operation.results[0].uses)
    return bool(uses) and all(_leads_to_a_stride(use, op.operation.results[0]) for use in uses)


def _leads_to_a_stride(use: Any, value: ir.Value) -> bool:
    owner = use.owner
    if owner.operation.name == ASSUME:
        return is_about_a_stride(owner)
    return owner.operation.name == MAKE_TENSOR_VIEW and value not in (owner.base, *owner.dynamicShape)


def stride_promises(op: Any) -> tuple[tuple[Any, ...], ...]:
    """For each dynamic stride of a make_tensor_view the predicates that its `assume`s left to it."""
    return tuple(tuple(_predicates(stride)) for stride in op.dynamicStrides)


def _predicates(value: ir.Value) -> list[Any]:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != ASSUME or not is_about_a_stride(owner):
        return []
    return [*_predicates(owner.value), owner.predicate]
