"""Along which dimensions the operands of an operation are divided, if its results are divided along a dimension."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.elementwise import is_elementwise

# One per operand: the dimension along which it is divided, or None if each part needs the whole operand.
Dimensions = tuple[int | None, ...]


def operand_dimensions(op: ir.OpView, dimension: int) -> Dimensions | None:
    """The dimensions for an operation without effects and with one result; None if its parts are not such operations.

    A part of the result is then the operation on the same parts of the operands, with the same attributes.
    """
    rule = _RULES.get(op.operation.name.removeprefix("cuda_tile."))
    if rule is not None:
        return rule(op, dimension)
    if len(op.operation.results) != 1 or not is_elementwise(op) or not effect_free(op):
        return None
    return tuple(dimension if value.type.rank > 0 else None for value in op.operation.operands)


def divided_operands(op: ir.OpView, dimension: int) -> list[tuple[ir.Value, int]] | None:
    """The operands that are divided, each with its dimension; None if parts of the result are not computed in parts."""
    dimensions = operand_dimensions(op, dimension)
    if dimensions is None:
        return None
    return [(operand, d) for operand, d in zip(op.operation.operands, dimensions, strict=True) if d is not None]


def _broadcast(op: ir.OpView, dimension: int) -> Dimensions:
    return (None if op.source.type.shape[dimension] == 1 else dimension,)


def _permute(op: ir.OpView, dimension: int) -> Dimensions:
    return (list(op.permutation)[dimension],)


def _reshape(op: ir.OpView, dimension: int) -> Dimensions | None:
    """A dimension of the source with the same extent, followed by equally many elements in row-major order."""
    source, result = list(op.source.type.shape), list(op.result.type.shape)
    behind = math.prod(result[dimension + 1 :])
    for k, extent in enumerate(source):
        if extent == result[dimension] and math.prod(source[k + 1 :]) == behind:
            return (k,)
    return None


def _cat(op: ir.OpView, dimension: int) -> Dimensions | None:
    return None if op.dim == dimension else (dimension, dimension)


_RULES: dict[str, Callable[[ir.OpView, int], Dimensions | None]] = {
    "broadcast": _broadcast,
    "permute": _permute,
    "reshape": _reshape,
    "cat": _cat,
}
