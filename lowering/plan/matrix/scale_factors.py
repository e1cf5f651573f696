"""The scale factors of a block-scaled multiply: their layouts, and the tensor memory that they need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.scaled import SCALED_KINDS
from tilec.lowering.layout.scale_layout import ATOM_ROWS, ScaleLayout
from tilec.lowering.matrix_unit import MatrixTypes
from tilec.lowering.target import Target

_PERMUTE, _RESHAPE, _LOAD = "cuda_tile.permute", "cuda_tile.reshape", "cuda_tile.load_view_tko"


def scale_operands(op: ir.OpView) -> Iterator[tuple[ir.Value, ScaleLayout]]:
    """The factors of lhs and rhs with their layouts in shared and tensor memory."""
    for value, depth in ((op.lhs_scale, 1), (op.rhs_scale, 0)):
        yield value, ScaleLayout(tuple(value.type.shape), depth)


def scale_columns(op: ir.OpView) -> int:
    """The columns of tensor memory under the factors of both operands."""
    return sum(layout.columns for _, layout in scale_operands(op))


def least_factor_columns(op: ir.OpView) -> int:
    """The columns of tensor memory under the factors of the smallest part of a multiply: one atom along its rows."""
    return sum(layout.columns // layout.row_groups for _, layout in scale_operands(op))


def has_scaled_kind(types: MatrixTypes) -> bool:
    """Whether tcgen05 multiplies elements with factors of these types."""
    kinds = {SCALED_KINDS.get((each, types.scale or "", types.scaled_elements)) for each in types.elements}
    return len(kinds) == 1 and None not in kinds


def scaled_refusal(op: ir.OpView, types: MatrixTypes, target: Target) -> str | None:
    """The reason why tcgen05 cannot multiply with these factors, or None."""
    if not has_scaled_kind(types):
        return f"block-scaled tcgen05 has no factors of {types.scale} for {types.scaled_elements} elements"
    rows, columns = op.acc.type.shape
    needed = columns * (rows // ATOM_ROWS) + scale_columns(op)
    if needed > target.tensor_memory_columns:
        return (
            f"an accumulator of {rows}x{columns} and its scale factors need {needed} columns of tensor memory, "
            f"{target.name} has {target.tensor_memory_columns}"
        )
    return None


def scale_source(factors: ir.Value, layout: ScaleLayout) -> ir.OpView | str:
    """The load whose tile has, in row-major order, the bytes of the layout in shared memory.

    If there is none, the reason why registers must prepare the factors.
    """
    moves: list[ir.OpView] = []
    while True:
        op = factors.owner
        if isinstance(op, ir.Block):
            return "the scale factors are carried by a loop or come out of a branch"
        if len(list(factors.uses)) != 1:
            return "the scale factors are used more than once"
        name = op.operation.name
        if name == _LOAD:
            break
        if name not in (_PERMUTE, _RESHAPE):
            return f"the scale factors are computed by '{name}'"
        moves.append(op)
        factors = op.operands[0]
    if layout.copies != (0,) or not _are_stored_in_order(tuple(factors.type.shape), moves, layout):
        return "the scale factors do not lie in memory as tensor cores read them, in blocks of 128 rows by 4 factors"
    return op


def _are_stored_in_order(shape: tuple[int, ...], moves: list[ir.OpView], layout: ScaleLayout) -> bool:
    """Whether each factor has the same offset in the tile, which the last of the moves reads, as in the layout."""
    positions = np.arange(np.prod(shape)).reshape(shape)
    for op in reversed(moves):
        if op.operation.name == _PERMUTE:
            positions = positions.transpose(list(op.permutation))
        else:
            positions = positions.reshape(tuple(op.operation.results[0].type.shape))
    return bool((positions == layout.offset(*np.indices(layout.shape))).all())
