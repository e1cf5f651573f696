"""Multiplies of more columns than an instruction has: several side by side, each with an accumulator of its own.

mmaf %a, %b, %c : 128x64, 64x512 -> 128x512   ->   cat(mmaf %a, %b0, %c0, mmaf %a, %b1, %c1), each 128x256
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.matrix_unit import MAXIMUM_COLUMNS, UNITS
from tilec.lowering.plan.cluster_shape import ClusterShape
from tilec.lowering.plan.matrix.unit_choice import matrix_types
from tilec.lowering.plan.warp_choice import WARP_COUNTS
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import PLAIN_MULTIPLIES
from tilec.lowering.tile.divide.multiply_parts import halve_multiply
from tilec.lowering.tile.divide.split_tiles import split_tiles

_COLUMNS = 1


def divide_wide_multiplies(module: ir.Module, target: Target, shape: ClusterShape) -> bool:
    """Changes a module in place, and returns whether it has changed: each multiply has the columns of an instruction.

    A cluster of this shape divides them afterwards. A multiply that the unit refuses for another reason stays whole.
    """
    changed = False
    while wide := [op for op in operations_named(module, PLAIN_MULTIPLIES) if _is_wide(op, target, shape)]:
        for op in wide:
            halve_multiply(op, _COLUMNS)
        changed = True
    if changed:
        # Parts of rhs lie apart in shared memory, and no other multiply reads them.
        split_tiles(module, accepts=lambda part: True)
    return changed


def _is_wide(op: ir.OpView, target: Target, shape: ClusterShape) -> bool:
    """Whether the number of its columns is all that keeps a multiply from an instruction of tensor memory."""
    if op.acc.type.rank != 2 or op.acc.type.shape[_COLUMNS] <= shape.columns * MAXIMUM_COLUMNS:
        return False
    unit = UNITS[target.matrix_units[0]]
    if not unit.accumulates_in_tensor_memory:
        # Warpgroups have the columns of one accumulator side by side.
        return False
    rows, types, depth = op.acc.type.shape[0], matrix_types(op), op.lhs.type.shape[1]
    fits = any(unit.refusal(rows, MAXIMUM_COLUMNS, warps) is None for warps in WARP_COUNTS)
    return fits and unit.operand_refusal(types, depth) is None
