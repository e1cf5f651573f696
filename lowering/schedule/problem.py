"""The scheduling problem of one loop body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Limits, Operation, ProblemError, RegisterValue

# Clocks. The costs of units and barriers are multiples of it, so that little is lost; the exact solver is then several
# times as fast as with clocks.
QUANTUM = 4


@dataclass(frozen=True)
class Problem:
    """A loop body to schedule. Operations are in program order.

    Raises:
        ProblemError: a name is unknown or not unique, or a number is out of range.

    Example:
        >>> load = Operation("load", Kind.STREAM, 30, (Use("tma", 192),))
        >>> mma = Operation("mma", Kind.ISSUE, 48, (Use("tc", 512),))
        >>> Problem("gemm", (load, mma), (Edge("load", "mma", 700, cross=92),)).index["mma"]
        1
    """

    name: str
    operations: tuple[Operation, ...]
    edges: tuple[Edge, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    registers: tuple[RegisterValue, ...] = ()
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        _validate(self)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each operation in program order."""
        return {operation.name: number for number, operation in enumerate(self.operations)}

    @cached_property
    def buffer_named(self) -> dict[str, Buffer]:
        return {buffer.name: buffer for buffer in self.buffers}

    @cached_property
    def capacity(self) -> dict[str, int]:
        """The capacity of each memory."""
        return {memory.name: memory.capacity for memory in self.limits.memories}

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The units that operations occupy, in order of their first use."""
        return tuple(dict.fromkeys(use.unit for operation in self.operations for use in operation.uses))

    @cached_property
    def overlay_of(self) -> dict[str, str]:
        """The buffer that may lie in the slot of each buffer."""
        return {buffer.overlay: buffer.name for buffer in self.buffers if buffer.overlay}

    def operation(self, name: str) -> Operation:
        return self.operations[self.index[name]]

    def always_cut(self, edge: Edge) -> bool:
        """Whether the roles of an edge differ in every schedule: roles of streams and issues hold one class alone."""
        return self.operation(edge.source).kind != self.operation(edge.target).kind


def _validate(problem: Problem) -> None:
    if not problem.operations:
        raise ProblemError(f"problem '{problem.name}': expected at least one operation")
    _unique("operation", (operation.name for operation in problem.operations))
    _unique("buffer", (buffer.name for buffer in problem.buffers))
    _unique("register value", (value.name for value in problem.registers))
    _unique("memory", (memory.name for memory in problem.limits.memories))
    for operation in problem.operations:
        _check_operation(operation)
    for edge in problem.edges:
        where = f"edge '{edge.source}' to '{edge.target}'"
        _known(problem, where, edge.source)
        _known(problem, where, edge.target)
        _not_negative(where, edge.latency, edge.distance, edge.cross, edge.moved_kb)
        if edge.is_same and problem.always_cut(edge):
            raise ProblemError(f"{where}: operations of different classes cannot have the same role")
    for buffer in problem.buffers:
        _check_buffer(problem, buffer)
    for value in problem.registers:
        _not_negative(f"register value '{value.name}'", value.count, value.delay)
        _check_uses(problem, f"register value '{value.name}'", value.source, value.uses)


def _unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.split() != [name]:
            raise ProblemError(f"{what} '{name}': expected a name without blanks")
        if name in seen:
            raise ProblemError(f"{what} '{name}' is defined twice")
        seen.add(name)


def _known(problem: Problem, where: str, name: str) -> None:
    if name not in problem.index:
        raise ProblemError(f"{where}: unknown operation '{name}'")


def _not_negative(where: str, *values: int) -> None:
    for value in values:
        if value < 0:
            raise ProblemError(f"{where}: expected non-negative numbers, got {value}")


def _check_operation(operation: Operation) -> None:
    where = f"operation '{operation.name}'"
    _not_negative(where, operation.duration)
    if operation.warps < 1:
        raise ProblemError(f"{where}: expected at least one warp, got {operation.warps}")
    units = [use.unit for use in operation.uses]
    for use in operation.uses:
        _not_negative(where, use.busy)
        if units.count(use.unit) > 1:
            raise ProblemError(f"{where}: uses the unit '{use.unit}' twice")


def _check_buffer(problem: Problem, buffer: Buffer) -> None:
    where = f"buffer '{buffer.name}'"
    _check_uses(problem, where, buffer.source, buffer.uses)
    _not_negative(where, buffer.size)
    if buffer.memory not in problem.capacity:
        raise ProblemError(f"{where}: unknown memory '{buffer.memory}'")
    if not buffer.overlay:
        return
    base = problem.buffer_named.get(buffer.overlay)
    if base is None:
        raise ProblemError(f"{where}: unknown overlay '{buffer.overlay}'")
    if base.overlay:
        raise ProblemError(f"{where}: the overlay '{base.name}' must be a ring")
    if base.memory != buffer.memory or base.size < buffer.size:
        raise ProblemError(f"{where}: does not fit in a slot of '{base.name}'")
    if [other.overlay for other in problem.buffers].count(base.name) > 1:
        raise ProblemError(f"{where}: '{base.name}' has another overlay")


def _check_uses(problem: Problem, where: str, source: str, uses: tuple[BufferUse, ...]) -> None:
    _known(problem, where, source)
    if not uses:
        raise ProblemError(f"{where}: expected at least one use")
    for use in uses:
        _known(problem, where, use.operation)
        _not_negative(where, use.completion, use.distance)


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
