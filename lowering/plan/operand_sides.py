"""Multiplies of few rows, and multiplies whose products others read transposed: their operands change sides.

The columns of a multiply with fewer rows than an instruction of the tensor cores become the rows of the instruction.
A product that is read only after a transposition is computed transposed: threads then exchange no elements, and
registers and tensor memory hold an lhs whose rows are those of the product that it is computed from.
"""

from __future__ import annotations

from math import prod

from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.matrix_unit import TCGEN05_LEAST_COLUMNS, UNITS
from tilec.lowering.plan.matrix.accumulator import ACCUMULATOR
from tilec.lowering.plan.matrix.operand_source import operand_source
from tilec.lowering.plan.matrix.scale_factors import has_scaled_kind
from tilec.lowering.plan.matrix.unit_choice import matrix_types
from tilec.lowering.plan.warp_choice import WARP_COUNTS
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import (
    DIVISIBLE_MULTIPLIES,
    MULTIPLIES,
    PLAIN_MULTIPLIES,
    STRUCTURES,
    carried_with,
    in_loop,
    is_elementwise,
    left_by,
    producer,
)
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile.divide.turn_multiplies import ENDS, Turning
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes

# Fewer rows than of any instruction.
_ROWS = 64
# PTX ISA 9.7.16.2.1: M of multiplies with block scaling is 128.
_SCALED_ROWS = 128
# A CTA multiplies 64 rows by tcgen05 in the time of 128.
_TCGEN05_ROWS = 128
_LEAST_COLUMNS = 8
# The elements of a row are in all threads of a turned tile. With 32 rows, the exchange of an online softmax takes more
# cycles than mma.sync saves: 1731 and 1216 on B200, 1525 and 1260 on H200 (lowering/model).
_MOST_ROWS_OF_REDUCTIONS = 16
# The scratch memory in which accumulators of mma.sync become rows of 512 columns.
_CONVERSION_BYTES = 32768


def exchange_sides(entry: ir.OpView, target: Target) -> bool:
    """Changes an entry in place, and returns whether it has changed: products have the rows that a unit needs.

    All multiplies that change sides have the same rows, and no other multiply adds to the tiles that they turn.
    """
    multiplies = operations_named(entry, MULTIPLIES)
    names = DIVISIBLE_MULTIPLIES if target.scaled_matrix_units else PLAIN_MULTIPLIES
    if any(op.operation.name not in names or op.acc.type.rank != 2 for op in multiplies):
        return False
    few = [op for op in multiplies if op.acc.type.shape[0] < (_ROWS if _is_plain(op) else _SCALED_ROWS)]
    turned = [op for op in multiplies if _can_turn(op, target) and (op in few or is_read_transposed(op, target))]
    rows = {op.acc.type.shape[0] for op in turned}
    if len(rows) != 1 or any(op not in turned for op in few):
        return False
    exchanges_rows = few and rows.pop() > _MOST_ROWS_OF_REDUCTIONS and _reduces_columns(entry)
    if exchanges_rows and _fits_unturned(multiplies, target):
        return False
    turning = Turning(turned, _width(target))
    if any(turning.includes(value) for op in multiplies if op not in turned for value in (op.acc, op.result)):
        return False
    turning.turn()
    return True


def is_read_transposed(op: ir.OpView, target: Target) -> bool:
    """Whether a product is read after a transposition, changed elementwise, and nowhere else; as lhs by multiplies.

    Its columns must take no instruction with idle rows if its rows take none, unless threads of the same block would
    exchange its elements: 64 queries by 128 keys take 3,701 cycles then (B200, lowering/model). On sm_100a more than
    128 rows stay: 256x128 with a depth of 64 would leave too few columns of tensor memory (6,628 and 4,898 cycles).
    """
    if not _is_plain(op) or op.acc.type.rank != 2:
        return False
    rows, columns = op.acc.type.shape
    in_tensor_memory = UNITS[target.matrix_units[0]].accumulates_in_tensor_memory
    full = _TCGEN05_ROWS if in_tensor_memory else _ROWS
    if in_tensor_memory and rows > full or isinstance(operand_source(op.lhs), str):
        return False
    readers, seen, waiting = list[ir.OpView](), set[tuple[ir.Value, bool]](), [(op.result, False)]
    while waiting:
        value, is_transposed = waiting.pop()
        # Loops that start from one constant are not related by it.
        if (value, is_transposed) in seen or producer(value, "constant") is not None:
            continue
        seen.add((value, is_transposed))
        for use in value.uses:
            user = use.owner.operation.opview
            name = user.operation.name
            if name == "cuda_tile.permute":
                waiting.append((user.result, not is_transposed))
            elif name in STRUCTURES or name in ENDS:
                structure = left_by(user) if name in ENDS else user
                waiting += [(each, is_transposed) for each in carried_with(structure, value)]
            elif name in MULTIPLIES and not is_transposed and use.operand_number == ACCUMULATOR:
                waiting.append((user.result, is_transposed))
            elif name not in MULTIPLIES and is_elementwise(user) and effect_free(user):
                waiting += [(result, is_transposed) for result in user.operation.results]
            elif is_transposed and (name not in MULTIPLIES or use.operand_number == 0):
                readers.append(user)
            else:
                return False
    exchanges = any(
        each.operation.name not in MULTIPLIES and each.operation.block == op.operation.block for each in readers
    )
    return bool(readers) and (exchanges or columns >= min(rows, full))


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


def _is_plain(op: ir.OpView) -> bool:
    return op.operation.name in PLAIN_MULTIPLIES


def _can_turn(op: ir.OpView, target: Target) -> bool:
    if not in_loop(op) or isinstance(operand_source(op.rhs), str):
        return False
    types, (rows, columns) = matrix_types(op), op.acc.type.shape
    unit = UNITS[(target.matrix_units if types.scale is None else target.scaled_matrix_units)[0]]
    # Elements with factors that are not contiguous along K are refused, or moved by threads, on either side.
    if types.element not in unit.mn_major if _is_plain(op) else not has_scaled_kind(types):
        return False
    fewest = WARP_COUNTS[0]
    is_possible = unit.refusal(columns, max(rows, _width(target)), fewest) is None
    return is_possible and unit.operand_refusal(types, op.lhs.type.shape[1]) is None
