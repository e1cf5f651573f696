"""The least interval by constraint programming: OR-Tools CP-SAT, which is imported on first use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.encoding import Encoding
from tilec.lowering.schedule.problem import QUANTUM, Problem, rounded
from tilec.lowering.schedule.schedule import Schedule

# The first step of the search above the bound, as a fraction of the bound; it doubles.
_STEP = 64


class SolverError(Exception):
    """The solver is not installed, or failed."""


@dataclass(frozen=True)
class Budget:
    """The limits of a search, in deterministic seconds of the solver (about one second each), and the wall time.

    Attributes:
        probe: for the decision of one interval.
        search: for all intervals of one search.
        improve: for the secondary objective.
        wall_s: ends a probe that takes much longer than its deterministic time.
    """

    probe: float = 4.0
    search: float = 16.0
    improve: float = 0.5
    wall_s: float = 180.0


class Status(StrEnum):
    """The answer of one probe."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Found:
    """A schedule, and whether it is proven that its interval is the least."""

    schedule: Schedule
    is_proven: bool


def solver_name() -> str | None:
    """The name and version of the solver; None if it is not installed."""
    # Imported here because it takes 0.1 s, and most problems need no solver.
    from importlib import metadata

    try:
        return f"ortools {metadata.version('ortools')}"
    except metadata.PackageNotFoundError:
        return None


def search(problem: Problem, roles: tuple[int, ...] | None, upper: int | None, budget: Budget) -> Found | None:
    """The least interval of a problem with times in the quantum, with these roles or with any; None if none is found.

    The search tries the bound, then intervals above it in steps that double, then halves the last step. Intervals at
    or above `upper` are not tried.

    Raises:
        SolverError: the solver is not installed.
    """
    probes = _Probes(problem, roles, budget)
    least = bound(problem, roles).interval
    most = upper if upper is not None else least + _longest(problem)
    low, interval, step = least - QUANTUM, least, max(QUANTUM, rounded(least // _STEP))
    low_status, best = Status.INFEASIBLE, None
    while best is None:
        if interval >= most:
            return None
        status, best = probes.at(interval)
        if best is None:
            if probes.left <= 0:
                return None
            low, low_status = interval, status
            interval, step = interval + step, 2 * step
    while best.interval - low > QUANTUM and probes.left > 0:
        middle = low + rounded((best.interval - low) // 2)
        status, found = probes.at(middle)
        if found:
            best = found
        else:
            low, low_status = middle, status
    is_proven = best.interval - low == QUANTUM and low_status == Status.INFEASIBLE
    return Found(probes.improved(best), is_proven)


def _longest(problem: Problem) -> int:
    """An interval at which nothing overlaps: a problem without a schedule there has none."""
    lengths = [max([operation.duration, *(use.busy for use in operation.uses)]) for operation in problem.operations]
    lengths += [edge.latency + edge.cross for edge in problem.edges]
    lengths += [use.completion for buffer in problem.buffers for use in buffer.uses]
    lengths += [use.completion for value in problem.registers for use in value.uses]
    return sum(lengths) + QUANTUM


@dataclass
class _Probes:
    """The probes of one search, and the deterministic time that is left."""

    problem: Problem
    roles: tuple[int, ...] | None
    budget: Budget
    left: float = 0.0

    def __post_init__(self) -> None:
        self.left = self.budget.search

    def at(self, interval: int) -> tuple[Status, Schedule | None]:
        """Whether an interval is feasible, and a schedule with it."""
        encoding, solver, status = self._solve(interval, min(self.budget.probe, self.left), None)
        self.left -= solver.deterministic_time
        return status, encoding.solution(solver) if status == Status.FEASIBLE else None

    def improved(self, schedule: Schedule) -> Schedule:
        """A schedule with the same interval that is better by the secondary objective, or the same."""
        encoding, solver, status = self._solve(schedule.interval, self.budget.improve, schedule)
        return encoding.solution(solver) if status == Status.FEASIBLE else schedule

    def _solve(self, interval: int, limit: float, start: Schedule | None) -> tuple[Encoding, Any, Status]:
        cp_model = _solver_module()
        encoding = Encoding(self.problem, interval, self.roles, cp_model.CpModel())
        encoding.build()
        if start is not None:
            encoding.minimize()
            encoding.hint(start)
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        # One worker and a fixed seed: the same schedule in every run.
        parameters.num_workers, parameters.random_seed = 1, 0
        parameters.linearization_level = parameters.cp_model_probing_level = 0
        parameters.max_deterministic_time, parameters.max_time_in_seconds = limit, self.budget.wall_s
        code = solve_model(solver, encoding.model)
        if code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return encoding, solver, Status.FEASIBLE
        return encoding, solver, Status.INFEASIBLE if code == cp_model.INFEASIBLE else Status.UNDECIDED


def solve_model(solver: Any, model: Any) -> Any:
    """The status of a model; without presolve if that fails, as it does in version 9.15 for a few models."""
    for presolve in (True, False):
        solver.parameters.cp_model_presolve = presolve
        try:
            return solver.solve(model)
        except (IndexError, KeyError, RuntimeError, MemoryError) as problem:
            failure = problem
    raise SolverError(f"the solver failed: {failure}") from failure


def _solver_module() -> Any:
    # Imported here because it takes 0.4 s, and because the package is optional.
    try:
        from ortools.sat.python import cp_model
    except ImportError as problem:
        raise SolverError(f"the exact scheduler needs the extra 'schedule': {problem}") from problem
    return cp_model
