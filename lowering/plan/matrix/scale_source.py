"""The view load behind scale factors that memory holds in the order of tensor cores, so that TMA can copy them."""

from __future__ import annotations

import numpy as np

from tilec.dialect.mlir import ir
from tilec.lowering.layout.scale_layout import ScaleLayout

_PERMUTE, _RESHAPE, _LOAD = "cuda_tile.permute", "cuda_tile.reshape", "cuda_tile.load_view_tko"


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
