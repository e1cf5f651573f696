"""Divides multiplies into parts: of a batch, or halves. An attribute says which multiplies are parts of one.

mmaf a, b, c : BxMxK, BxKxN, BxMxN  ->  cat(mmaf(a[0], b[0], c[0]), .., mmaf(a[B-1], b[B-1], c[B-1]))
"""

from __future__ import annotations

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_inside
from tilec.lowering.tile.analysis.replacing import replace, replace_results
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES
from tilec.lowering.tile.analysis.tile_parts import Part, joined, reshaped
from tilec.lowering.tile.divide.slices import Slice

# The dimension along M (0) or N (1) of each operand: lhs, rhs, the accumulator, and the factors of lhs and rhs.
_ROWS = (0, None, 0, 0, None)
_COLUMNS = (None, 1, 1, None, 1)
# Multiplies of an entry with one number are parts of one multiply of the program.
_PART_OF = "tilec.part_of"


def part_of(op: ir.OpView, count: int) -> dict[str, ir.Attribute]:
    """The attribute of the `count` parts of a multiply: that of the multiply if it is a part itself, none of one."""
    if count == 1:
        return {}
    own = op.operation.attributes
    if _PART_OF in own:
        return {_PART_OF: own[_PART_OF]}
    entry = op.operation
    while entry.name != "cuda_tile.entry" and entry.parent is not None:
        entry = entry.parent.operation
    used = [number for each in operations_inside(entry) if (number := part_number(each)) is not None]
    return {_PART_OF: ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1 + max(used, default=-1))}


def part_number(op: ir.Operation) -> int | None:
    """The number of the whole that a multiply is a part of; None if it is whole."""
    return ir.IntegerAttr(op.attributes[_PART_OF]).value if _PART_OF in op.attributes else None


def halve_multiply(op: ir.OpView, dimension: int) -> None:
    """Replaces a multiply of rank 2 by its halves along a dimension of the result, an even one."""
    divided = (_COLUMNS if dimension else _ROWS)[: len(op.operation.operands)]
    with ir.InsertionPoint(op.operation), op.location:
        attributes = {**attributes_without_segments(op), **part_of(op, 2)}
        halves = [_half(op, divided, number, attributes) for number in range(2)]
        result = joined(halves, op.operation.results[0].type)
    replace(op, [result])


def _half(op: ir.OpView, divided: tuple[int | None, ...], number: int, attributes: dict[str, ir.Attribute]) -> ir.Value:
    operands = [
        tile if d is None else _half_along(tile, d, number)
        for tile, d in zip(op.operation.operands, divided, strict=True)
    ]
    return build(op.operation.name, operands, [operands[2].type], attributes).result


def _half_along(tile: ir.Value, dimension: int, number: int) -> ir.Value:
    return Slice(dimension, number, tile.type.shape[dimension] // 2).part(tile).extracted()


def halve_depth(op: ir.OpView) -> None:
    """Replaces a multiply of rank 2 by one of half of its depth, an even one, and another that adds the other half."""
    acc = op.acc
    with ir.InsertionPoint(op.operation), op.location:
        attributes = {**attributes_without_segments(op), **part_of(op, 2)}
        for number in range(2):
            half = {0: _half_along(op.lhs, 1, number), 1: _half_along(op.rhs, 0, number), 2: acc}
            acc = build(op.operation.name, list(half.values()), [acc.type], attributes).result
    replace(op, [acc])


def unbatch_multiplies(module: ir.Module) -> None:
    """Replaces each multiply of rank 3 by one of rank 2 per number of the batch, in place.

    `split-tiles` then divides the loads and the carried values of the parts.
    """
    replace_results(module, {name.removeprefix("cuda_tile."): _unbatched for name in MULTIPLIES})


def _unbatched(op: ir.OpView) -> ir.Value | None:
    result = op.operation.results[0].type
    if result.rank == 2:
        return None
    attributes = {**attributes_without_segments(op), **part_of(op, result.shape[0])}
    made = [_multiplied(op, number, attributes) for number in range(result.shape[0])]
    return joined([reshaped(value, (1, *result.shape[1:])) for value in made], result)


def _multiplied(op: ir.OpView, number: int, attributes: dict[str, ir.Attribute]) -> ir.Value:
    operands = [_matrix(value, number) for value in op.operation.operands]
    result = op.operation.results[0].type
    return build(op.operation.name, operands, [TileType.get(result.shape[1:], result.element)], attributes).result


def _matrix(value: ir.Value, number: int) -> ir.Value:
    _, *shape = value.type.shape
    return reshaped(Part(value, (number, *[0] * len(shape)), (1, *shape)).extracted(), shape)
