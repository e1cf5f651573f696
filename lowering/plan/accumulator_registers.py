"""Accumulators in registers that one block cannot hold: the block computes parts of it in turn.

mmaf : 256x64, 64x256 -> 256x256 in a loop   ->   for %part in (0 to 2, step 1), with a loop of 128x256 inside
"""

from __future__ import annotations

import math

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.registers import REGISTER_FILE
from tilec.dialect.walk import operations_below
from tilec.lowering.plan.cluster_division import check_order
from tilec.lowering.plan.matrix.accumulator import MULTIPLIES, Accumulator, accumulators
from tilec.lowering.plan.matrix.loop_resources import LoopResources
from tilec.lowering.tile.divide.divided_dimensions import COLUMNS, ROWS, NotDivisibleError
from tilec.lowering.tile.divide.parts_in_turn import compute_in_turn
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.remarks import Remark

# The rest is for addresses, for values that are computed from the accumulators, and for the threads that load.
MOST_REGISTERS = REGISTER_FILE // 4 * 3
_REGISTER_BITS = 32
# The dimension, and its least extent, in order of preference: two warpgroups have 64 rows each.
_CHOICES = ((ROWS, 128), (COLUMNS, 64), (ROWS, 64))


def fit_accumulators(entry: ir.OpView, remarks: list[Remark]) -> None:
    """Changes an entry in place so that its accumulators fit the registers; `remarks` gets the division or the refusal.

    Stores must be whole: slices of columns (divide_stores.py) belong to no part.
    """
    with entry.operation.context:
        _fit(entry, remarks)


def _fit(entry: ir.OpView, remarks: list[Remark]) -> None:
    multiplies = [op for op in operations_below(entry) if op.operation.name in MULTIPLIES and op.acc.type.rank == 2]
    places = list(dict.fromkeys(accumulators(multiplies).values()))
    together = [[other for other in places if other is place or place.overlaps(other)] for place in places]
    largest = max(together, key=_registers, default=[])
    needed = _registers(largest)
    if needed <= MOST_REGISTERS:
        return
    location = source_location(next(iter(largest[0].multiplies)).location)
    parts = 1 << math.ceil(math.log2(needed / MOST_REGISTERS))
    need = f"the accumulators need {needed} of {REGISTER_FILE} registers"
    reasons: list[str] = []
    for along, least in _CHOICES:
        try:
            compute_in_turn(entry, parts, along, least, check_order)
        except NotDivisibleError as error:
            reasons.append(str(error))
            continue
        words, side = (("rows", "right"), ("columns", "left"))[along]
        message = f"{need}: the block computes the {words} in {parts} parts, and loads the {side} operand for each"
        remarks.append(Remark("matrix-unit", message, location))
        return
    message = f"{need}, so that values spill: {'; '.join(dict.fromkeys(reasons))}; use a smaller tile"
    remarks.append(Remark("registers", message, location))


def _registers(places: list[Accumulator]) -> int:
    """The registers of accumulators in all threads."""
    resources = LoopResources()
    resources.add_accumulators(places, _registers_of)
    return resources.total()


def _registers_of(multiply: ir.OpView) -> int:
    sums = multiply.acc.type
    return math.prod(sums.shape) * element_bits(sums.element) // _REGISTER_BITS
