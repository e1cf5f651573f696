"""Tile IR whose arrays do not overlap: the promise of the hint arrays_apart.

    for .. iter_values(%t = %start) {                       for .. {
      %q, %a = load_view_tko weak %Q token = %t               %q, %a = load_view_tko weak %Q
      %r, %b = atomic_rmw_tko acq_rel device %dQ token = %a   %r, %b = atomic_rmw_tko acq_rel device %dQ token = %a
      continue %b                                             continue

Tokens order accesses of any arrays, so that the load waits for the atomic of the iteration before. Without overlaps it
does not: nothing uses the result of the atomic (lowering/tile/analysis/acquires.py).
"""

from __future__ import annotations

from tilec.ast_to_tile.control_flow.memory_effects import access
from tilec.ast_to_tile.control_flow.token_order import order_memory
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.acquires import Acquires
from tilec.lowering.tile.analysis.replacing import rebuilt_without, replace
from tilec.remarks import Remark

# Operations that pass tokens on.
_FORWARDS = tuple(f"cuda_tile.{name}" for name in ("for", "loop", "if", "make_token", "join_tokens"))


def order_arrays_apart(entry: ir.OpView) -> Remark | None:
    """Gives the accesses of an entry the tokens of the kernel language, in place; without a change, the reason why not.

    Accesses of one array keep program order, which their tokens never contradict.
    """
    acquires = Acquires(entry.operation)
    accesses = [op for op in operations_below(entry) if _has_token(op) and op.operation.name not in _FORWARDS]
    for op in accesses:
        try:
            is_known = access(op, acquires) is not None
        except LookupError:
            is_known = False
        if not is_known:
            message = f"arrays_apart is not followed: the array of '{op.operation.name}' is not known"
            return Remark("hint", message, source_location(op.operation.location))
    for op in accesses:
        if op.token is not None:
            with ir.InsertionPoint(op.operation), op.location:
                replace(op, list(rebuilt_without(op, "token")))
    order_memory(entry.operation)
    return None


def _has_token(op: ir.OpView) -> bool:
    return any(isinstance(result.type, TokenType) for result in op.operation.results)
