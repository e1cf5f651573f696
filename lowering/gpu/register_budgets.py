"""Adds register budgets to roles whose code needs more than an equal share; the other roles have fewer registers."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp, RolesOp
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.live_tiles import tile_peak
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint
from tilec.lowering.role_registers import chosen_budgets

# Their lowering calls functions. A function has the registers of the launch, which a role may not have any more.
_CALLS = ("tile_gpu.assert", "tile_gpu.print", "tile_gpu.allocate")


def register_budgets(kernel: KernelOp) -> bool:
    """Rewrites a tile_gpu.kernel in place; returns False if its roles need no budgets or cannot have them."""
    roles = next((op for op in kernel.body.blocks[0].operations if op.operation.name == "tile_gpu.roles"), None)
    if roles is None or roles.registers is not None or _calls_functions(kernel):
        return False
    budgets = chosen_budgets(list(roles.warps), _needed(roles), kernel_hint(kernel, OCCUPANCY) or 1)
    if budgets is None:
        return False
    roles.operation.attributes["registers"] = ir.DenseI32ArrayAttr.get(budgets, kernel.operation.context)
    return True


def _needed(roles: RolesOp) -> list[int]:
    return [tile_peak(region.blocks[0]).needed for region in roles.bodies.values()]


def _calls_functions(kernel: KernelOp) -> bool:
    return any(op.operation.name in _CALLS for op in operations_below(kernel))
