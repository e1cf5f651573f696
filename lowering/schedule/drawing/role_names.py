"""The names of the roles of a schedule, for charts and for kernels."""

from __future__ import annotations

from tilec.lowering.schedule.parts import Kind
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.schedule import Schedule

_NAMES = {Kind.STREAM: "load", Kind.ISSUE: "mma", Kind.TILE: "compute"}


def role_names(problem: Problem, schedule: Schedule) -> tuple[str, ...]:
    """One name per role: the one that the user wrote, or that of the class; numbered if several are alike."""
    names = [_name(problem, schedule, role) for role in range(schedule.roles)]
    return tuple(
        f"{name}{names[:role].count(name)}" if names.count(name) > 1 else name for role, name in enumerate(names)
    )


def _name(problem: Problem, schedule: Schedule, role: int) -> str:
    operations = [
        operation for operation, number in zip(problem.operations, schedule.role, strict=True) if number == role
    ]
    if written := next((operation.role for operation in operations if operation.role), ""):
        return written
    if operations[0].kind == Kind.TILE and all(operation.is_rare for operation in operations):
        return "correction"
    if operations[0].kind == Kind.TILE and max(operation.warps for operation in operations) == 1:
        return "store"
    return _NAMES[operations[0].kind]
