"""The schedule of a loop: an attribute of the operations of its body (README.md, Schedules)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tilec.dialect.cache import integers_of
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ROUNDS, SCHEDULE
from tilec.dialect.tile_gpu.ids import NamedOperations
from tilec.dialect.verify import noted
from tilec.dialect.walk import operations_in, operations_named

# The operations of a body in their order, each with the iterations by which it is ahead of the others.
LoopOrder: TypeAlias = "Sequence[tuple[ir.Operation, int]]"
_LOOP = "scf.for"


class Position(NamedTuple):
    """Where a schedule has an operation of a loop.

    Attributes:
        ahead: the iterations by which it is ahead of those with 0.
        order: its place among the operations of the body, of which the least is first.
    """

    ahead: int
    order: int


def position_of(op: ir.Operation) -> Position | None:
    """The position of an operation in the schedule of the loop around it; None without a schedule."""
    found = op.attributes.get(SCHEDULE)
    return None if found is None else Position(*integers_of(found))


def scheduled_loops(kernel: ir.OpView) -> list[ir.Operation]:
    """The loops in a kernel that have schedules, each before those inside of it."""
    return [loop.operation for loop in operations_named(kernel, (_LOOP,)) if _is_scheduled(loop.operation)]


def _is_scheduled(loop: ir.Operation) -> bool:
    return any(SCHEDULE in op.attributes for op in operations_in(loop.regions[0].blocks[0]))


def rounds_of(loop: ir.Operation) -> int:
    """The iterations that a loop executes together; 1 without the attribute."""
    return ir.IntegerAttr(loop.attributes[ROUNDS]).value if ROUNDS in loop.attributes else 1


def set_schedule(loop: ir.Operation, order: LoopOrder, rounds: int = 1) -> None:
    """Gives the operations of a loop this order, and the loop rounds of some iterations."""
    for number, (op, ahead) in enumerate(order):
        op.attributes[SCHEDULE] = ir.DenseI32ArrayAttr.get([ahead, number], op.context)
    if rounds > 1:
        loop.attributes[ROUNDS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, loop.context), rounds)


def remove_schedule(operations: Sequence[ir.Operation]) -> None:
    """Removes the positions of operations that have one."""
    for op in operations:
        if SCHEDULE in op.attributes:
            del op.attributes[SCHEDULE]


def schedule_problem(operations: NamedOperations) -> str | None:
    """The problem with the schedules in a kernel, or None."""
    for op, name in operations:
        if ROUNDS in op.attributes and (problem := _rounds_problem(op, name)):
            return problem
    scheduled = [op for op, _ in operations if SCHEDULE in op.attributes]
    if not scheduled:
        return None
    bodies: defaultdict[ir.Operation, dict[int, ir.Operation]] = defaultdict(dict)
    for op in scheduled:
        if problem := _position_problem(op):
            return noted(problem, "the operation is", op)
        position, loop = position_of(op), op.parent.operation
        assert position is not None, "the operation has a schedule"
        other = bodies[loop].setdefault(position.order, op)
        if other is not op:
            return noted(f"two operations of a loop have order {position.order} in its schedule", "the second is", op)
    return next((problem for op in scheduled if (problem := _operand_problem(op))), None)


def _rounds_problem(op: ir.Operation, name: str) -> str | None:
    attribute = op.attributes[ROUNDS]
    if name != _LOOP:
        return f"{ROUNDS} must be on {_LOOP}, but is on {name}"
    if not isinstance(attribute, ir.IntegerAttr) or attribute.value < 2:
        return f"{ROUNDS} must be an integer from 2 on, the iterations of a round, but is {attribute}"
    return None


def _position_problem(op: ir.Operation) -> str | None:
    attribute = op.attributes[SCHEDULE]
    if not isinstance(attribute, ir.DenseI32ArrayAttr) or len(attribute) != len(Position._fields):
        return f"{SCHEDULE} must be array<i32: iterations ahead, order>, but is {attribute}"
    if min(attribute) < 0:
        return f"{SCHEDULE} must have no negative number, but is {attribute}"
    if op.parent is None or op.parent.operation.name != _LOOP:
        return f"{SCHEDULE} must be on operations of the body of {_LOOP}"
    return None


def _operand_problem(op: ir.Operation) -> str | None:
    """The problem with an operand of an operation that is computed later, or in a later iteration, or None."""
    user = position_of(op)
    assert user is not None, "the operation has a schedule"
    for value in op.operands:
        owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
        source = None if owner is None or owner.block != op.block else position_of(owner)
        if source is None or source.ahead > user.ahead or source.ahead == user.ahead and source.order < user.order:
            continue
        problem = f"the schedule has an operation at {tuple(user)}, and what computes its operand at {tuple(source)}"
        return noted(problem, "the operation is", op)
    return None
