"""Each role with registers of its own computes the short scalars that it uses, which were computed in front of all.

ptxas 13.0 and 13.5 keep values that are live across setmaxnreg in registers that threads have at launch, and spill
them if those are too few: 18 loads and 2 stores in causal attention of 256x128 keys on sm_100a. A scalar that only the
epilogue uses is computed behind the loops, where attention of 256 columns on sm_90a needs all registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import DECLARATIONS
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_in
from tilec.lowering.gpu.ir.enclosing import LOOPS, ancestor_in
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.kernel_pass import Context

_CONSTANT = "arith.constant"
# Sequences of many instructions, unless the divisor is a constant.
_DIVISIONS = (
    *("arith.ceildivsi", "arith.ceildivui", "arith.divf", "arith.divsi", "arith.divui"),
    *("arith.floordivsi", "arith.remf", "arith.remsi", "arith.remui"),
)


def repeat_scalars(kernel: KernelOp, _context: Context) -> bool:
    """Rewrites a tile_gpu.kernel in place; returns False if its roles have equally many registers."""
    if kernel.roles is None or kernel.roles.registers is None:
        return False
    operations = operations_in(kernel.body.blocks[0])
    roles = kernel.roles.operation
    # A copy uses operands in front of the roles, which are copied after it.
    for op in reversed(_short_scalars(operations[: operations.index(roles)])):
        _copy_to_roles(op, roles)
    return True


def _short_scalars(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Scalars of few instructions, whose operands are parameters, constants, declarations or such scalars."""
    found: list[ir.Operation] = []
    available = {op for op in operations if op.name == _CONSTANT or op.name in DECLARATIONS}
    for op in operations:
        owners = [value.owner for value in op.operands if not isinstance(value.owner, ir.Block)]
        if op not in available and _is_short(op) and all(owner.operation in available for owner in owners):
            available.add(op)
            found.append(op)
    return found


def _is_short(op: ir.Operation) -> bool:
    if op.name in _DIVISIONS:
        divisor = op.operands[1].owner
        return not isinstance(divisor, ir.Block) and divisor.operation.name == _CONSTANT
    return is_rematerializable(op) and not op.name.startswith("math.")


def _copy_to_roles(op: ir.Operation, roles: ir.Operation) -> None:
    """Gives each role that uses a scalar a copy at its start, or behind the loops in front of its first use."""
    uses = defaultdict[ir.Block, list[tuple[ir.Operation, int]]](list)
    for use in list(op.results[0].uses):
        block = _role_around(use.owner.operation, roles)
        if block is not None:
            uses[block].append((use.owner.operation, use.operand_number))
    for block, used in uses.items():
        copy = op.clone(ip=_place(block, [user for user, _ in used]))
        for user, number in used:
            user.operands[number] = copy.results[0]
    if not any(list(result.uses) for result in op.results):
        op.erase()


def _place(block: ir.Block, users: Iterable[ir.Operation]) -> ir.InsertionPoint:
    """Behind the loops of a role that end in front of the first use: a scalar that waits there takes a register."""
    using = {ancestor_in(user, block) for user in users}
    loop: ir.Operation | None = None
    for op in block.operations:
        if op.operation in using:
            break
        if op.operation.name in LOOPS:
            loop = op.operation
    return ir.InsertionPoint.at_block_begin(block) if loop is None else ir.InsertionPoint.after(loop)


def _role_around(op: ir.Operation, roles: ir.Operation) -> ir.Block | None:
    """The block of the role that contains an operation; None in front of the roles."""
    while op.parent.operation != roles:
        op = op.parent.operation
        if op.name == KernelOp.OPERATION_NAME:
            return None
    return op.block
