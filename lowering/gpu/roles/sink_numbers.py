"""Tiles that are computed from numbers of elements alone are computed again in a loop around inner loops.

before:   %i = iota;  %d = subi %i, %j;  for .. { use %d;  for .. { .. } }
after:    for .. { %i = iota;  %d = subi %i, %j;  use %d;  for .. { .. } }

Upstream hoists them out of all loops, so that they need registers in the inner loops. Only roles that lack registers
compute them again, and never in an innermost loop.
"""

from __future__ import annotations

from math import prod

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, interface_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.registers import registers_per_thread
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, operations_inside, owner_of, users_of
from tilec.lowering.gpu.memory.live_tiles import tile_peak

_LOOPS = ("scf.for", "scf.while")


def sink_numbers(kernel: KernelOp) -> None:
    """Rewrites a kernel in place after upstream's clean-up, which hoists the operations again."""
    roles = kernel.roles
    if roles is None:
        return
    share = registers_per_thread(sum(roles.warps))
    for number, region in enumerate(roles.bodies.values()):
        body = region.blocks[0]
        if not any(map(_has_inner_loops, operations_in(body))):
            continue
        available = share if roles.registers is None else roles.registers[number]
        if tile_peak(body).needed > available:
            for op in reversed(operations_in(body)):
                _sink(op)


def _sink(op: ir.Operation) -> None:
    users = [user for result in op.results for user in users_of(result)]
    blocks = list(dict.fromkeys(user.block for user in users))
    if len(blocks) != 1 or not _is_numbers(op):
        return
    loop = blocks[0].owner.operation
    if loop.block != op.block or not _has_inner_loops(loop):
        return
    first = next(other for other in operations_in(blocks[0]) if other in users)
    op.move_before(first)


def _has_inner_loops(op: ir.Operation) -> bool:
    """Whether an operation is a loop around other loops."""
    return op.name in _LOOPS and any(inner.name in _LOOPS for inner in operations_inside(op))


def _is_numbers(op: ir.Operation) -> bool:
    """Whether an operation computes a tile of several elements from none that is loaded."""
    if interface_of(op.name).category not in (Category.ARITHMETIC, Category.MOVE) or len(op.results) != 1:
        return False
    type, tiles = op.results[0].type, [value for value in op.operands if is_register_tile(value.type)]
    makers = [owner_of(tile) for tile in tiles]
    return (
        is_register_tile(type) and prod(type.shape) > 1
        and all(maker is not None and (maker.name == "arith.constant" or _is_numbers(maker)) for maker in makers)
    )  # fmt: skip
