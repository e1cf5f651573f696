"""The report of `tilec compile --explain schedule`: for each loop its bound, its interval now, and the one to reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.errors import UnsupportedError
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem, loop_problems
from tilec.lowering.gpu.schedule.present_interval import present_interval, present_schedule
from tilec.lowering.schedule.chart import summary, text_chart
from tilec.lowering.schedule.exact import Budget
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.parts import ProblemError
from tilec.lowering.schedule.problem import quantized
from tilec.lowering.schedule.problem_text import write_problem
from tilec.lowering.schedule.store import Answer
from tilec.lowering.target import target_named

# A report may take some seconds.
_BUDGET = Budget(probe=1.0, search=3.0, improve=0.2)


@dataclass(frozen=True)
class LoopReport:
    """One loop as it is, and its best schedule.

    Attributes:
        loop: the loop.
        present: a lower bound of its interval as it is, in clocks; None if it has none.
        attained: the interval of its steady state; None if its roles deadlock.
        answer: the best schedule that was found.
        failure: why none was found.
    """

    loop: LoopProblem
    present: int | None
    attained: int | None
    answer: Answer | None
    failure: str = ""

    def text(self) -> str:
        """The report of the loop in some lines."""
        problem = self.loop.problem
        at = f" at {self.loop.location}" if self.loop.location else ""
        roles = ", ".join(dict.fromkeys(self.loop.roles))
        lines = [f"loop{at} of {problem.name}: {len(problem.operations)} operations"]
        now = f"at least {self.present}" if self.attained is None else str(self.attained)
        if self.present is not None or self.attained is not None:
            lines.append(f"now: interval of {now} clocks (roles {roles}, each in program order)")
        if self.answer is None:
            return "\n".join([*lines, f"no schedule: {self.failure}"]) + "\n"
        # The steady state of the code may be no schedule, as its iterations may differ.
        is_slower = self.attained is not None and self.attained < self.answer.schedule.interval
        lines.append(f"{'found, but slower than now' if is_slower else 'reachable'}: {summary(self.answer)}")
        lines += [f"remark: {remark}" for remark in self.answer.remarks]
        return "\n".join(lines) + "\n" + text_chart(problem, self.answer.schedule)

    def fields(self) -> dict[str, Any]:
        """The report as values of JSON."""
        fields: dict[str, Any] = {
            "location": str(self.loop.location) if self.loop.location else None,
            "problem": write_problem(self.loop.problem),
            "present_interval": self.present,
            "attained_interval": self.attained,
        }
        if self.answer is None:
            return {**fields, "failure": self.failure}
        schedule, problem = self.answer.schedule, self.loop.problem
        names = [operation.name for operation in problem.operations]
        return {
            **fields,
            "interval": schedule.interval,
            "bound": self.answer.bound.interval,
            "bound_reason": self.answer.bound.reason,
            "how": self.answer.how.value,
            "is_proven": self.answer.is_proven,
            "start": dict(zip(names, schedule.start, strict=True)),
            "role": dict(zip(names, schedule.role, strict=True)),
            "slots": {buffer.name: slots for buffer, slots in zip(problem.buffers, schedule.depth, strict=True)},
            "remarks": list(self.answer.remarks),
        }


def schedule_reports(module: ir.Module, target: str) -> list[LoopReport]:
    """The reports of the innermost loops of a module of tile_gpu after its passes."""
    found = []
    for kernel in operations_named(module, (KernelOp.OPERATION_NAME,)):
        try:
            loops = loop_problems(kernel, target_named(target))
        except UnsupportedError:
            # The kernel exceeds the target, which a later stage reports at its line.
            continue
        found += [_report(loop) for loop in loops]
    return found


def _report(loop: LoopProblem) -> LoopReport:
    rounded = quantized(loop.problem)
    least = present_interval(loop, rounded)
    present = present_schedule(loop, rounded)
    attained = None if present is None else present.interval
    try:
        return LoopReport(loop, least, attained, solve(loop.problem, budget=_BUDGET, present=present))
    except ProblemError as problem:
        return LoopReport(loop, least, attained, None, str(problem))
