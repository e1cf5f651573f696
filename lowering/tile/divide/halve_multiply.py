"""mmaf_scaled -> cat of two that compute half of the rows, or of the columns, each."""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.tile_parts import Part, joined
from tilec.lowering.tile.divide.multiply_parts import part_of

# The dimension along M (0) or N (1) of each operand: lhs, rhs, the accumulator, and the factors of lhs and rhs.
_ROWS = (0, None, 0, 0, None)
_COLUMNS = (None, 1, 1, None, 1)


def halve_multiply(op: ir.OpView, dimension: int) -> None:
    """Replaces a block-scaled multiply of rank 2 by its halves along a dimension of the result, an even one."""
    result = op.operation.results[0]
    divided = _COLUMNS if dimension else _ROWS
    with ir.InsertionPoint(op.operation), op.location:
        attributes = part_of(op, 2)
        made = [_half(op, divided, number, attributes) for number in range(2)]
        result.replace_all_uses_with(joined(made, result.type))
    op.operation.erase()


def _half(op: ir.OpView, divided: tuple[int | None, ...], number: int, attributes: dict[str, ir.Attribute]) -> ir.Value:
    operands = [
        value if dimension is None else _half_of(value, dimension, number)
        for value, dimension in zip(op.operation.operands, divided, strict=True)
    ]
    return build("mmaf_scaled", operands, [operands[2].type], attributes).result


def _half_of(tile: ir.Value, dimension: int, number: int) -> ir.Value:
    shape = tuple(extent // 2 if d == dimension else extent for d, extent in enumerate(tile.type.shape))
    return Part(tile, tuple(number if d == dimension else 0 for d in range(2)), shape).extracted()
