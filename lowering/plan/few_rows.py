"""Multiplies with fewer rows than an instruction of the tensor cores: those whose operands change sides.

The columns of such a multiply become the rows of the instruction, and its few rows the columns.
"""

from __future__ import annotations

from math import prod

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.matrix_unit import TCGEN05_LEAST_COLUMNS, UNITS
from tilec.lowering.plan.matrix.operand_source import operand_source
from tilec.lowering.plan.matrix.unit_choice import matrix_types
from tilec.lowering.plan.warp_choice import WARP_COUNTS
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, PLAIN_MULTIPLIES, in_loop
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile.divide.turn_multiplies import turn_multiplies
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes

# Fewer rows than of any instruction.
_ROWS = 64
_LEAST_COLUMNS = 8
# The elements of a row are in all threads of a turned tile. With 32 rows, the exchange of an online softmax takes more
# cycles than mma.sync saves: 1731 and 1216 on B200, 1525 and 1260 on H200 (lowering/model).
_MOST_ROWS_OF_REDUCTIONS = 16
# The scratch memory in which accumulators of mma.sync become rows of 512 columns.
_CONVERSION_BYTES = 32768


def turn_few_rows(entry: ir.OpView, target: Target) -> bool:
    """Changes an entry in place, and returns whether it has changed: each multiply has the rows of an instruction.

    All multiplies must have the same few rows, and their right operands are loaded in a loop.
    """
    multiplies = operations_named(entry, MULTIPLIES)
    rows = {tuple(op.acc.type.shape)[0] for op in multiplies if op.acc.type.rank == 2}
    if len(rows) != 1 or not all(_can_turn(op, target) for op in multiplies):
        return False
    if rows.pop() > _MOST_ROWS_OF_REDUCTIONS and _reduces_columns(entry) and _fits_unturned(multiplies, target):
        return False
    turn_multiplies(multiplies, _width(target))
    return True


def _fits_unturned(multiplies: list[ir.OpView], target: Target) -> bool:
    """Whether shared memory holds all operands of mma.sync, a slice of a stored tile, and its conversion to rows."""
    operands = {operand for op in multiplies for operand in (op.lhs, op.rhs)}
    size_bytes = sum(prod(operand.type.shape) * element_bytes(operand.type.element) for operand in operands)
    return size_bytes + SLICE_BYTES + _CONVERSION_BYTES <= target.shared_bytes


def _reduces_columns(entry: ir.OpView) -> bool:
    """Whether a loop reduces tiles along their columns."""
    reduced = operations_named(entry, ("cuda_tile.reduce",))
    return any(op.dim == 1 and op.operands[0].type.rank == 2 and in_loop(op) for op in reduced)


def _width(target: Target) -> int:
    unit = UNITS[target.matrix_units[0]]
    return TCGEN05_LEAST_COLUMNS if unit.accumulates_in_tensor_memory else _LEAST_COLUMNS


def _can_turn(op: ir.OpView, target: Target) -> bool:
    if op.operation.name not in PLAIN_MULTIPLIES or op.acc.type.rank != 2 or not in_loop(op):
        return False
    unit, types, (rows, columns) = UNITS[target.matrix_units[0]], matrix_types(op), op.acc.type.shape
    if rows >= _ROWS or types.element not in unit.mn_major or isinstance(operand_source(op.rhs), str):
        return False
    fewest = WARP_COUNTS[0]
    is_possible = unit.refusal(columns, max(rows, _width(target)), fewest) is None
    return is_possible and unit.operand_refusal(types, op.lhs.type.shape[1]) is None
