"""Multiplies with a sparse lhs that no unit of a target can do: they get a dense lhs."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.plan.matrix.accumulator import accumulators
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.unit_choice import free_columns, matrix_types, unit_for, unit_reasons
from tilec.lowering.plan.warp_choice import WARP_COUNTS
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE, MULTIPLIES
from tilec.lowering.tile.expand.expand_sparse import expand_sparse
from tilec.remarks import Remark


def fit_sparse_multiplies(
    module: ir.Module | ir.OpView, target: Target, ctas: int, remarks: list[Remark], sharing: Sharing | None = None
) -> bool:
    """Expands multiplies of a module or an entry in place; returns whether it has changed; `remarks` gets the reasons.

    With `sharing`, multiplies also need the columns of tensor memory that others leave.
    """
    changed = False
    while (misfit := _first_misfit(module, target, ctas, sharing)) is not None:
        op, reason = misfit
        rows, columns = op.acc.type.shape
        message = f"the multiply of {rows}x{columns} with a sparse left operand is done with a dense one: {reason}"
        remarks.append(Remark("matrix-unit", message, source_location(op.operation.location)))
        expand_sparse(module, lambda each, found=op.operation: each.operation == found)  # type: ignore[misc]
        changed = True
    return changed


def _first_misfit(
    module: ir.Module | ir.OpView, target: Target, ctas: int, sharing: Sharing | None
) -> tuple[ir.OpView, str] | None:
    sparse = operations_named(module, (MMA_SPARSE,))
    if not sparse:
        return None
    if ctas > 1:
        return sparse[0], f"the CTAs of a cluster of {ctas} divide no metadata"
    for warps in WARP_COUNTS:
        free = {}
        if sharing is not None:
            multiplies = [op for op in operations_named(module, MULTIPLIES) if op.acc.type.rank == 2]
            free = free_columns(multiplies, accumulators(multiplies), target, warps, sharing)
        for op in sparse:
            unit, refusals = unit_for(op, target, warps, free.get(op.operation))
            if unit is None:
                return op, unit_reasons(refusals, matrix_types(op), target)
    return None
