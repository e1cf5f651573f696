"""tilex.mmaf of operands of less than 8 bits -> one of f8E4M3FN, which has all of their values, or mmaf of f16.

tilex.mmaf a, b, c : f4E2M1FN, f8E5M2  ->  tilex.mmaf (ftof a : f8E4M3FN), b, c : f8E4M3FN, f8E5M2
                                       or  mmaf (ftof a : f16), (ftof b : f16), c : f16, f16
"""

from __future__ import annotations

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_named
from tilec.element_types import EXTENSION_FLOATS
from tilec.lowering.tile.analysis.replacing import replace

# The multiplies of operands that may differ, and the elements of operands that are converted.
NARROW_MULTIPLIES = ("tilex.mmaf", "tilex.mmaf_scaled")
WIDENED = ("f4E2M1FN", *EXTENSION_FLOATS)


def widen_operands(module: ir.Module) -> None:
    """Converts all operands of less than 8 bits, in place."""
    for op in operations_named(module, NARROW_MULTIPLIES):
        widen(op)


def multiply_halves(module: ir.Module) -> None:
    """Replaces tilex.mmaf by mmaf of f16, in place; multiplies with block scaling stay."""
    for op in operations_named(module, NARROW_MULTIPLIES[:1]):
        multiply_in_halves(op)


def is_widened(tile: ir.Value) -> bool:
    """Whether an operand has elements of less than 8 bits."""
    return spell(tile.type.element) in WIDENED


def conversion_from(element: ir.Type) -> str:
    """The operation that converts tiles of a float to another one of Tile IR."""
    return "tilex.ftof" if spell(element) in EXTENSION_FLOATS else "ftof"


def converted(tile: ir.Value, element: ir.Type) -> ir.Value:
    """A tile of narrow floats in another element type, or one of less than 8 bits from which it is converted."""
    maker = tile.owner
    if not isinstance(maker, ir.Block) and maker.operation.name in ("cuda_tile.ftof", "tilex.ftof"):
        tile = maker.from_ if is_widened(maker.from_) else tile
    return build(conversion_from(tile.type.element), [tile], [TileType.get(tile.type.shape, element)]).result


def widen(op: ir.OpView) -> None:
    """Converts the operands of less than 8 bits of a multiply to f8E4M3FN."""
    operands = list(op.operation.operands)
    with ir.InsertionPoint(op.operation), op.location:
        for side in range(2):
            if is_widened(operands[side]):
                op.operation.operands[side] = converted(operands[side], ir.Float8E4M3FNType.get())


def multiply_in_halves(op: ir.OpView) -> None:
    """Replaces a tilex.mmaf by an mmaf of f16, which has all values of 8 bits and less."""
    attributes = attributes_without_segments(op)
    attributes.pop("fast_acc", None)
    with ir.InsertionPoint(op.operation), op.location:
        operands = [converted(tile, ir.F16Type.get()) for tile in (op.lhs, op.rhs)]
        product = build("mmaf", [*operands, op.acc], [op.acc.type], attributes).result
    replace(op, [product])
