"""In loops with several `wgmma`, those that need nothing of the iteration are issued first, and waits come late.

before:   s = q @ k;  wait s;  p = f(s);  o += p @ v;  wait o;  t = g @ v;  wait t;  u = h(p, t)
after:    s = q @ k;  t = g @ v;  wait s;  p = f(s);  o += p @ v;  wait t;  u = h(p, t);  wait o

Warpgroups complete multiplies in the order of issue, so that a wait knows how many of the later ones are in flight.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import TMA, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, operations_inside, operations_of, users_of, with_inner
from tilec.lowering.gpu.ir.enclosing import LOOPS, ancestor_in
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.ir.slots import GET, VIEW, has_own_slots, step_of_buffer
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.pending_multiplies import MOST_PENDING
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.roles.register_budgets import registers_for
from tilec.lowering.gpu.schedule.legal_schedules import operations_of_body, write_schedules

_MULTIPLY, _WAIT = WgmmaOp.OPERATION_NAME, WgmmaWaitOp.OPERATION_NAME
_RELEASE = ReleaseOp.OPERATION_NAME
# Other roles may wait for a commit, for example the role of the loads for a number on which an address depends.
_COMMIT = PutCommitOp.OPERATION_NAME


def issue_early(kernel: KernelOp, context: Context) -> None:
    """Gives the loops of roles schedules; a loop stays whose sums would need more registers than its role has.

    Roles without register budgets get some if an equal share is too small, with the option `register_budgets`.
    """
    roles = kernel.roles
    if roles is None:
        return
    for number, region in enumerate(roles.bodies.values()):
        for loop in [op for op in operations_of(region.blocks[0]) if op.name == "scf.for"]:
            if order := _order(loop, kernel, number, context):
                write_schedules(kernel, {loop: order}, context)


def _order(loop: ir.Operation, kernel: KernelOp, number: int, context: Context) -> LoopOrder:
    """The order of a body; empty if it stays as it is. It is made in the body, and unmade."""
    body = loop.regions[0].blocks[0]
    before = operations_in(body)
    multiplies = _multiplies(before)
    if multiplies is None:
        return []
    present = _issued(loop)
    _issue_together(multiplies, body)
    _wait_late(body)
    order = _issued(loop)
    needed = tile_peak(body).needed
    for op in before[:-1]:
        op.move_before(before[-1])
    has_room = needed <= registers_for(kernel, number, needed, context.options)
    return [(op, 0) for op in order] if has_room and order != present else []


def _issued(loop: ir.Operation) -> list[ir.Operation]:
    return [op for op in operations_of_body(loop) if not is_rematerializable(op)]


def _multiplies(operations: Sequence[ir.Operation]) -> list[ir.Operation] | None:
    """The multiplies of a body, if there are several, and one wait in the body for each of them; else None."""
    multiplies = [op for op in operations if op.name == _MULTIPLY]
    waits = [op for op in operations if op.name == _WAIT]
    if not 1 < len(multiplies) <= MOST_PENDING or len(waits) != len(multiplies):
        return None
    if any(inner.name in (_MULTIPLY, _WAIT, *LOOPS) for op in operations for inner in operations_inside(op)):
        return None
    for op in multiplies:
        users = users_of(op.results[0])
        if (
            op.opview.promote
            or op.opview.metadata is not None
            or len(users) != 1
            or users[0] not in waits
            or users[0].opview.pending
        ):
            return None
        if any(_get_of(value) is None for value in op.operands if not is_register_tile(value.type)):
            return None
    return multiplies


def _get_of(buffer: ir.Value) -> ir.Operation | None:
    step = step_of_buffer(buffer)
    return step if step is not None and step.name == GET else None


# ---- multiplies


def _issue_together(multiplies: Sequence[ir.Operation], body: ir.Block) -> None:
    """Moves what needs nothing of the iteration, besides tiles that TMA loads, to after the first multiply."""
    first, *others = multiplies
    if _needed(first, body) is None:
        return
    last = first
    for op in others:
        needed = _needed(op, body)
        if needed is None:
            continue
        later = [each.operation for each in body.operations if each.operation in needed]
        later = [each for each in later if last.is_before_in_block(each)]
        if not all(_may_follow(last, each, body) for each in later if each.name == GET):
            continue
        for each in [*later, op]:
            each.move_after(last)
            last = each


def _may_follow(last: ir.Operation, get: ir.Operation, body: ir.Block) -> bool:
    """Whether a get can wait right after `last`: its slot is filled without what is between.

    A role that fills one slot of a channel per iteration needs no release of the same iteration.
    """
    operations = operations_in(body)
    between = operations[operations.index(last) + 1 : operations.index(get)]
    crossed = [inner for op in between for inner in with_inner(op)]
    released = [op.operands[0] for op in crossed if op.name == _RELEASE]
    return all(op.name != _COMMIT for op in crossed) and all(
        _has_one_slot(channel, body) for channel in [get.operands[0], *released]
    )


def _has_one_slot(channel: ir.Value, body: ir.Block) -> bool:
    """Whether each consumer gets at most one slot of a ring in an iteration, and no channel shares the ring."""
    gets = [op.opview.consumer for op in operations_of(body) if op.name == GET and op.operands[0] == channel]
    return has_own_slots(channel.owner.opview) and len(gets) == len(set(gets))


def _needed(multiply: ir.Operation, body: ir.Block) -> set[ir.Operation] | None:
    """The gets and the views of the operands of a multiply in its body; None if it needs more of an iteration."""
    found = set[ir.Operation]()
    waiting = list(multiply.operands)
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, ir.Block):
            if owner == body:
                return None
            continue
        op = owner.operation
        if op.block != body or op in found:
            continue
        if op.name == VIEW:
            waiting += op.operands
        elif op.name != GET or op.opview.channel.owner.opview.producer != TMA:
            return None
        found.add(op)
    return found


# ---- waits


def _wait_late(body: ir.Block) -> None:
    """Moves each wait to before the first use of its result, a release of a slot of its multiply, or the next wait.

    The waits have the order of the multiplies: when a later one is complete, those before it are too.
    """
    following = None
    for multiply in [op.operation for op in body.operations if op.operation.name == _MULTIPLY][::-1]:
        (wait,) = users_of(multiply.results[0])
        operations = operations_in(body)
        later = operations[operations.index(multiply) + 1 :]
        ends = {ancestor_in(use.owner.operation, body) for use in wait.results[0].uses} | {following, later[-1]}
        channels = {get.operands[0] for value in multiply.operands if (get := _get_of(value)) is not None}
        wait.move_before(next(op for op in later if op in ends or _releases(op, channels)))
        following = wait


def _releases(op: ir.Operation, channels: Collection[ir.Value]) -> bool:
    return any(each.name == _RELEASE and each.operands[0] in channels for each in with_inner(op))
