"""The orders of the roles of a loop that may be faster: those of a schedule, and of multiplies that run ahead."""

from __future__ import annotations

from collections.abc import Callable

from tilec.lowering.gpu.ir.enclosing import ancestor_in
from tilec.lowering.gpu.ir.operation_role import LOAD, MULTIPLY
from tilec.lowering.gpu.schedule.advance_multiplies import order_ahead
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem
from tilec.lowering.schedule.schedule import RoleOrder, Schedule, role_order

# Operations have as many copies before the loop as they are iterations ahead.
_MOST_ADVANCE = 3
# The roles that get another order, from the least change of the code on.
_VARIANTS: tuple[Callable[[str], bool], ...] = (
    lambda role: False,
    lambda role: role == MULTIPLY,
    lambda role: role in (LOAD, MULTIPLY),
    lambda role: role != LOAD,
    lambda role: True,
)


def variants(found: LoopProblem, schedule: Schedule) -> list[dict[str, RoleOrder]]:
    """The orders that a schedule asks for in some roles, where they are new; each choice of roles is there once.

    Warpgroups of one role have the order of the first.
    """
    first = {part.loop.operation: number for number, part in reversed(list(enumerate(found.parts)))}
    wanted = {found.roles[each]: role_order(schedule, schedule.role[each], found.ahead) for each in first.values()}
    new = {role: order for role, order in wanted.items() if not order.is_present()}
    chosen = dict.fromkeys(tuple(filter(has_new_order, new)) for has_new_order in _VARIANTS)
    far = {role for role, order in new.items() if max(order.advances) > _MOST_ADVANCE}
    return [{role: new[role] for role in roles} for roles in chosen if far.isdisjoint(roles)]


def order_of_late_sums(found: LoopProblem) -> dict[str, RoleOrder]:
    """The order in which multiplies that run ahead follow the others, for which threads may wait; empty if it is so."""
    numbers = [number for number, role in enumerate(found.roles) if role == MULTIPLY]
    order = RoleOrder(tuple(sorted(numbers, key=lambda number: found.ahead[number] > 0)), (0,) * len(numbers))
    return {} if order.is_present() else {MULTIPLY: order}


def order_of_first_multiplies(found: LoopProblem) -> dict[str, RoleOrder]:
    """The order in which multiplies that need only loads run ahead, where rings have few slots for these loads."""
    numbers = [number for number, role in enumerate(found.roles) if role == MULTIPLY]
    loops = {found.parts[number].loop.operation for number in numbers}
    order = order_ahead(next(iter(loops))) if len(loops) == 1 else None
    if order is None:
        return {}
    body = loops.pop().regions[0].blocks[0]
    places = {op: (rank, ahead) for rank, (op, ahead) in enumerate(order)}
    first = {number: min(places[ancestor_in(op, body)] for op in found.members[number]) for number in numbers}
    numbers.sort(key=first.__getitem__)
    return {MULTIPLY: RoleOrder(tuple(numbers), tuple(first[number][1] for number in numbers))}
