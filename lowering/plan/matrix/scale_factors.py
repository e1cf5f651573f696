"""The scale factors or the metadata of a multiply: their layouts, and the tensor memory that they need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.scaled import SCALED_KINDS
from tilec.lowering.layout.scale_layout import ATOM_ROWS, MetadataLayout, ScaleLayout
from tilec.lowering.matrix_unit import MatrixTypes
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE, SCALED_MULTIPLIES

_PERMUTE, _RESHAPE, _LOAD = "cuda_tile.permute", "cuda_tile.reshape", "cuda_tile.load_view_tko"


def scale_operands(op: ir.OpView, ctas: int = 1) -> Iterator[tuple[ir.Value, ScaleLayout]]:
    """The factors of lhs and rhs, or the metadata of lhs, with their layouts in shared and tensor memory.

    Each of `ctas` CTAs has some rows of lhs.
    """
    if op.operation.name == MMA_SPARSE:
        yield op.metadata, MetadataLayout(tuple(op.metadata.type.shape))
    if op.operation.name not in SCALED_MULTIPLIES:
        return
    rows, factors = op.lhs_scale.type.shape
    yield op.lhs_scale, ScaleLayout((rows // ctas, factors), 1)
    yield op.rhs_scale, ScaleLayout(tuple(op.rhs_scale.type.shape), 0)


def scale_columns(op: ir.OpView, ctas: int = 1) -> int:
    """The columns of tensor memory under the factors of both operands, or under the metadata.

    Each of `ctas` CTAs has some rows of lhs, and all columns of rhs.
    """
    return sum(layout.columns for _, layout in scale_operands(op, ctas))


def least_factor_columns(op: ir.OpView) -> int:
    """The columns of tensor memory under the factors of the smallest part of a multiply: one atom along its rows."""
    return sum(layout.columns // layout.row_groups for _, layout in scale_operands(op))


def has_scaled_kind(types: MatrixTypes) -> bool:
    """Whether tcgen05 multiplies elements with factors of these types."""
    kinds = {SCALED_KINDS.get((each, types.scale or "", types.scaled_elements)) for each in types.elements}
    return len(kinds) == 1 and None not in kinds


def scaled_refusal(op: ir.OpView, types: MatrixTypes, target: Target, ctas: int) -> str | None:
    """The reason why tcgen05 cannot multiply with these factors, or None."""
    if not has_scaled_kind(types):
        return f"block-scaled tcgen05 has no factors of {types.scale} for {types.scaled_elements} elements"
    return columns_refusal(op, target, ctas)


def columns_refusal(op: ir.OpView, target: Target, ctas: int = 1) -> str | None:
    """The reason why tensor memory has no room for the accumulator and the factors or the metadata, or None."""
    rows, columns = op.acc.type.shape
    rows //= ctas
    needed, has = columns * (rows // ATOM_ROWS) + scale_columns(op, ctas), target.tensor_memory_columns
    if needed <= has:
        return None
    (_, layout), *_ = scale_operands(op)
    return (
        f"an accumulator of {rows}x{columns} and its {layout.subject} need {needed} columns of tensor memory, "
        f"{target.name} has {has}"
    )


def scale_source(factors: ir.Value, layout: ScaleLayout) -> ir.OpView | str:
    """The load whose tile has, in row-major order, the bytes of the layout in shared memory.

    If there is none, the reason why registers must prepare the factors.
    """
    moves: list[ir.OpView] = []
    while True:
        op = factors.owner
        if isinstance(op, ir.Block):
            return f"the {layout.subject} are carried by a loop or come out of a branch"
        if len(list(factors.uses)) != 1:
            return f"the {layout.subject} are used more than once"
        name = op.operation.name
        if name == _LOAD:
            break
        if name not in (_PERMUTE, _RESHAPE):
            return f"the {layout.subject} are computed by '{name}'"
        moves.append(op)
        factors = op.operands[0]
    if layout.copies != (0,) or not _are_stored_in_order(tuple(factors.type.shape), moves, layout):
        return f"the {layout.subject} do not lie in memory as tensor cores read them, in {layout.blocks}"
    return op


def _are_stored_in_order(shape: tuple[int, ...], moves: list[ir.OpView], layout: ScaleLayout) -> bool:
    """Whether each factor has the same offset in the tile, which the last of the moves reads, as in the layout."""
    positions = np.arange(np.prod(shape)).reshape(shape)
    for op in reversed(moves):
        if op.operation.name == _PERMUTE:
            positions = positions.transpose(list(op.permutation))
        else:
            positions = positions.reshape(tuple(op.operation.results[0].type.shape))
    if isinstance(layout, MetadataLayout):
        # TMA loads four words of all rows at once.
        return not moves
    return bool((positions == layout.offset(*np.indices(layout.shape))).all())
