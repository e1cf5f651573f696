"""Adds register budgets to roles whose code needs more than an equal share; the other roles have fewer registers."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import CALLS
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.registers import registers_per_thread
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_inside, operations_of
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.memory.occupancy import followed_occupancy, least_registers, registers_refusal
from tilec.lowering.kernel_hints import OCCUPANCY, blocks_of_hint, unfollowed_occupancy
from tilec.lowering.role_registers import LEAST_REGISTERS, chosen_budgets


def register_budgets(kernel: KernelOp, context: Context) -> bool:
    """Rewrites a tile_gpu.kernel in place; returns False if its roles need no budgets or cannot have them.

    If the blocks of the hint `occupancy` have too little memory or too few registers, the hint becomes a remark.
    """
    blocks, roles = blocks_of_hint(kernel), kernel.roles
    if blocks == 1 or roles is None:
        return _set_budgets(kernel, {})
    plan = context.plan(kernel)
    if followed_occupancy(kernel, context.target, plan.declared_bytes, plan.tensor_columns, context.remarks):
        if _set_budgets(kernel, {}):
            return True
        refusal = registers_refusal(max(_needed(roles)), sum(roles.warps), blocks)
        if refusal is None:
            return False
        context.remarks.append(unfollowed_occupancy(blocks, refusal, kernel.operation))
    del kernel.operation.attributes[OCCUPANCY]
    return _set_budgets(kernel, {})


def _needed(roles: RolesOp) -> list[int]:
    """The registers per thread that the code of each role needs.

    The scalars of a role without tiles of several elements are equal in all threads of a warp, for which ptxas has
    uniform registers: in 24 registers it spills none of roles whose scalars take 40.
    """
    return [_needed_in(region.blocks[0]) for region in roles.bodies.values()]


def _needed_in(body: ir.Block) -> int:
    tiles = {result.type for op in operations_of(body) for result in op.results if is_register_tile(result.type)}
    has_tiles = any(prod(tile.shape) > 1 for tile in tiles)
    needed = tile_peak(body).needed
    return needed if has_tiles else min(needed, LEAST_REGISTERS)


def registers_for(kernel: KernelOp, number: int, needed: int, options: CompileOptions) -> int:
    """The registers of each thread of a role whose code will need some: its budget, or an equal share.

    With the option `register_budgets`, roles without budgets get some first if an equal share is too small.
    """
    if needed > _present_registers(kernel, number) and options.register_budgets:
        _set_budgets(kernel, {number: needed})
    return _present_registers(kernel, number)


def _present_registers(kernel: KernelOp, number: int) -> int:
    roles = kernel.roles
    if roles is None or roles.registers is None:
        return registers_per_thread(kernel.warps if roles is None else sum(roles.warps))
    return roles.registers[number]


def _set_budgets(kernel: KernelOp, more: Mapping[int, int]) -> bool:
    """Sets the budgets of roles; `more` has registers that some roles, by number, will need at least.

    Returns False, without a change, if there are no roles, if they have budgets, need none or cannot have them, or if
    one in `more` would have too few.
    """
    roles = kernel.roles
    if roles is None or roles.registers is not None or any(op.name in CALLS for op in operations_inside(kernel)):
        return False
    needed = [max(registers, more.get(number, 0)) for number, registers in enumerate(_needed(roles))]
    budgets = chosen_budgets(list(roles.warps), needed, blocks_of_hint(kernel), least_registers(kernel))
    if budgets is None or any(budgets[number] < registers for number, registers in more.items()):
        return False
    roles.operation.attributes["registers"] = ir.DenseI32ArrayAttr.get(budgets, kernel.operation.context)
    return True
