"""Block-scaled multiplies that no unit of a target can do become one multiply per block of scale factors."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.target import target_named
from tilec.lowering.tile.expand_block_scaling import expand_block_scaling
from tilec.lowering.tile_to_gpu.unit_choice import (
    MULTIPLIES,
    SCALED,
    free_columns,
    matrix_types,
    unit_for,
    unit_reasons,
)
from tilec.lowering.tile_to_gpu.warp_choice import WARP_COUNTS
from tilec.remarks import Remark


def expand_multiplies(module: ir.Module, target: str, remarks: list[Remark]) -> bool:
    """Changes a module of Tile IR in place; `remarks` gets the reason of each multiply that is expanded.

    Returns whether there is one.
    """
    if not operations_named(module, (SCALED,)):
        return False
    machine = target_named(target)
    multiplies = [op for op in operations_named(module, MULTIPLIES) if op.acc.type.rank == 2]
    free = {warps: free_columns(multiplies, machine, warps) for warps in WARP_COUNTS}
    expanded: list[Remark] = []

    def has_no_unit(op: ir.OpView) -> bool:
        choices = [unit_for(op, machine, warps, free[warps].get(op.operation)) for warps in WARP_COUNTS]
        refusals = next((refusals for unit, refusals in choices if unit is None), None)
        if refusals is None:
            return False
        message = (
            f"the multiply is done in blocks of {matrix_types(op).scaled_elements} elements along K, "
            f"whose sums are multiplied by their scale factors in f32: {unit_reasons(refusals, machine)}"
        )
        expanded.append(Remark("matrix-unit", message, source_location(op.operation.location)))
        return True

    expand_block_scaling(module, has_no_unit)
    remarks.extend(expanded)
    return bool(expanded)
