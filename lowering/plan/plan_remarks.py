"""Remarks about a matrix plan: slower units, and accesses that do not use TMA."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.prefetch import PrefetchOp
from tilec.dialect.walk import operations_below
from tilec.errors import SourceLocation
from tilec.lowering.kernel_hints import REMAINING_LOAD, tma_refusal
from tilec.lowering.matrix_unit import PROMOTED_ELEMENTS
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, refusal_of_operand
from tilec.lowering.plan.matrix.operand_source import load_location
from tilec.lowering.plan.matrix.row_loads import prefetch_map
from tilec.lowering.plan.matrix.runs_of_taps import StationaryTile
from tilec.lowering.plan.store_maps import has_storable_rows
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.list_words import loaded_word
from tilec.lowering.tile.analysis.tile_operations import in_loop
from tilec.lowering.tile.divide.turn_multiplies import is_turned
from tilec.lowering.tile_to_gpu.access.memory_order import REDUCTIONS
from tilec.lowering.tile_to_gpu.access.tensor_maps import extent_reason, refusal_of_reduction, tensor_map_for
from tilec.lowering.tile_to_gpu.access.tensor_modes import store_map_for
from tilec.remarks import Loss, Remark

_STORES = {"cuda_tile.store_view_tko": "the store", **dict.fromkeys(REDUCTIONS, "the reduction")}


def plan_remarks(
    entry: ir.OpView, plan: MatrixPlan, use_tma: bool, target: Target, explained: Collection[SourceLocation] = ()
) -> Iterator[Remark]:
    """A remark for each multiply on a slower unit, each operand that registers prepare, each access without TMA.

    Accesses at the locations `explained`, and operands that they load, have their remark.
    """
    for multiply in plan.multiplies.values():
        location = source_location(multiply.op.operation.location)
        if multiply.refusals:
            message = f"the multiply is done by {multiply.unit.name}: {'; '.join(multiply.refusals)}"
            yield Remark("matrix-unit", message, location, Loss("unit"))
        if multiply.unit.is_weight_stationary:
            copies = _copies(plan.stationary.get(multiply.lhs.value))
            message = f"the filters are the first operand of tcgen05.mma.ws{copies}"
            yield Remark("convolution", message, load_location(multiply.lhs.value))
        reason = plan.stationary.get(multiply.lhs.value)
        if target.starts_at_any_row and multiply.lhs.run is not None and isinstance(reason, str):
            message = f"threads read the rows of the multiply from the run: {reason}"
            yield Remark("convolution", message, load_location(multiply.lhs.value))
        if multiply.promotes:
            elements = " by ".join(dict.fromkeys(multiply.types.elements))
            message = (
                f"{multiply.unit.name} sums {elements} with 13 fraction bits, so each sum of "
                f"{PROMOTED_ELEMENTS} products is added in f32: use_fast_acc=True accumulates without this step"
            )
            yield Remark("matrix-unit", message, location, Loss("steps"))
        sides = ("right", "left") if is_turned(multiply.op) else ("left", "right")
        # The few rows that change sides are few bytes.
        operands = (multiply.lhs,) if is_turned(multiply.op) else (multiply.lhs, multiply.rhs)
        for side, operand in zip(sides, operands, strict=False):
            if operand.refusal is not None and load_location(operand.value) not in explained:
                message = f"TMA does not load the {side} operand: {operand.refusal}"
                yield Remark("tma", message, location, Loss("operand", (load_location(operand.value),)))
        for side, scale in zip(sides, multiply.scales, strict=False):
            if scale.refusal is not None:
                message = f"the {scale.layout.subject} of the {side} operand go through registers: {scale.refusal}"
                yield Remark("tma", message, location, Loss("operand", (load_location(scale.value),)))
    for op in operations_below(entry):
        reason = access_reason(op, plan, use_tma, target)
        if reason is not None and (location := source_location(op.operation.location)) not in explained:
            yield Remark("tma", reason, location, Loss("access"))


def _copies(found: StationaryTile | str | None) -> str:
    """How the pixels of a weight-stationary multiply are loaded, if its window has several taps along W."""
    if found is None:
        return ""
    each = f", and each tap along W has a copy of its own: {found}"
    return each if isinstance(found, str) else ", and one copy has the pixels of all taps along W"


def access_reason(op: ir.OpView, plan: MatrixPlan, use_tma: bool, target: Target) -> str | None:
    """Why a load or store does not use TMA; a store may still find its memory ordered with other stores."""
    name = op.operation.name
    if name == "cuda_tile.load_ptr_tko" and loaded_word(op) is not None:
        return None
    if name in ("cuda_tile.load_ptr_tko", "cuda_tile.store_ptr_tko"):
        return f"the {name.removeprefix('cuda_tile.').partition('_')[0]} does not use TMA: it is through pointers"
    if name == PrefetchOp.OPERATION_NAME:
        map = prefetch_map(op, use_tma)
        return f"the prefetch is omitted: {map}" if isinstance(map, str) else None
    if name == "cuda_tile.load_view_tko":
        tile = op.operation.results[0]
        if tile in plan.kept:
            return None
        if tile in plan.loads:
            return _gather_reason(op)
        if REMAINING_LOAD in op.attributes:
            return None
        otherwise = plan.refusals.get(tile) or refusal_of_operand(op, plan)
        return f"the load does not use TMA: {_view_reason(op, use_tma, target) or otherwise}"
    if name in _STORES:
        reason = _view_reason(op, use_tma, target) or _extent_reason(op)
        return None if reason is None else f"{_STORES[name]} does not use TMA: {reason}"
    return None


def _view_reason(op: ir.OpView, use_tma: bool, target: Target) -> str | None:
    refusal = tma_refusal(op, target, use_tma)
    if refusal is not None:
        return refusal
    map = store_map_for(op, target) if op.operation.name in _STORES else tensor_map_for(op.view)
    if isinstance(map, str):
        return map
    return refusal_of_reduction(op, map.element) if op.operation.name in REDUCTIONS else None


def _extent_reason(store: ir.OpView) -> str | None:
    """Why TMA would write beyond the rows of a matrix; tiles of one dimension are stored by threads."""
    return None if store.view.type.rank == 1 or has_storable_rows(store) else extent_reason(store.view)


def _gather_reason(load: ir.OpView) -> str | None:
    """Why a load by TMA cannot run ahead of the multiplies that read it."""
    dimension = getattr(load.view.type, "sparse_dim", None)
    if dimension is None or not in_loop(load):
        return None
    owner = list(load.index)[dimension].owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    if block != load.operation.block:
        return None
    return "the rows are gathered in the iteration that computes their indices: compute them before the loop"
