"""The answer to a scheduling problem: the schedule, the bound, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tilec.lowering.schedule.bound import Bound
from tilec.lowering.schedule.schedule import Schedule


class How(StrEnum):
    """The method that found a schedule."""

    # The code as it is: each role in program order, with the present rings.
    PRESENT = "present"
    LIST = "list"
    # The solver, with roles by rule.
    EXACT = "exact"
    # The solver, with roles of its own choice.
    JOINT = "joint"


@dataclass(frozen=True)
class Answer:
    """A verified schedule.

    Attributes:
        bound: the interval that no schedule is below, and why.
        how: the method that found the schedule.
        is_proven: whether no schedule (with roles by rule, unless `how` is joint) has a smaller interval.
        remarks: why a better method was not used.
        is_stored: whether it was read from a cache.
    """

    schedule: Schedule
    bound: Bound
    how: How
    is_proven: bool
    remarks: tuple[str, ...] = ()
    is_stored: bool = False
