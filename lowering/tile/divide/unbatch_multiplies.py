"""A multiply of rank 3 -> one of rank 2 for each number of the batch, on parts of the operands and of the accumulator.

mmaf a, b, c : BxMxK, BxKxN, BxMxN  ->  cat(mmaf(a[0], b[0], c[0]), .., mmaf(a[B-1], b[B-1], c[B-1]))
"""

from __future__ import annotations

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.replacing import replace_results
from tilec.lowering.tile.analysis.tile_parts import Part, joined, reshaped
from tilec.lowering.tile.divide.multiply_parts import part_of

_MULTIPLIES = ("mmaf", "mmai", "mmaf_scaled")


def unbatch_multiplies(module: ir.Module) -> None:
    """Changes a module in place; `split-tiles` then divides the loads and the carried values of the parts."""
    replace_results(module, dict.fromkeys(_MULTIPLIES, _unbatched))


def _unbatched(op: ir.OpView) -> ir.Value | None:
    result = op.operation.results[0].type
    if result.rank == 2:
        return None
    attributes = {**attributes_without_segments(op), **part_of(op, result.shape[0])}
    made = [_multiplied(op, number, attributes) for number in range(result.shape[0])]
    one = TileType.get((1, *result.shape[1:]), result.element)
    return joined([reshaped(value, one.shape) for value in made], result)


def _multiplied(op: ir.OpView, number: int, attributes: dict[str, ir.Attribute]) -> ir.Value:
    operands = [_matrix(value, number) for value in op.operation.operands]
    result = op.operation.results[0].type
    return build(op.operation.name, operands, [TileType.get(result.shape[1:], result.element)], attributes).result


def _matrix(value: ir.Value, number: int) -> ir.Value:
    """The matrix of one number of the batch."""
    _, *shape = value.type.shape
    return reshaped(Part(value, (number, *[0] * len(shape)), (1, *shape)).extracted(), shape)
