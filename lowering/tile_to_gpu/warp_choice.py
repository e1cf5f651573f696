"""How many warps compute: the fewest whose registers hold the largest tile, sums in use together, and instructions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.registers import registers_per_thread
from tilec.dialect.walk import operations_below
from tilec.errors import UsageError
from tilec.lowering.target import LANES
from tilec.lowering.tile_to_gpu.accumulator_columns import without_registers
from tilec.lowering.tile_to_gpu.layouts import is_tile
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, Multiply

WARP_COUNTS = (4, 8, 16)
# 32-bit registers that one thread may spend on the largest tile, so that others fit beside it.
TILE_REGISTERS = 128
# Fewer registers per thread leave no room for addresses beside the values (ptxas 13.5 refuses fewer than 16).
LEAST_REGISTERS = 32
_WIDE_ELEMENTS = ("i64", "f64")


def registers_needed(plan: MatrixPlan) -> int:
    """The fewest registers per thread that the code of a plan can be assembled for."""
    return max([LEAST_REGISTERS, *map(_instruction_registers, plan.multiplies.values())])


def _instruction_registers(multiply: Multiply) -> int:
    return multiply.unit.instruction_registers(multiply.op.acc.type.shape[1])


def choose_warps(entry: ir.OpView, plans: dict[int, MatrixPlan], hint: int | None = None) -> int:
    """The number of warps among those planned for: the `hint`, unless a rule below excludes it.

    A count that leaves more multiplies to slower units, or too few registers for a matrix instruction, is the last
    resort.
    """
    fast = max(map(_multiplies_on_the_fastest_unit, plans.values()))
    counts = [warps for warps, plan in plans.items() if _multiplies_on_the_fastest_unit(plan) == fast]
    counts = [warps for warps in counts if _missing_registers(plans[warps], warps) is None] or counts[:1]
    if hint in counts:
        return hint
    for warps in counts:
        needed = max(_largest_tile(entry, plans[warps]), _sums_together(plans[warps]))
        if needed <= warps * LANES * TILE_REGISTERS:
            return warps
    return counts[-1]


def warps_refusal(plan: MatrixPlan, warps: int) -> UsageError | None:
    """The error if so many warps leave too few registers for a matrix instruction."""
    missing = _missing_registers(plan, warps)
    if missing is None:
        return None
    op, needed = missing
    return UsageError(
        f"hint warps: {warps} warps leave {registers_per_thread(block_warps(plan, warps))} registers per thread, "
        f"'mma' needs {needed}: use fewer warps or a tile of fewer columns",
        source_location(op.operation.location),
    )


def _multiplies_on_the_fastest_unit(plan: MatrixPlan) -> int:
    return sum(not multiply.refusals for multiply in plan.multiplies.values())


def block_warps(plan: MatrixPlan, warps: int) -> int:
    """All warps of the block; loads and asynchronous multiplies have their own warps."""
    asynchronous = any(multiply.unit.accumulates_in_tensor_memory for multiply in plan.multiplies.values())
    return warps + bool(plan.loads) + asynchronous


def _missing_registers(plan: MatrixPlan, warps: int) -> tuple[ir.OpView, int] | None:
    """The first multiply whose instruction needs more registers than there are, and how many."""
    available = registers_per_thread(block_warps(plan, warps))
    for multiply in plan.multiplies.values():
        needed = _instruction_registers(multiply)
        if needed > available:
            return multiply.op, needed
    return None


def _largest_tile(entry: ir.OpView, plan: MatrixPlan) -> int:
    """The 32-bit registers of the largest tile that is in registers: operands that only multiplies read are not.

    Accumulators in tensor memory that are read by columns are not either.
    """
    elsewhere = plan.folded | without_registers(plan)
    tiles = (value for value in _results(entry) if is_tile(value) and value not in elsewhere)
    return max((_tile_registers(value, plan) for value in tiles), default=1)


def _sums_together(plan: MatrixPlan) -> int:
    """The most 32-bit registers of accumulators in registers of one block, such as the body of a loop.

    A multiply that adds to the result of another in the block has no accumulator of its own.
    """
    found: Counter[ir.Block] = Counter()
    for result, multiply in plan.multiplies.items():
        added = plan.multiplies.get(multiply.op.acc)
        block = multiply.op.operation.block
        is_chained = added is not None and added.op.operation.block == block
        if not multiply.unit.accumulates_in_tensor_memory and not is_chained:
            found[block] += _tile_registers(result, plan)
    return max(found.values(), default=0)


def _tile_registers(tile: ir.Value, plan: MatrixPlan) -> int:
    """The registers of a tile, and of the sums beside it that are added to it."""
    multiply = plan.multiplies.get(tile)
    copies = 1 if multiply is None or not multiply.promotes else 2
    return copies * math.prod(tile.type.shape) * _registers(tile.type.element)


def _results(entry: ir.OpView) -> Iterable[ir.Value]:
    for op in operations_below(entry):
        yield from op.operation.results


def _registers(element: ir.Type) -> int:
    return 2 if isinstance(element, PointerType) or spell(element) in _WIDE_ELEMENTS else 1
