"""The scheduling problem of one loop body."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilec.lowering.schedule.parts import Buffer, Edge, Limits, Operation, RegisterValue
from tilec.lowering.schedule.validate import validate


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
        validate(self)

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
