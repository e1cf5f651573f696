"""Where an operation is: its position in its block, and the loops and branches around it."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_in

LOOPS = ("scf.for", "scf.while")


def numbers_of(block: ir.Block) -> dict[ir.Operation, int]:
    """The operations of a block in program order, each with its number."""
    return {op: number for number, op in enumerate(operations_in(block))}


def operations_after(op: ir.Operation) -> list[ir.Operation]:
    """The operations of the block of an operation that follow it."""
    operations = operations_in(op.block)
    return operations[operations.index(op) + 1 :]


def is_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an operation of a kernel is inside of another one."""
    return op != outer and outer in path_to(op)


def ancestor_in(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The operation of a block that is, or contains, an operation below it."""
    while op.block != block:
        op = op.parent.operation
    return op


def is_repeated(op: ir.Operation) -> bool:
    """Whether a loop of the kernel contains an operation."""
    return bool(loops_around(op))


def loops_around(op: ir.Operation) -> list[ir.Operation]:
    """The loops of the kernel that contain an operation, from the outside in."""
    return [outer for outer in path_to(op)[:-1] if outer.name in LOOPS]


def path_to(op: ir.Operation) -> list[ir.Operation]:
    """The operations around an operation, from the kernel's block inwards, and the operation itself."""
    path, parent = [op], op.parent.operation
    while parent.name != KernelOp.OPERATION_NAME:
        path.append(parent)
        parent = parent.parent.operation
    return path[::-1]


def common_block(operations: Sequence[ir.Operation]) -> ir.Block:
    """The innermost block that contains all operations, perhaps in further blocks."""
    paths = [[outer.block for outer in path_to(op)] for op in operations]
    blocks = [found[0] for found in zip(*paths, strict=False) if all(block == found[0] for block in found)]
    return blocks[-1]


def body_of(loop: ir.Operation) -> ir.Block:
    """The block of a loop with its operations; the first block of an scf.while has its condition."""
    return loop.regions[len(loop.regions) - 1].blocks[0]
