"""The reports of `tilec compile --explain` and `Compiled.explain`, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tilec.errors import UsageError
from tilec.explain.cost import kernel_costs
from tilec.explain.memory import kernel_memories

if TYPE_CHECKING:
    from tilec.driver.compile_result import CompileResult


class Report(Protocol):
    """The report of one kernel."""

    def text(self) -> str:
        """The report as text."""

    def fields(self) -> dict[str, Any]:
        """The report as JSON."""


def _cost(compiled: CompileResult) -> list[Report]:
    return list(kernel_costs(_tile_gpu(compiled, "cost"), compiled.target))


def _memory(compiled: CompileResult) -> list[Report]:
    return list(kernel_memories(_tile_gpu(compiled, "memory"), compiled.target))


def _plan(compiled: CompileResult) -> list[Report]:
    if compiled.stage("gpu-raw") is None or not compiled.candidates:
        raise UsageError(
            "the report 'plan' needs stage 'gpu-raw': compile from Tile IR or Python to 'gpu-raw' or later"
        )
    return [candidate.report() for candidate in compiled.candidates]


def _schedule(compiled: CompileResult) -> list[Report]:
    # Imported here because only this report needs the schedulers.
    from tilec.lowering.gpu.schedule.schedule_report import schedule_reports

    return list(schedule_reports(_tile_gpu(compiled, "schedule"), compiled.target))


# Each report, and what it shows.
REPORTS: dict[str, tuple[Callable[[CompileResult], list[Report]], str]] = {
    "cost": (_cost, "the predicted cycles of each loop, and the unit that bounds them"),
    "memory": (_memory, "where rings and staging buffers lie in memory, and when they are in use"),
    "schedule": (_schedule, "the interval of each loop, its lower bound, and a chart of the schedule to reach"),
    "plan": (_plan, "what is chosen for the whole kernel: CTAs, warps, units, accesses, with reasons and runner-ups"),
}


def reports_of(compiled: CompileResult, name: str) -> list[Report]:
    """The reports of a name, one per kernel; raises UsageError for other names, and without stage 'gpu'."""
    if name not in REPORTS:
        raise UsageError(f"unknown report '{name}': expected one of {', '.join(REPORTS)}")
    return REPORTS[name][0](compiled)


def memory_picture(compiled: CompileResult) -> str:
    """The memory plan of a kernel as SVG; raises UsageError without stage 'gpu'."""
    (memory,) = kernel_memories(_tile_gpu(compiled, "memory"), compiled.target)
    return memory.svg()


def _tile_gpu(compiled: CompileResult, name: str) -> Any:
    """The module of tile_gpu after its passes."""
    result = compiled.stage("gpu")
    if result is None:
        raise UsageError(f"the report '{name}' needs stage 'gpu': compile from Tile IR or Python to 'gpu' or later")
    return result.value
