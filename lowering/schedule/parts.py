"""The parts of a scheduling problem: operations, dependences, buffers and the limits of the target.

All times are clocks of the SM. Operations run once per iteration; a schedule starts iteration n at n * interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProblemError(ValueError):
    """The problem is inconsistent."""


class Kind(StrEnum):
    """The class of an operation, which restricts the roles that it may share."""

    # A TMA load without predecessor. Its role contains nothing but such loads.
    STREAM = "stream"
    # An asynchronous operation that one thread issues: tcgen05.mma, tcgen05.cp. Its role contains nothing else.
    ISSUE = "issue"
    # Instructions of a warpgroup.
    TILE = "tile"


@dataclass(frozen=True)
class Use:
    """An operation occupies a unit for `busy` clocks from its start."""

    unit: str
    busy: int


@dataclass(frozen=True)
class Operation:
    """One operation of the loop body.

    Attributes:
        duration: the clocks during which the role is busy with it.
        uses: the units that it occupies.
        warps: the warps that a role with this operation has.
        is_rare: whether it runs under a condition that seldom holds; by rule it has a role of its own.
        role: the name of a role; operations with the same name have the same role. Empty: any.
    """

    name: str
    kind: Kind
    duration: int
    uses: tuple[Use, ...] = ()
    warps: int = 1
    is_rare: bool = False
    role: str = ""


@dataclass(frozen=True)
class Edge:
    """`target` starts at least `latency` after `source` of `distance` iterations before.

    Attributes:
        cross: the additional latency if the roles differ.
        moved_kb: KB that move through shared memory if the roles differ.
        is_same: whether both operations must have the same role.
    """

    source: str
    target: str
    latency: int
    distance: int = 0
    cross: int = 0
    moved_kb: int = 0
    is_same: bool = False


@dataclass(frozen=True)
class BufferUse:
    """The operation has finished with a buffer `completion` clocks after its start, `distance` iterations later."""

    operation: str
    completion: int
    distance: int = 0


@dataclass(frozen=True)
class Buffer:
    """A value in shared or tensor memory, in a ring of slots.

    Attributes:
        source: the operation that writes it; its slot is occupied from the start of this operation.
        size: the size of a slot: bytes of shared memory, columns of tensor memory.
        overlay: a buffer in whose slot this one may lie instead of its own memory. Empty: none.
    """

    name: str
    source: str
    uses: tuple[BufferUse, ...]
    memory: str
    size: int
    overlay: str = ""


@dataclass(frozen=True)
class RegisterValue:
    """A value in registers of the role of its source, for at most one interval; a use in another role is moved.

    Attributes:
        count: registers per thread.
        delay: the clocks after the start of the source from which it occupies them; before, an operand does.
    """

    name: str
    source: str
    uses: tuple[BufferUse, ...]
    count: int
    delay: int = 0


@dataclass(frozen=True)
class Memory:
    """A memory of the target: its capacity for rings, in the units of `Buffer.size`."""

    name: str
    capacity: int


@dataclass(frozen=True)
class Limits:
    """The limits of the target.

    Attributes:
        roles: the largest number of roles.
        warps: the largest number of warps of all roles.
        registers: 32-bit registers of the SM.
        thread_registers: the largest number of registers per thread.
        base_registers: registers per thread of a tile role that hold no `RegisterValue`.
        producer_registers: registers per thread of the other roles.
    """

    memories: tuple[Memory, ...] = ()
    roles: int = 6
    warps: int = 16
    registers: int = 65536
    thread_registers: int = 255
    base_registers: int = 40
    producer_registers: int = 24
