"""Accumulators that exceed the registers or the tensor memory of a CTA: the tile block computes parts of them in turn.

mmaf : 256x64, 64x256 -> 256x256 in a loop   ->   for %part in (0 to 2, step 1), with a loop of 128x256 inside
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.registers import REGISTER_FILE
from tilec.dialect.walk import operations_named
from tilec.errors import SourceLocation
from tilec.lowering.matrix_unit import UNITS, accumulates_in_registers
from tilec.lowering.plan.chain_room import copied_entry
from tilec.lowering.plan.cluster_division import check_order, planned_shape
from tilec.lowering.plan.cluster_shape import LEAST_COLUMNS, MOST_REGISTERS, ClusterShape
from tilec.lowering.plan.matrix.accumulator import Accumulator, accumulators
from tilec.lowering.plan.matrix.loop_resources import LoopResources
from tilec.lowering.plan.matrix.operand_source import load_location
from tilec.lowering.plan.matrix.unit_choice import matrix_types
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, PLAIN_MULTIPLIES, in_loop, matrix_multiplies
from tilec.lowering.tile.divide.divided_dimensions import COLUMNS, ROWS, NotDivisibleError, is_chained
from tilec.lowering.tile.divide.parts_in_turn import compute_in_turn
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.remarks import Loss, Remark

_REGISTER_BITS = 32
# Two warpgroups have 64 rows each.
_ROWS_OF_WARPGROUPS, _ROWS_OF_WARPGROUP = 128, 64
_HALVES = 2

Needed = Callable[[ir.OpView], int]


def fit_accumulators(
    entry: ir.OpView, target: Target, options: CompileOptions, remarks: list[Remark], chosen: Callable[[], int]
) -> None:
    """Changes an entry in place so that its accumulators fit a CTA; `remarks` gets the division or the refusal.

    Stores must be whole: slices of columns (divide_stores.py) belong to no part. `chosen` is the number of CTAs that
    compute a tile block without the hint num_ctas.
    """
    multiplies = matrix_multiplies(entry, MULTIPLIES)
    if not multiplies:
        return
    if accumulates_in_registers(target):
        _fit_registers(entry, multiplies, target, options.num_ctas or 1, remarks)
    elif all(_is_in_tensor_memory(op, target) for op in multiplies):
        _fit_tensor_memory(entry, multiplies, target, options.num_ctas, remarks, chosen)


def halves_in_turn(module: ir.Module, target: Target, options: CompileOptions) -> ir.Module | None:
    """A copy of a module with one entry, the blocks of which compute the halves of the rows of chains in turn.

    Threads that multiply for themselves then have half of the sums, so that more of them, or another block, compute
    while the tensor cores multiply. None for other targets, chains of fewer rows, and accumulators that do not fit.
    """
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    if not accumulates_in_registers(target) or options.num_ctas not in (None, 1):
        return None
    multiplies = [op for op in matrix_multiplies(entry, MULTIPLIES) if in_loop(op)]
    if not any(map(is_chained, multiplies)):
        return None
    if _largest(multiplies, lambda op: _registers(op, ClusterShape(1)))[1] > MOST_REGISTERS:
        return None
    copy, entry = copied_entry(entry)
    try:
        compute_in_turn(entry, _HALVES, ROWS, _ROWS_OF_WARPGROUPS, check_order)
    except NotDivisibleError:
        return None
    return copy


def _fit_registers(
    entry: ir.OpView, multiplies: list[ir.OpView], target: Target, ctas: int, remarks: list[Remark]
) -> None:
    shape = planned_shape(entry, ctas, target)
    largest, needed = _largest(multiplies, lambda op: _registers(op, shape))
    if needed <= MOST_REGISTERS:
        return
    c, r = shape.columns, shape.rows
    choices = ((ROWS, _ROWS_OF_WARPGROUPS * r), (COLUMNS, LEAST_COLUMNS * c), (ROWS, _ROWS_OF_WARPGROUP * r))
    need = f"the accumulators need {needed} of {REGISTER_FILE} registers"
    reasons = _compute_in_turn(entry, _parts(needed, MOST_REGISTERS), choices, largest, need, remarks)
    if reasons:
        message = f"{need}, so that values spill: {'; '.join(dict.fromkeys(reasons))}; use a smaller tile"
        remarks.append(Remark("registers", message, _location(largest)))


def _fit_tensor_memory(
    entry: ir.OpView,
    multiplies: list[ir.OpView],
    target: Target,
    hint: int | None,
    remarks: list[Remark],
    chosen: Callable[[], int],
) -> None:
    most, shape = target.tensor_memory_columns, ClusterShape(1)
    largest, needed = _largest(multiplies, lambda op: _columns(op, shape))
    if needed <= most:
        return
    shape = planned_shape(entry, chosen() if hint is None else hint, target)
    largest, needed = _largest(multiplies, lambda op: _columns(op, shape))
    if needed <= most:
        return
    choices = [(ROWS, TENSOR_LANES * shape.rows), (COLUMNS, LEAST_COLUMNS * shape.columns)]
    rows, columns = largest[0].type.shape
    # Parts that are nearly square load the fewest operands.
    ordered = choices if rows // shape.rows > columns // shape.columns else choices[::-1]
    need = f"the accumulators need {needed} of {most} columns of tensor memory"
    _compute_in_turn(entry, _parts(needed, most), ordered, largest, need, remarks)


def _is_in_tensor_memory(op: ir.OpView, target: Target) -> bool:
    """Whether only the extents of its accumulator can keep a multiply from tensor memory."""
    if op.operation.name not in PLAIN_MULTIPLIES or op.acc.type.shape[0] % _ROWS_OF_WARPGROUP:
        return False
    unit = UNITS[target.matrix_units[0]]
    return unit.accumulates_in_tensor_memory and unit.operand_refusal(matrix_types(op), op.lhs.type.shape[1]) is None


def _compute_in_turn(
    entry: ir.OpView,
    parts: int,
    choices: Sequence[tuple[int, int]],
    places: list[Accumulator],
    need: str,
    remarks: list[Remark],
) -> list[str]:
    """Computes parts along the first dimension that is possible; else the reasons. `choices` have the least extents."""
    location = _location(places)
    multiply = next(iter(places[0].multiplies)).opview
    loads = [load_location(operand) for operand in (multiply.rhs, multiply.lhs)]
    reasons: list[str] = []
    if any(is_chained(op.opview) for place in places for op in place.multiplies):
        # Parts of the columns repeat the multiplies before the last ones of a chain.
        choices = sorted(choices, key=lambda choice: choice[0])
    for along, least in choices:
        try:
            compute_in_turn(entry, parts, along, least, check_order)
        except NotDivisibleError as error:
            reasons.append(str(error))
            continue
        words, side = (("rows", "right"), ("columns", "left"))[along]
        message = f"{need}: the block computes the {words} in {parts} parts, and loads the {side} operand for each"
        remarks.append(Remark("matrix-unit", message, location, Loss("parts", (loads[along],), parts)))
        return []
    return reasons


def _location(places: list[Accumulator]) -> SourceLocation | None:
    return source_location(next(iter(places[0].multiplies)).location)


def _parts(needed: int, most: int) -> int:
    return 1 << math.ceil(math.log2(needed / most))


def _largest(multiplies: list[ir.OpView], needed: Needed) -> tuple[list[Accumulator], int]:
    """The accumulators that are in use together and need the most, and how much they need."""
    places = list(dict.fromkeys(accumulators(multiplies).values()))
    together = [[other for other in places if other is place or place.overlaps(other)] for place in places]
    totals = [_total(each, needed) for each in together]
    most = max(totals)
    return together[totals.index(most)], most


def _total(places: list[Accumulator], needed: Needed) -> int:
    resources = LoopResources()
    resources.add_accumulators(places, needed)
    return resources.total()


def _registers(multiply: ir.OpView, shape: ClusterShape) -> int:
    """The registers of an accumulator in all threads of a CTA."""
    sums = multiply.acc.type
    return math.prod(sums.shape) // shape.ctas * element_bits(sums.element) // _REGISTER_BITS


def _columns(multiply: ir.OpView, shape: ClusterShape) -> int:
    """The columns of tensor memory under an accumulator."""
    rows, columns = multiply.acc.type.shape
    return columns // shape.columns * max(1, rows // shape.rows // TENSOR_LANES)
