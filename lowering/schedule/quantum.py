"""Problems whose times are multiples of a quantum, which bounds the number of values that a solver tries."""

from __future__ import annotations

from dataclasses import replace

from tilec.lowering.schedule.parts import BufferUse
from tilec.lowering.schedule.problem import Problem

# Clocks. The costs of units and barriers are multiples of it, so that little is lost; the exact solver is then several
# times as fast as with clocks.
QUANTUM = 4


def rounded(value: int) -> int:
    """The value rounded up to a multiple of the quantum."""
    return -(-value // QUANTUM) * QUANTUM


def quantized(problem: Problem) -> Problem:
    """The problem with all times rounded up to the quantum: its schedules are schedules of the problem."""
    operations = tuple(
        replace(
            operation,
            duration=rounded(operation.duration),
            uses=tuple(replace(use, busy=rounded(use.busy)) for use in operation.uses),
        )
        for operation in problem.operations
    )
    edges = tuple(replace(edge, latency=rounded(edge.latency), cross=rounded(edge.cross)) for edge in problem.edges)
    buffers = tuple(replace(buffer, uses=_rounded_uses(buffer.uses)) for buffer in problem.buffers)
    registers = tuple(
        replace(value, uses=_rounded_uses(value.uses), delay=value.delay // QUANTUM * QUANTUM)
        for value in problem.registers
    )
    return replace(problem, operations=operations, edges=edges, buffers=buffers, registers=registers)


def _rounded_uses(uses: tuple[BufferUse, ...]) -> tuple[BufferUse, ...]:
    return tuple(replace(use, completion=rounded(use.completion)) for use in uses)
