"""Multiplies with a sparse lhs that no unit of a target can do: they get a dense lhs."""

from __future__ import annotations

from functools import partial

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.plan.matrix.accumulator import accumulators
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.unit_choice import free_columns, matrix_types, unit_for, unit_reasons
from tilec.lowering.plan.warp_choice import WARP_COUNTS
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE, MULTIPLIES, matrix_multiplies
from tilec.lowering.tile.expand.expand_sparse import expand_sparse
from tilec.remarks import Loss, Remark


def sparse_warp_counts(root: ir.Module | ir.OpView, target: Target) -> tuple[int, ...]:
    """The numbers of warps with which units of a target do all multiplies with a sparse lhs, each by itself."""
    sparse = operations_named(root, (MMA_SPARSE,))
    return tuple(warps for warps in WARP_COUNTS if all(unit_for(op, target, warps)[0] is not None for op in sparse))


def fit_sparse_multiplies(
    root: ir.Module | ir.OpView, target: Target, options: CompileOptions, remarks: list[Remark], sharing: Sharing | None
) -> bool:
    """Expands multiplies of a module or an entry in place; returns whether it has changed; `remarks` gets the reasons.

    With `sharing`, multiplies also need the columns of tensor memory that others leave.
    """
    changed = False
    while (misfit := _first_misfit(root, target, options, sharing)) is not None:
        op, reason = misfit
        rows, columns = op.acc.type.shape
        message = f"the multiply of {rows}x{columns} with a sparse left operand is done with a dense one: {reason}"
        remarks.append(Remark("matrix-unit", message, source_location(op.operation.location), Loss("half")))
        expand_sparse(root, partial(_is_same, op.operation))
        changed = True
    return changed


def _is_same(operation: ir.Operation, op: ir.OpView) -> bool:
    return bool(op.operation == operation)


def _first_misfit(
    root: ir.Module | ir.OpView, target: Target, options: CompileOptions, sharing: Sharing | None
) -> tuple[ir.OpView, str] | None:
    sparse = operations_named(root, (MMA_SPARSE,))
    if not sparse:
        return None
    if (options.num_ctas or 1) > 1:
        return sparse[0], f"metadata cannot be divided among the {options.num_ctas} CTAs of a cluster"
    counts = WARP_COUNTS if options.warps is None else (options.warps,)
    multiplies = matrix_multiplies(root, MULTIPLIES)
    places = None if sharing is None else accumulators(multiplies)
    for op in sparse:
        reasons = []
        for warps in counts:
            free = {}
            if sharing is not None and places is not None:
                free = free_columns(multiplies, places, target, warps, sharing)
            unit, refusals = unit_for(op, target, warps, free.get(op.operation))
            if unit is not None:
                break
            reasons.append(unit_reasons(refusals, matrix_types(op), target))
        else:
            return op, reasons[0]
    return None
