"""Accesses through im2col views that TMA does not do: gathers and scatters of rows replace them."""

from __future__ import annotations

import math

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import BY_ROW
from tilec.dialect.walk import operations_below
from tilec.errors import UnsupportedError
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, refusal_of_operand
from tilec.lowering.plan.store_maps import store_map
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.divisibility import divisibility, divisor_of
from tilec.lowering.tile.analysis.im2col_tensor import tensor_of
from tilec.lowering.tile.analysis.value_analysis import forget_facts
from tilec.lowering.tile.expand.expand_tilex import expand, remove_dead_views
from tilec.lowering.tile_to_gpu.access.alignment import VECTOR_BYTES, element_bits
from tilec.lowering.tile_to_gpu.access.im2col_map import im2col_map_for, im2col_store_map
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.access.tile_hints import allows_tma
from tilec.remarks import Remark

_LOAD, _STORE = "tilex.load_im2col_tko", "tilex.store_im2col_tko"


def expand_without_tma(entry: ir.OpView, plan: MatrixPlan, order: MemoryOrder | None, target: Target) -> list[Remark]:
    """Expands each access that TMA does not do, all of them if there is no `order`; a remark for each.

    Raises UnsupportedError for a load through a view with a mode, which demands TMA.
    """
    accesses = [op for op in operations_below(entry) if _is_expanded(op, plan, order, target)]
    remarks = [_remark(op, plan, target, order is not None) for op in accesses]
    if accesses:
        forget_facts()
        expand(accesses)
    remove_dead_views(entry)
    return remarks


def _is_expanded(op: ir.OpView, plan: MatrixPlan, order: MemoryOrder | None, target: Target) -> bool:
    name = op.operation.name
    if name == _STORE:
        return order is None or store_map(op, order, target) is None
    return name == _LOAD and op.operation.results[0] not in plan.loads


def _remark(op: ir.OpView, plan: MatrixPlan, target: Target, use_tma: bool) -> Remark:
    is_load, mode, location = op.operation.name == _LOAD, op.view.type.mode, source_location(op.operation.location)
    reason = _reason(op, plan, target, use_tma)
    if is_load and mode is not None:
        raise UnsupportedError(f"mode={mode} cannot be followed: {reason}; {_advice(mode)}", location)
    access, rows = ("load", "gather") if is_load else ("store", "scatter")
    message = f"the {access} through the im2col view is a {rows} of rows: {reason}"
    return Remark("tma", _with_width(message, op.view), location)


def _with_width(message: str, view: ir.Value) -> str:
    narrow = narrow_access(view)
    return message if narrow is None else f"{message}; {narrow}"


def _advice(mode: str) -> str:
    if mode in BY_ROW:
        return "leave mode out, which numbers the pixels of tiles across rows"
    return "leave mode out to gather the rows without im2col"


def _reason(op: ir.OpView, plan: MatrixPlan, target: Target, use_tma: bool) -> str:
    """Why TMA does not do an access."""
    if not use_tma:
        return "TMA is switched off"
    if not allows_tma(op, target):
        return "hint allow_tma=False"
    return _load_reason(op, plan, target) if op.operation.name == _LOAD else _store_reason(op, target)


def _load_reason(load: ir.OpView, plan: MatrixPlan, target: Target) -> str:
    map = im2col_map_for(load, target, rounds_to_tf32=False)
    if isinstance(map, str):
        return map
    return refusal_of_operand(load, plan) or "only operands of matrix multiplies are loaded by TMA"


def _store_reason(store: ir.OpView, target: Target) -> str:
    map = im2col_store_map(store.view, target)
    return map if isinstance(map, str) else "the tile is too large to stage, or follows stores that do not use TMA"


def narrow_access(view: ir.Value) -> str | None:
    """The reason why accesses are narrower than the alignment of the rows and the tile allows, or None.

    The last access of a row must not exceed the channels, so their number limits the width of all.
    """
    tensor, type = tensor_of(view), view.type
    if type.tensor_view.strides[-1] != 1:
        return None
    size = element_bits(type.element) // 8
    aligned = math.gcd(divisibility(tensor.base), tensor.unit * size, type.tile_shape[1] * size, VECTOR_BYTES)
    width = math.gcd(aligned, divisor_of(tensor.extents[-1]) * size)
    if width == aligned:
        return None
    expected = f"the number of channels is not known to be a multiple of {aligned // size}"
    return f"each access has {width} {'byte' if width == 1 else 'bytes'}, as {expected}"
