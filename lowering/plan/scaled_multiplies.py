"""Block-scaled multiplies that no unit of a target can do: parts that fit, and multiplies of scaled operands.

The CTAs of a cluster divide the rows first. If their parts do not fit tensor memory, each CTA computes equal parts of
its tile in turn; if the entry cannot be divided so, multiplies are halved, each as often as it needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilec.compile_options import CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.errors import SourceLocation
from tilec.lowering.matrix_unit import TCGEN05_LEAST_COLUMNS
from tilec.lowering.plan.cluster_division import check_order, divide_among_ctas
from tilec.lowering.plan.matrix.accumulator import accumulators
from tilec.lowering.plan.matrix.operand_source import load_location
from tilec.lowering.plan.matrix.sharing import LADDER, Sharing
from tilec.lowering.plan.matrix.unit_choice import (
    free_columns,
    least_scaled_columns,
    matrix_types,
    unit_for,
    unit_reasons,
)
from tilec.lowering.plan.warp_choice import WARP_COUNTS
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, SCALED_MULTIPLIES, matrix_multiplies
from tilec.lowering.tile.divide.divided_dimensions import COLUMNS, ROWS, NotDivisibleError
from tilec.lowering.tile.divide.multiply_parts import halve_multiply
from tilec.lowering.tile.divide.parts_in_turn import compute_in_turn
from tilec.lowering.tile.divide.split_tiles import split_tiles
from tilec.lowering.tile.expand.expand_block_scaling import expand_block_scaling
from tilec.lowering.tile.expand.expand_packed_views import expand_other_packed_views
from tilec.remarks import Loss, Remark

# The dimension, the least rows or columns of a part, and the number of parts, in order of preference: wide parts read
# fewer bytes of shared memory for each product.
_PARTS = ((ROWS, TENSOR_LANES, 2), (COLUMNS, 128, 2), (ROWS, TENSOR_LANES, 4), (COLUMNS, 64, 4))


@dataclass(frozen=True)
class _Misfit:
    """A multiply without a unit, the reason, and the columns of tensor memory that the others leave."""

    op: ir.OpView
    reason: str
    free_columns: int


def fit_scaled_multiplies(module: ir.Module, target: Target, sharing: Sharing, remarks: list[Remark]) -> bool:
    """Changes a module of Tile IR in place, and returns whether it has changed; `remarks` gets the reasons.

    A multiply that needs too many columns of tensor memory is halved as long as the unit can do a part of it.
    """
    found: dict[tuple[SourceLocation | None, bool], Remark] = {}
    while (misfit := _first_misfit(module, target, sharing)) is not None:
        least = least_scaled_columns(misfit.op, target)
        is_halved = least is not None and least <= misfit.free_columns
        remark = _remark(misfit, is_halved)
        # Further multiplies at the location are parts of the first, or other numbers of its batch.
        found.setdefault((remark.location, is_halved), remark)
        _fit(module, misfit, is_halved)
    remarks.extend(found.values())
    return bool(found)


def fits_scaled_multiplies(module: ir.Module, target: Target, options: CompileOptions, sharing: Sharing) -> bool:
    """Whether a unit of the target can do each block-scaled multiply of a module with one entry.

    `options` contain the hints of the entry, which the CTAs of a cluster may divide.
    """
    if _first_misfit(module, target, sharing) is None:
        return True
    with module.context, ir.Location.unknown():
        divided = copied(module)
        expand_other_packed_views(divided)
        choice = divide_among_ctas(_entry(divided), target, options, [])
    return choice.value > 1 and _first_misfit(divided, target, sharing) is None


def compute_scaled_in_turn(
    module: ir.Module, target: Target, options: CompileOptions, remarks: list[Remark]
) -> ir.Module:
    """A module with one entry that computes parts in turn, or the given one if its multiplies fit or no parts do.

    Stores must be whole, as slices of columns belong to no part. `options` contain the hints of the entry.
    """
    sharing = LADDER[-1]
    if fits_scaled_multiplies(module, target, options, sharing):
        return module
    misfit = _first_misfit(module, target, sharing)
    if misfit is None or least_scaled_columns(misfit.op, target) is None:
        return module
    for along, least, count in _PARTS:
        parts = copied(module)
        try:
            compute_in_turn(_entry(parts), count, along, least, check_order)
        except NotDivisibleError:
            continue
        if fits_scaled_multiplies(parts, target, options, sharing):
            words, side = (("rows", "right"), ("columns", "left"))[along]
            done = f"the block computes the {words} in {count} parts, and loads the {side} operand for each"
            location = source_location(misfit.op.operation.location)
            load = load_location((misfit.op.rhs, misfit.op.lhs)[along])
            remarks.append(Remark("matrix-unit", f"{misfit.reason}: {done}", location, Loss("parts", (load,), count)))
            return parts
    return module


def _entry(module: ir.Module) -> ir.OpView:
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    return entry


def _first_misfit(module: ir.Module, target: Target, sharing: Sharing) -> _Misfit | None:
    scaled = matrix_multiplies(module, SCALED_MULTIPLIES)
    if not scaled:
        return None
    multiplies = matrix_multiplies(module, MULTIPLIES)
    carried = accumulators(multiplies)
    free = {warps: free_columns(multiplies, carried, target, warps, sharing) for warps in WARP_COUNTS}
    for op in scaled:
        for warps in WARP_COUNTS:
            left = free[warps][op.operation]
            unit, refusals = unit_for(op, target, warps, left)
            if unit is None:
                return _Misfit(op, unit_reasons(refusals, matrix_types(op), target), left)
    return None


def _fit(module: ir.Module, misfit: _Misfit, is_halved: bool) -> None:
    op = misfit.op
    if is_halved:
        # Parts of B lie apart in shared memory, and no other multiply reads them.
        halve_multiply(op, 1 if op.acc.type.shape[1] > TCGEN05_LEAST_COLUMNS else 0)
        split_tiles(module, accepts=lambda part: True)
    else:
        expand_block_scaling(module, lambda each: each.operation == op.operation)


def _remark(misfit: _Misfit, is_halved: bool) -> Remark:
    op = misfit.op
    rows, columns = op.acc.type.shape
    done = (
        "divided into parts that need fewer columns of tensor memory"
        if is_halved
        else "done with operands that threads convert to 16 bits and multiply by their scale factors"
    )
    message = f"the multiply of {rows}x{columns} is {done}: {misfit.reason}"
    return Remark("matrix-unit", message, source_location(op.operation.location), Loss("unit"))
