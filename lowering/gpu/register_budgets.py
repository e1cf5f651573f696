"""Adds register budgets to roles whose code needs more than an equal share; the other roles have fewer registers."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.registers import (
    BUDGET_STEP,
    LARGEST_BUDGET,
    REGISTER_FILE,
    WARPS_OF_A_GROUP,
    registers_per_thread,
    roles_by_warpgroups,
    whole_warpgroups,
)
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.live_tiles import registers_needed
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint

# The registers of threads that only issue asynchronous operations, as tileiras 13.5 chooses them.
LEAST_REGISTERS = 32
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


def chosen_budgets(warps: Sequence[int], needed: Sequence[int], blocks: int = 1) -> list[int] | None:
    """The registers per thread of each role, if `blocks` blocks are on an SM.

    None if an equal share is enough, or if no budgets are enough for more than one block.

    Roles are served in the order of their needs, at least with LEAST_REGISTERS; the neediest have all that remains.
    """
    runs = roles_by_warpgroups(warps)
    share = registers_per_thread(whole_warpgroups(sum(warps)), REGISTER_FILE // blocks) // BUDGET_STEP * BUDGET_STEP
    needs = {run: max(needed[index] for index in run) for run in runs}
    highest = max(needs.values())
    if len(runs) == 1 or highest <= share or share >= LARGEST_BUDGET - BUDGET_STEP:
        return None
    groups = {run: whole_warpgroups(sum(warps[index] for index in run)) // WARPS_OF_A_GROUP for run in runs}
    left, left_groups = share * sum(groups.values()), sum(groups.values())
    budgets = [0] * len(warps)
    for run in sorted(runs, key=needs.__getitem__):
        budget = left // left_groups
        if needs[run] < highest:
            budget = min(budget, max(LEAST_REGISTERS, needs[run] + BUDGET_STEP - 1))
        budget = min(budget, LARGEST_BUDGET) // BUDGET_STEP * BUDGET_STEP
        for index in run:
            budgets[index] = budget
        left, left_groups = left - budget * groups[run], left_groups - groups[run]
    enough = all(needs[run] <= budgets[run[0]] for run in runs)
    return budgets if enough or blocks == 1 else None


def _needed(roles: RolesOp) -> list[int]:
    return [registers_needed(region.blocks[0]).registers for region in roles.bodies.values()]


def _calls_functions(kernel: KernelOp) -> bool:
    return any(op.operation.name in _CALLS for op in operations_below(kernel))
