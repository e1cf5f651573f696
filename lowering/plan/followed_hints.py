"""The hints of an entry and of its accesses that are followed, and a remark for each other hint."""

from __future__ import annotations

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.frozen import replace
from tilec.lowering.kernel_hints import (
    LATENCY,
    NUM_CTAS,
    OCCUPANCY,
    STAGES,
    columns_refusal,
    followed_options,
    kernel_hint,
    tile_hint,
    unfollowed_occupancy,
)
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.tensor_operand import used_columns
from tilec.lowering.plan.warp_choice import WARP_COUNTS, block_warps, registers_available, registers_in_parts
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import LOADS, in_loop
from tilec.remarks import Loss, Remark

# Hints of an entry, by the compile option that they fill.
_ENTRY_HINTS = {"warps": "num_worker_warps_per_cta", "occupancy": "occupancy", "num_ctas": "num_cta_in_cga"}


def entry_options(entry: ir.OpView, target: Target, options: CompileOptions) -> CompileOptions:
    """The options, completed by the hints of the entry."""
    found = {option: tile_hint(entry, name, target) for option, name in _ENTRY_HINTS.items()}
    hints = {option: None if value is None else int(value) for option, value in found.items()}
    followed = followed_options(options, hints, target)
    # The number that the tile stage has chosen (tile_to_gpu/occupancy_choice.py).
    chosen = kernel_hint(entry, OCCUPANCY)
    return followed if chosen is None else replace(followed, occupancy=chosen or None)


def hinted_slots(entry: ir.OpView, target: Target, options: CompileOptions) -> int | None:
    """The fewest slots of whole tiles that a hint names for a ring; None without a hint."""
    latencies = (tile_hint(op, "latency", target) for op in operations_named(entry, LOADS))
    limits = [options.stages, *latencies]
    return min((int(each) for each in limits if each is not None), default=None)


def _latency(plan: MatrixPlan, target: Target) -> int | None:
    """The slots that the hint `latency` of the TMA loads asks for: the largest, since they share a ring."""
    latencies = [tile_hint(tile.owner, "latency", target) for tile in plan.loads]
    return max((int(latency) for latency in latencies if latency is not None), default=None)


def carried_hints(plan: MatrixPlan, target: Target, options: CompileOptions, refusal: str | None) -> dict[str, int]:
    """The attributes of the tile_gpu.kernel that later stages follow; `refusal` is that of the hint `occupancy`."""
    occupancy = options.occupancy if refusal is None else None
    num_ctas = options.num_ctas if options.num_ctas == 1 else None
    latency = _latency(plan, target)
    hints = {STAGES: options.stages, LATENCY: latency, OCCUPANCY: occupancy, NUM_CTAS: num_ctas}
    return {name: value for name, value in hints.items() if value is not None}


def occupancy_refusal(
    entry: ir.OpView, plan: MatrixPlan, warps: int, target: Target, occupancy: int | None, sharing: Sharing
) -> str | None:
    """Why the hint `occupancy` is not followed; None if it is, or is not given."""
    if occupancy is None:
        return None
    needed = registers_in_parts(entry, plan, warps)
    left = registers_available(plan, warps, occupancy)
    if left < needed:
        return f"{occupancy} blocks of {block_warps(plan, warps)} warps leave {left} registers per thread of {needed}"
    used = used_columns(plan, shares=sharing.operands).total()
    # PTX ISA 9.7.16.7.1: columns are allocated in powers of two.
    columns = 1 << (used - 1).bit_length() if used else 0
    return columns_refusal(columns, occupancy, target)


def hint_remarks(
    entry: ir.OpView, plan: MatrixPlan, warps: int, target: Target, options: CompileOptions, refusal: str | None
) -> list[Remark]:
    """A remark for each hint that is not followed and may matter; `refusal` is that of the hint `occupancy`."""
    location = source_location(entry.operation.location)
    found = []
    if options.warps not in (None, warps):
        message = f"num_worker_warps={options.warps} is not followed: {_warps_reason(options.warps)}; {warps} are used"
        found.append(Remark("hint", message, location))
    if refusal is not None:
        found.append(unfollowed_occupancy(options.occupancy or 1, refusal, entry.operation))
    # No load outside of loops has another one to run ahead of, and no thread waits for a store.
    for op in filter(in_loop, operations_named(entry, LOADS)):
        latency = tile_hint(op, "latency", target)
        if latency is not None and not any(result in plan.loads for result in op.operation.results):
            message = f"latency={latency} is not followed: threads load the tile, not TMA"
            found.append(Remark("hint", message, source_location(op.operation.location), Loss("access")))
    return found


def _warps_reason(warps: int | None) -> str:
    if warps not in WARP_COUNTS:
        return f"expected one of {', '.join(map(str, WARP_COUNTS))}"
    return "the matrix instructions would lack registers, or rows for each warp"
