"""A schedule as a chart: one row per role and per unit, over one interval of the steady state, as text."""

from __future__ import annotations

import string
from collections.abc import Iterator

from tilec.lowering.schedule.parts import Kind
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.schedule import Schedule, warps_of_roles
from tilec.lowering.schedule.store import Answer

_NAMES = {Kind.STREAM: "load", Kind.ISSUE: "mma", Kind.TILE: "compute"}
# The columns of a chart.
WIDTH = 80
_SYMBOLS = string.ascii_lowercase + string.ascii_uppercase + string.digits
# Marks a column that several operations occupy for equally long.
_SEVERAL = "*"

# A row: its name, and its occupants: the operation, its start, and its clocks.
Row = tuple[str, list[tuple[int, int, int]]]


def summary(answer: Answer) -> str:
    """The interval, the bound, and the method that found the schedule, in one line."""
    proof = "least" if answer.is_proven and answer.schedule.interval > answer.bound.interval else ""
    known = ", proven to be the least for these roles" if proof else ""
    stored = ", stored" if answer.is_stored else ""
    return (
        f"interval {answer.schedule.interval} clocks{known} ({answer.how}{stored}); "
        f"bound {answer.bound.interval}: {answer.bound.reason}"
    )


def text_chart(problem: Problem, schedule: Schedule) -> str:
    """The rows of a schedule in WIDTH columns, and the meaning of each symbol.

    A column has the symbol of the operation that occupies most of it, or '.'.
    """
    listed = list(rows(problem, schedule))
    width = max(len(name) for name, _ in listed)
    lines = [f"one column is {schedule.interval / WIDTH:.1f} clocks"]
    lines += [f"{name:{width}} |{_cells(schedule.interval, spans)}|" for name, spans in listed]
    return "\n".join([*lines, *_legend(problem, schedule), *_rings(problem, schedule)]) + "\n"


def rows(problem: Problem, schedule: Schedule) -> Iterator[Row]:
    """The rows of the roles, then those of the units with the part of the interval that they work."""
    warps = warps_of_roles(problem, schedule.role)
    for role, name in enumerate(role_names(problem, schedule)):
        spans = [
            (number, schedule.start[number], operation.duration)
            for number, operation in enumerate(problem.operations)
            if schedule.role[number] == role
        ]
        yield f"{name}, {warps[role]} warp{'s' * (warps[role] > 1)}", spans
    for unit in problem.units:
        used = [
            (number, use)
            for number, operation in enumerate(problem.operations)
            for use in operation.uses
            if use.unit == unit
        ]
        work = 100 * sum(use.busy for _, use in used)
        yield (
            f"{unit} {work / schedule.interval:.0f} %",
            [(number, schedule.start[number], use.busy) for number, use in used],
        )


def _cells(interval: int, spans: list[tuple[int, int, int]]) -> str:
    cells = []
    for column in range(WIDTH):
        first, last = column * interval / WIDTH, (column + 1) * interval / WIDTH
        covered = {number: _overlap(interval, first, last, start, busy) for number, start, busy in spans}
        most = max(covered.values(), default=0.0)
        busiest = [number for number, clocks in covered.items() if clocks == most]
        if not most:
            cells.append(".")
        else:
            cells.append(_symbol(busiest[0]) if len(busiest) == 1 else _SEVERAL)
    return "".join(cells)


def _overlap(interval: int, first: float, last: float, start: int, busy: int) -> float:
    """The clocks from `first` to `last` during which an operation of any iteration is busy."""
    begin = start % interval
    return sum(
        max(0.0, min(last, at + busy) - max(first, at)) for at in range(begin - interval, begin + interval, interval)
    )


def _symbol(number: int) -> str:
    return _SYMBOLS[number % len(_SYMBOLS)]


def _legend(problem: Problem, schedule: Schedule) -> Iterator[str]:
    width = max(len(operation.name) for operation in problem.operations)
    names = role_names(problem, schedule)
    longest = max(len(name) for name in names)
    for number, operation in enumerate(problem.operations):
        clock, stage = schedule.start[number] % schedule.interval, schedule.stage(number)
        role = names[schedule.role[number]]
        yield f"{_symbol(number)} {operation.name:{width}}  {role:{longest}}  clock {clock:5}  stage {stage}"


def _rings(problem: Problem, schedule: Schedule) -> Iterator[str]:
    for buffer, depth in zip(problem.buffers, schedule.depth, strict=True):
        slots = f"{depth} slot{'s' * (depth != 1)}" if depth else f"in the slot of {buffer.overlay}"
        yield f"{buffer.name}: {slots} of {buffer.memory} memory, {buffer.size} each"


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
