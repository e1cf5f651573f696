"""Answers that the solver found before, in a cache folder."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from tilec import cache_files
from tilec.hashing import sha256
from tilec.lowering.schedule.bound import Bound
from tilec.lowering.schedule.exact import Budget, solver_name
from tilec.lowering.schedule.parts import BufferUse
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.problem_text import write_problem
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.verify import verify

# Raised if the meaning of problems or of schedules changes.
MODEL_VERSION = 1


@dataclass(frozen=True)
class Store:
    """A folder of answers, found by the problem, the version of its meaning, the solver and the budget."""

    folder: str
    budget: Budget = Budget()

    def find(self, problem: Problem) -> Answer | None:
        """The stored answer, if it is legal; its bound is that of the problem when it was stored."""
        content = cache_files.read(self._path(problem))
        return None if content is None else read_entry(problem, content.decode(errors="replace"))

    def add(self, problem: Problem, answer: Answer) -> None:
        """Stores an answer; a folder that cannot be written stores nothing."""
        with suppress(OSError):
            cache_files.write(self._path(problem), write_entry(problem, answer).encode())

    def _path(self, problem: Problem) -> str:
        key = f"{MODEL_VERSION} {solver_name()} {self.budget} {write_problem(canonical(problem))}"
        return os.path.join(self.folder, sha256(key.encode()).hexdigest())


def write_entry(problem: Problem, answer: Answer) -> str:
    """The text of an entry: a line of JSON with the answer, and the canonical problem."""
    fields = {"how": answer.how, "is_proven": answer.is_proven, "bound": answer.bound.interval}
    return json.dumps({**fields, **asdict(answer.schedule)}) + "\n" + write_problem(canonical(problem))


def read_entry(problem: Problem, text: str) -> Answer | None:
    """The answer in the text of an entry; None if it is damaged, of another problem, or illegal."""
    head, _, rest = text.partition("\n")
    if rest != write_problem(canonical(problem)):
        return None
    try:
        entry = json.loads(head)
        schedule = Schedule(entry["interval"], *(tuple(entry[name]) for name in ("start", "role", "depth")))
        if verify(problem, schedule):
            return None
        return Answer(schedule, Bound(entry["bound"], "stored"), How(entry["how"]), entry["is_proven"], is_stored=True)
    except (KeyError, TypeError, ValueError):
        return None


def canonical(problem: Problem) -> Problem:
    """The problem with operations o0, o1, ..., buffers b0, ..., register values v0, ... and roles r0, ..."""
    names = {operation.name: f"o{number}" for number, operation in enumerate(problem.operations)}
    buffers = {buffer.name: f"b{number}" for number, buffer in enumerate(problem.buffers)} | {"": ""}
    roles = {
        role: f"r{number}" for number, role in enumerate(dict.fromkeys(op.role for op in problem.operations if op.role))
    }
    roles[""] = ""

    def uses(entries: tuple[BufferUse, ...]) -> tuple[BufferUse, ...]:
        return tuple(replace(use, operation=names[use.operation]) for use in entries)

    return Problem(
        "loop",
        tuple(replace(op, name=names[op.name], role=roles[op.role]) for op in problem.operations),
        tuple(replace(edge, source=names[edge.source], target=names[edge.target]) for edge in problem.edges),
        tuple(
            replace(
                buffer,
                name=buffers[buffer.name],
                source=names[buffer.source],
                uses=uses(buffer.uses),
                overlay=buffers[buffer.overlay],
            )
            for buffer in problem.buffers
        ),
        tuple(
            replace(value, name=f"v{number}", source=names[value.source], uses=uses(value.uses))
            for number, value in enumerate(problem.registers)
        ),
        problem.limits,
    )


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
