"""Names of loops that are the same in all roles of a kernel."""

from __future__ import annotations

from collections import Counter

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_of
from tilec.lowering.gpu.ir.enclosing import LOOPS


def loop_names(kernel: KernelOp) -> dict[ir.Operation, str]:
    """The name of each loop: its id, and its number among the loops of its role with that id."""
    block, roles = kernel.body.blocks[0], kernel.roles
    blocks = [block] if roles is None else [region.blocks[0] for region in roles.bodies.values()]
    return {op: name for outer in blocks for op, name in loops_of_role(outer).items()}


def loops_of_role(block: ir.Block) -> dict[ir.Operation, str]:
    """The name of each loop in the code of one role, in program order."""
    names = {}
    numbers: Counter[int | None] = Counter()
    for op in operations_of(block):
        if op.name in LOOPS:
            id = id_of(op)
            names[op] = f"{id} {numbers[id]}"
            numbers[id] += 1
    return names
