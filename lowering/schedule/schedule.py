"""A schedule of a problem: the start and the role of each operation, and the depth of each ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilec.lowering.schedule.problem import Problem


@dataclass(frozen=True)
class Schedule:
    """Operation v of iteration n starts at start[v] + n * interval.

    Attributes:
        interval: the clocks from one iteration to the next.
        start: the start of each operation of iteration 0, in program order.
        role: the role of each operation; roles are numbered by their first operation.
        depth: the slots of each buffer; 0 for a buffer that lies in the slot of its overlay.
    """

    interval: int
    start: tuple[int, ...]
    role: tuple[int, ...]
    depth: tuple[int, ...]

    @cached_property
    def roles(self) -> int:
        return max(self.role) + 1

    def stage(self, number: int) -> int:
        """The number of whole intervals before the start of an operation."""
        return self.start[number] // self.interval


def numbered_by_first(roles: list[int]) -> tuple[int, ...]:
    """The roles, numbered in order of their first operation."""
    number = {role: position for position, role in enumerate(dict.fromkeys(roles))}
    return tuple(number[role] for role in roles)


def warps_of_roles(problem: Problem, role: tuple[int, ...]) -> list[int]:
    """The warps of each role: those of its operation with the most."""
    warps = [0] * (max(role) + 1)
    for operation, number in zip(problem.operations, role, strict=True):
        warps[number] = max(warps[number], operation.warps)
    return warps


@dataclass(frozen=True)
class RoleOrder:
    """The body of the loop of a role.

    Attributes:
        operations: the operations of the problem, in program order.
        advances: for each of them, by how many iterations it is further ahead than now; the least is 0.
    """

    operations: tuple[int, ...]
    advances: tuple[int, ...]

    def is_present(self) -> bool:
        """Whether the role has this order now, if its operations are numbered in program order."""
        return not any(self.advances) and list(self.operations) == sorted(self.operations)


def role_order(schedule: Schedule, role: int, ahead: Sequence[int]) -> RoleOrder:
    """The order of one role.

    A schedule repeats itself, so that a body may begin with any operation: here with the one that moves the fewest
    operations to earlier iterations.

    Args:
        schedule: a schedule of the loop.
        role: the number of the role.
        ahead: the iterations that each operation of the problem is ahead of the others in its role now.
    """
    numbers = [number for number, found in enumerate(schedule.role) if found == role]
    cycle = sorted(numbers, key=lambda number: (schedule.start[number] % schedule.interval, number))
    orders = [_beginning_at(schedule, cycle, first, ahead) for first in range(len(cycle))]
    return min(orders, key=lambda order: sum(order.advances))


def _beginning_at(schedule: Schedule, cycle: Sequence[int], first: int, ahead: Sequence[int]) -> RoleOrder:
    order = [*cycle[first:], *cycle[:first]]
    # An operation of a later stage executes an earlier iteration; operations at the end of the body are a stage later.
    stages = [schedule.stage(number) - int(place >= len(cycle) - first) for place, number in enumerate(order)]
    further = [-stage - ahead[number] for stage, number in zip(stages, order, strict=True)]
    return RoleOrder(tuple(order), tuple(count - min(further) for count in further))
