"""The program order of each role that a schedule asks for, with the iterations that its operations are ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.lowering.schedule.schedule import Schedule


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
    behind = [schedule.stage(number) - int(place >= len(cycle) - first) for place, number in enumerate(order)]
    further = [-stage - ahead[number] for stage, number in zip(behind, order, strict=True)]
    return RoleOrder(tuple(order), tuple(count - min(further) for count in further))
