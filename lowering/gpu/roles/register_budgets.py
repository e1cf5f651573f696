"""Adds register budgets to roles whose code needs more than an equal share; the other roles have fewer registers."""

from __future__ import annotations

from collections.abc import Mapping

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import CALLS
from tilec.dialect.tile_gpu.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.registers import registers_per_thread
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint
from tilec.lowering.role_registers import chosen_budgets


def register_budgets(kernel: KernelOp, _context: Context) -> bool:
    """Rewrites a tile_gpu.kernel in place; returns False if its roles need no budgets or cannot have them."""
    roles = kernel.roles
    return roles is not None and set_budgets(kernel, roles, {}) is not None


def set_budgets(kernel: KernelOp, roles: RolesOp, more: Mapping[int, int]) -> list[int] | None:
    """Sets the budgets of roles and returns them; `more` has registers that some roles, by number, will need at least.

    None, without a change, if the roles have budgets, need none or cannot have them, or if one in `more` has too few.
    """
    if roles.registers is not None or any(op.name in CALLS for op in operations_inside(kernel)):
        return None
    needed = [tile_peak(region.blocks[0]).needed for region in roles.bodies.values()]
    needed = [max(registers, more.get(number, 0)) for number, registers in enumerate(needed)]
    budgets = chosen_budgets(list(roles.warps), needed, kernel_hint(kernel, OCCUPANCY) or 1)
    if budgets is None or any(budgets[number] < registers for number, registers in more.items()):
        return None
    roles.operation.attributes["registers"] = ir.DenseI32ArrayAttr.get(budgets, kernel.operation.context)
    return budgets


def registers_of_role(roles: RolesOp, number: int) -> int:
    """The registers of each thread of a role: its budget, or an equal share."""
    return registers_per_thread(sum(roles.warps)) if roles.registers is None else roles.registers[number]
