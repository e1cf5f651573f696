"""The rules of schedules (README.md, Schedules): an order of the operations of a loop obeys them, or is not written.

An operation with a position (ahead, order) is executed for iteration i in iteration i - ahead of the expanded loop, at
its place in the order. An operation that follows another one of the same iteration, or of an earlier one, has to be
executed after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder, Position, position_of, rounds_of, scheduled_loops, set_schedule
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.walk import operations_in, operations_inside, terminator_of, with_inner
from tilec.errors import VerificationError
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.ir.early_loads import early_loads, with_addresses
from tilec.lowering.gpu.ir.enclosing import ancestor_in
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.kernel_pass import Context, State
from tilec.lowering.gpu.loops.late_waits import LateWaits, late_waits
from tilec.lowering.gpu.loops.pending_multiplies import can_count_pending
from tilec.lowering.gpu.loops.reorder_body import access_dependences
from tilec.lowering.gpu.schedule.role_liveness import liveness

_MULTIPLY, _WAIT = WgmmaOp.OPERATION_NAME, WgmmaWaitOp.OPERATION_NAME


def write_schedules(
    kernel: KernelOp, orders: Mapping[ir.Operation, LoopOrder], context: Context, *, rounds: int = 1
) -> bool:
    """Gives loops schedules, if these are legal; returns whether they are."""
    if not are_legal(kernel, orders, context, rounds=rounds):
        return False
    write_legal_schedules(orders, context, rounds=rounds)
    return True


def write_legal_schedules(orders: Mapping[ir.Operation, LoopOrder], context: Context, *, rounds: int = 1) -> None:
    """Gives loops schedules of which are_legal() holds, and those of other loops are legal, too."""
    for loop, order in orders.items():
        set_schedule(loop, order, rounds)
    context.scheduled()


def are_legal(kernel: KernelOp, orders: Mapping[ir.Operation, LoopOrder], context: Context, *, rounds: int = 1) -> bool:
    """Whether loops may have orders: each obeys the rules of schedules, and all roles still terminate.

    Other loops that have schedules already are as these say.
    """
    if any(schedule_error(loop, order, rounds) is not None for loop, order in orders.items()):
        return False
    moved = _with_moved_steps(orders, rounds)
    if not moved:
        return True
    others = {} if context.holds(State.EXPANDED, kernel) else _moved_steps(kernel)
    return liveness(kernel, {loop: order for loop, order in others.items() if loop not in orders} | moved).is_proven


def is_live(kernel: KernelOp) -> bool:
    """Whether it is proven that all roles terminate, with loops as their schedules say."""
    return liveness(kernel, _moved_steps(kernel)).is_proven


def _moved_steps(kernel: KernelOp) -> dict[ir.Operation, LoopOrder]:
    """The orders of the loops of a kernel whose schedules move steps on channels."""
    moved = dict[ir.Operation, LoopOrder]()
    for loop in scheduled_loops(kernel):
        moved |= _with_moved_steps({loop: present_order(loop)}, rounds_of(loop))
    return moved


def _with_moved_steps(orders: Mapping[ir.Operation, LoopOrder], rounds: int) -> dict[ir.Operation, LoopOrder]:
    """The orders but those where loads of threads alone are ahead, and steps on channels are where they were."""
    return {loop: order for loop, order in orders.items() if rounds == 1 and not only_loads_are_ahead(loop, order)}


def only_loads_are_ahead(loop: ir.Operation, order: LoopOrder) -> bool:
    """Whether an order has loads of threads ahead, with their addresses, and all else in the order of the program.

    The loads may run early, all by as many iterations, and the difference of two counters is known.
    """
    step = constant_of(loop.operands[2])
    if len({count for _, count in order if count}) != 1 or step is None or step <= 0:
        return False
    body = loop.regions[0].blocks[0]
    ahead = [op for op, count in order if count]
    loads = early_loads(ahead, body)
    others = [op for op, count in order if not count]
    late = set(others)
    in_program_order = [op for op in operations_of_body(loop) if op in late]
    return others == in_program_order and {*ahead} <= {each for op in loads for each in with_addresses(op, body)}


def only_waits_are_late(loop: ir.Operation, order: LoopOrder) -> LateWaits | None:
    """The waits of a loop, if an order has all else an iteration ahead and is that of the program; else None."""
    found = late_waits(loop) if any(op.name == _WAIT for op, _ in order) else None
    return found if found is not None and found.order() == order else None


def operations_of_body(loop: ir.Operation) -> list[ir.Operation]:
    """The operations of a body, without the terminator."""
    return operations_in(loop.regions[0].blocks[0])[:-1]


def present_order(loop: ir.Operation) -> LoopOrder:
    """The order that the attributes of the operations of a body say."""
    return order_of(loop, map(position_of, operations_of_body(loop)))


def order_of(loop: ir.Operation, positions: Iterable[Position | None]) -> LoopOrder:
    """The operations of a body that have positions in their order, each with the iterations by which it is ahead."""
    found = [(op, each) for op, each in zip(operations_of_body(loop), positions, strict=True) if each is not None]
    return [(op, each.ahead) for op, each in sorted(found, key=lambda pair: pair[1].order)]


def missing_position(loop: ir.Operation, order: LoopOrder) -> VerificationError | None:
    """The first operation of a loop that an order lacks; None if it lacks scalar arithmetic alone."""
    positioned = {op for op, _ in order}
    for op in operations_of_body(loop):
        if op not in positioned and not is_rematerializable(op):
            return _error(op, "has no schedule, as all operations of its loop have that are not scalar arithmetic")
    return None


def schedule_error(loop: ir.Operation, order: LoopOrder, rounds: int = 1) -> VerificationError | None:
    """The rule that an order of the operations of a loop breaks, or None."""
    if error := missing_position(loop, order):
        return error
    positions = {op: Position(ahead, number) for number, (op, ahead) in enumerate(order)}
    body = loop.regions[0].blocks[0]
    if rounds > 1 and any(op.name in STEPS for op in operations_inside(loop)):
        return _error(loop, "has rounds of several iterations, and steps on channels, each of which has one slot")
    if rounds > 1 or only_loads_are_ahead(loop, order):
        return _first_error(_dependences(loop, positions), positions, rounds)
    if only_waits_are_late(loop, order) is not None:
        return None
    waits = [(op, op.operands[0].owner) for op, _ in order if op.name == _WAIT]
    if not can_count_pending(body) or any(
        positions[wait].ahead != positions[owner.operation].ahead for wait, owner in waits
    ):
        return _error(loop, "has a schedule, and awaits multiplies of warpgroups in another iteration")
    for op, position in positions.items():
        if any(_is_passed(result, position, positions, body) for result in op.results):
            return _error(loop, "has a schedule that passes a buffer to another iteration")
    if error := _first_error(_dependences(loop, positions), positions):
        return error
    issued = [op for op, _ in order if op.name == _MULTIPLY]
    for wait, (_, owner), multiply in zip((wait for wait, _ in waits), waits, issued, strict=True):
        if owner.operation != multiply:
            return _error(wait, "awaits multiplies of warpgroups in another order than that of their issue")
    return None


def _first_error(
    dependences: Iterator[_Dependence], positions: Mapping[ir.Operation, Position], rounds: int = 1
) -> VerificationError | None:
    return next((error for each in dependences if (error := each.error(positions, rounds))), None)


@dataclass(frozen=True)
class _Dependence:
    """An operation that is executed after another one, of `distance` iterations before."""

    source: ir.Operation
    target: ir.Operation
    distance: int = 0

    def error(self, positions: Mapping[ir.Operation, Position], rounds: int) -> VerificationError | None:
        source, target = positions[self.source], positions[self.target]
        ahead = target.ahead - self.distance
        if ahead > source.ahead:
            return self._broken("is more iterations ahead than")
        # In the first iteration of a round, what is further ahead is not executed earlier.
        is_together = ahead == source.ahead or rounds > 1 and ahead >= 0
        if is_together and target.order < source.order:
            return self._broken("precedes")
        return None

    def _broken(self, how: str) -> VerificationError:
        where = source_location(self.source.location)
        source = f"{self.source.name}{'' if where is None else f' ({where})'}"
        return _error(self.target, f"{how} {source} in the schedule, on which it depends")


def _dependences(loop: ir.Operation, positions: Mapping[ir.Operation, Position]) -> Iterator[_Dependence]:
    """What operations with positions follow: their operands, accesses of the same place, and reads of registers."""
    operations = operations_of_body(loop)
    for number, before, distance in sorted(access_dependences(operations), key=lambda found: (found[2], *found)):
        yield _Dependence(operations[before], operations[number], distance)
    for op in positions:
        for inner in with_inner(op):
            for value in inner.operands:
                yield from (_Dependence(source, op, distance) for source, distance in _sources(value, loop))
        if op.name == _WAIT:
            yield from _rewrites(op, loop, positions)


def _rewrites(
    wait: ir.Operation, loop: ir.Operation, positions: Mapping[ir.Operation, Position]
) -> Iterator[_Dependence]:
    """A tile that is carried to the multiply of a wait is computed again, in the same registers, after the wait."""
    multiply = wait.operands[0].owner.operation
    for value in multiply.operands:
        for source, distance in _sources(value, loop):
            iterations = distance + positions[source].ahead - positions[multiply].ahead
            if is_register_tile(value.type) and iterations == 1:
                yield _Dependence(wait, source, positions[source].ahead - positions[wait].ahead)


def _sources(value: ir.Value, loop: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """The operations that compute a value, through scalar arithmetic and views, each of some iterations before."""
    body = loop.regions[0].blocks[0]
    arguments, yielded = list(body.arguments), terminator_of(body)
    waiting, known = [(value, 0)], set[ir.Value]()
    while waiting:
        value, distance = waiting.pop(0)
        if value in known:
            continue
        known.add(value)
        if isinstance(value.owner, ir.Block):
            if value.owner == body and value != arguments[0]:
                waiting.append((yielded.operands[arguments.index(value) - 1], distance + 1))
            continue
        op = value.owner.operation
        if op.block != body:
            continue
        if is_rematerializable(op):
            # The shortest distances come first.
            waiting[:0] = [(operand, distance) for operand in op.operands]
        else:
            yield op, distance


def _is_passed(
    result: ir.Value, position: Position, positions: Mapping[ir.Operation, Position], body: ir.Block
) -> bool:
    """Whether a buffer is in use in a later iteration of the expanded loop than that which computes it."""
    if is_register_tile(result.type) or is_scalar(result.type):
        return False
    for user in {ancestor_in(use.owner.operation, body) for use in result.uses}:
        if user not in positions and len(user.results):
            # A view of the buffer, which is made where it is used.
            if any(_is_passed(view, position, positions, body) for view in user.results):
                return True
        elif (positions[user].ahead if user in positions else 0) < position.ahead:
            return True
    return False


def _error(op: ir.Operation, problem: str) -> VerificationError:
    return VerificationError(f"{op.name} {problem}", source_location(op.location))
