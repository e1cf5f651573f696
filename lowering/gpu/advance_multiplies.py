"""In the role `mma`, multiplies that need only loads run one iteration ahead of those that wait for threads.

before:   for i { s = q @ k(i);  o = p(i) @ v(i) }                  the unit waits while threads compute p(i) from s(i)
after:    s(0);  for i { s(i + 1) if it exists;  o = p(i) @ v(i) }    s(i + 1) is multiplied meanwhile

The sums of the advanced multiplies need a second slot: those of iteration i - 1 are released before the threads put
p(i - 1), for which the role has waited when it issues iteration i + 1. So no wait is for an operation after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MMA, THREADS, TMA, MakeChannelOp
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.iterations_ahead import set_iterations_ahead
from tilec.lowering.gpu.operation_role import MULTIPLY, TENSOR_CORE_OPERATIONS, is_rematerializable
from tilec.lowering.gpu.other_iteration import copy_for, scalars_behind
from tilec.lowering.tile_to_gpu import emitter

_STEPS = ("tile_gpu.put_begin", "tile_gpu.put_commit", "tile_gpu.get", "tile_gpu.release")


def advance_multiplies(kernel: KernelOp) -> None:
    """Rewrites the loops of the role `mma` in place, where that is possible."""
    for op in kernel.body.blocks[0].operations:
        if op.operation.name == "tile_gpu.roles" and MULTIPLY in op.bodies:
            block = op.bodies[MULTIPLY].blocks[0]
            found = [inner.operation for each in block.operations for inner in (each, *operations_below(each))]
            for loop in [inner for inner in found if inner.name == "scf.for"]:
                _advance(loop)


def _advance(loop: ir.Operation) -> None:
    body = loop.regions[0].blocks[0]
    operations = [op.operation for op in body.operations][:-1]
    group = _leading(operations)
    if not group or not _may_run_ahead(group, operations):
        return
    scalars = scalars_behind(group, body)
    if scalars is None:
        return
    copied = [op for op in operations if op in scalars or op in group]
    lower, upper, step = list(loop.operands)[:3]
    with loop.location:
        with ir.InsertionPoint(loop):
            runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
            with emitter.only_if(runs):
                copy_for(copied, body.arguments[0], lower)
        with ir.InsertionPoint(group[0]):
            # Without overflow: the difference of counter and bound is exact as an unsigned number.
            left = emitter.binary("arith.subi", upper, body.arguments[0])
            with emitter.only_if(emitter.less_than(step, left, unsigned=True)) as branch:
                set_iterations_ahead(branch, 1)
                following = emitter.binary("arith.addi", body.arguments[0], step)
                copy_for(copied, body.arguments[0], following)
    for op in reversed(group):
        op.erase()


def _leading(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The operations before the first that waits for threads, without those whose results follow it."""
    number = next((number for number, op in enumerate(operations) if _waits_for_threads(op)), 0)
    group = [op for op in operations[:number] if not is_rematerializable(op)]
    while group and (later := next((op for op in reversed(group) if _is_used_outside(op, group)), None)) is not None:
        group.remove(later)
    views = [op for op in operations[:number] if op.name == "tile_gpu.view_buffer"]
    return [op for op in operations if op in group or op in views and not _is_used_outside(op, group)]


def _waits_for_threads(op: ir.Operation) -> bool:
    return op.name == "tile_gpu.get" and _channel(op).producer == THREADS


def _is_used_outside(op: ir.Operation, group: Sequence[ir.Operation]) -> bool:
    """Whether an operation that is not in the group uses a result, perhaps through a view."""
    for result in op.results:
        for use in result.uses:
            user = use.owner.operation
            if user.name == "tile_gpu.view_buffer":
                if _is_used_outside(user, group):
                    return True
            elif user not in group:
                return True
    return False


def _may_run_ahead(group: Sequence[ir.Operation], operations: Sequence[ir.Operation]) -> bool:
    """Whether the group and the rest multiply, have no ring in common, and the group fills slots of its own."""
    rest = [op for op in operations if op not in group]
    if any(op.name not in (*_STEPS, *TENSOR_CORE_OPERATIONS, "tile_gpu.view_buffer") for op in group):
        return False
    if not all(any(_multiplies(op) for op in part) for part in (group, rest)):
        return False
    # Two multiplies into one accumulator keep their order.
    filled = [result for op in group if op.name == "tile_gpu.put_begin" for result in op.results]
    if any(op.operands[0] not in filled for op in group if op.name in TENSOR_CORE_OPERATIONS):
        return False
    channels = {_ring(op) for op in group if op.name in _STEPS}
    inside = [inner.operation for op in rest for inner in (op.opview, *operations_below(op.opview))]
    if any(_ring(op) in channels for op in inside if op.name in _STEPS):
        return False
    return all(_is_fed(channel.owner.opview) for channel in channels)


def _multiplies(op: ir.Operation) -> bool:
    operations = (op, *(inner.operation for inner in operations_below(op.opview)))
    return any(inner.name in TENSOR_CORE_OPERATIONS for inner in operations)


def _is_fed(channel: MakeChannelOp) -> bool:
    """Whether a ring is filled by loads, or has a slot for the next sums beside the present ones."""
    return channel.reuse == "ring" and (channel.producer == TMA or channel.producer == MMA and channel.stages >= 2)


def _channel(op: ir.Operation) -> MakeChannelOp:
    return op.operands[0].owner.opview


def _ring(op: ir.Operation) -> ir.Value:
    """The channel whose slots an operation uses."""
    channel = _channel(op)
    return op.operands[0] if channel.shares is None else channel.shares
