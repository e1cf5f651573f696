"""Each role with registers of its own computes the short scalars that it uses, which were computed before all roles.

ptxas 13.0 and 13.5 keep values that are live across setmaxnreg in registers that threads have at launch, and spill
them if those are too few: 18 loads and 2 stores in causal attention of 256x128 keys on sm_100a. A scalar that only the
epilogue uses is computed after the loops, where attention of 256 columns on sm_90a needs all registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import DECLARATIONS
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_in, owner_of
from tilec.lowering.gpu.ir.enclosing import LOOPS, ancestor_in, path_to
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
    blocks = (region.blocks[0] for region in kernel.roles.bodies.values())
    loops = {block: [op for op in operations_in(block) if op.name in LOOPS] for block in blocks}
    # A copy uses operands before the roles, which are copied after it.
    for op in reversed(_short_scalars(operations[: operations.index(roles)])):
        _copy_to_roles(op, roles, loops)
    return True


def _short_scalars(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Scalars of few instructions, whose operands are parameters, constants, declarations or such scalars."""
    found: list[ir.Operation] = []
    available = {op for op in operations if op.name == _CONSTANT or op.name in DECLARATIONS}
    for op in operations:
        owners = [owner for value in op.operands if (owner := owner_of(value)) is not None]
        if op not in available and _is_short(op) and available.issuperset(owners):
            available.add(op)
            found.append(op)
    return found


def _is_short(op: ir.Operation) -> bool:
    if op.name in _DIVISIONS:
        divisor = owner_of(op.operands[1])
        return divisor is not None and divisor.name == _CONSTANT
    return is_rematerializable(op) and not op.name.startswith("math.")


def _copy_to_roles(op: ir.Operation, roles: ir.Operation, loops: Mapping[ir.Block, Sequence[ir.Operation]]) -> None:
    """Gives each role that uses a scalar a copy at its start, or after those of its loops before the first use."""
    uses = defaultdict[ir.Block, list[tuple[ir.Operation, int]]](list)
    for use in list(op.results[0].uses):
        block = _role_around(use.owner.operation, roles)
        if block is not None:
            uses[block].append((use.owner.operation, use.operand_number))
    for block, used in uses.items():
        copy = op.clone(ip=_place(block, loops[block], [user for user, _ in used]))
        for user, number in used:
            user.operands[number] = copy.results[0]
    if not any(list(result.uses) for result in op.results):
        op.erase()


def _place(block: ir.Block, loops: Iterable[ir.Operation], users: Iterable[ir.Operation]) -> ir.InsertionPoint:
    """After the loops of a role that end before the first use: a scalar that is live in them takes a register."""
    using = {ancestor_in(user, block) for user in users}
    before = [loop for loop in loops if loop not in using and all(map(loop.is_before_in_block, using))]
    return ir.InsertionPoint.after(before[-1]) if before else ir.InsertionPoint.at_block_begin(block)


def _role_around(op: ir.Operation, roles: ir.Operation) -> ir.Block | None:
    """The block of the role that contains an operation; None before the roles."""
    outermost, *inside = path_to(op)
    return inside[0].block if outermost == roles else None
