"""Where an operand of a matrix multiply comes from, through the operations that shared memory can absorb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

ABSORBED = ("cuda_tile.permute", "cuda_tile.reshape", "cuda_tile.ftof")


@dataclass(frozen=True)
class OperandSource:
    """Operand dimension i is dimension dimensions[i] of the tile that `load` reads; the others have one element."""

    load: Any
    dimensions: tuple[int, int]


def operand_source(operand: ir.Value) -> OperandSource | None:
    """The view load behind a matrix operand, or None where registers must prepare it."""
    value, dimensions = operand, (0, 1)
    if operand.type.rank != 2:
        return None
    while True:
        op = value.owner
        if isinstance(op, ir.Block):
            return None
        name = op.operation.name
        if name == "cuda_tile.load_view_tko":
            return OperandSource(op, dimensions)
        if name not in ABSORBED:
            return None
        source = op.operands[0]
        moved = _through(name, op, source, dimensions)
        if moved is None:
            return None
        value, dimensions = source, moved


def _through(name: str, op: Any, source: ir.Value, dimensions: tuple[int, int]) -> tuple[int, int] | None:
    if name == "cuda_tile.permute":
        permutation = list(op.permutation)
        return permutation[dimensions[0]], permutation[dimensions[1]]
    if name == "cuda_tile.reshape":
        return _through_reshape(source.type.shape, op.results[0].type.shape, dimensions)
    # The tensor core reads the upper 19 bits of f32, so the conversion costs nothing there (PTX ISA 9.7.16.10).
    return dimensions if (spell(source.type.element), spell(op.results[0].type.element)) == ("f32", "tf32") else None


def _through_reshape(source: Any, result: Any, dimensions: tuple[int, int]) -> tuple[int, int] | None:
    """Only extents of one come and go."""
    kept_source = [d for d, extent in enumerate(source) if extent != 1]
    kept_result = [d for d, extent in enumerate(result) if extent != 1]
    if [source[d] for d in kept_source] != [result[d] for d in kept_result]:
        return None
    if any(d not in kept_result for d in dimensions):
        return None
    first, second = (kept_source[kept_result.index(d)] for d in dimensions)
    return first, second
