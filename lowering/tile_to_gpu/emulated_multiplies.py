"""The option emulate_block_scaling: block-scaled multiplies without a unit multiply scaled operands instead."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.target import target_named
from tilec.lowering.tile.emulate_block_scaling import emulate_block_scaling
from tilec.lowering.tile_to_gpu.unit_choice import MULTIPLIES, free_columns, unit_for, unit_reasons
from tilec.lowering.tile_to_gpu.warp_choice import WARP_COUNTS
from tilec.remarks import Remark


def emulate_multiplies(module: ir.Module, target: str, remarks: list[Remark]) -> None:
    """Changes a module of Tile IR in place; `remarks` gets the reason of each multiply that is emulated."""
    machine = target_named(target)
    multiplies = [op for op in operations_named(module, MULTIPLIES) if op.acc.type.rank == 2]
    free = {warps: free_columns(multiplies, machine, warps) for warps in WARP_COUNTS}

    def has_no_unit(op: ir.OpView) -> bool:
        choices = [unit_for(op, machine, warps, free[warps].get(op.operation)) for warps in WARP_COUNTS]
        if any(unit is not None for unit, _ in choices):
            return False
        message = f"the multiply is emulated with operands of bf16: {unit_reasons(choices[0][1], machine)}"
        remarks.append(Remark("matrix-unit", message, source_location(op.operation.location)))
        return True

    emulate_block_scaling(module, has_no_unit)
