"""The largest depth of each ring, and the buffers that must lie in the slot of another."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.lowering.schedule.parts import Buffer, BufferUse, ProblemError
from tilec.lowering.schedule.problem import Problem

# Slots of the deepest ring: more never help, as no latency is 64 intervals.
MOST_SLOTS = 64


@dataclass(frozen=True)
class MemoryShare:
    """The depths that the capacities allow.

    Attributes:
        most: the largest depth of each buffer, if the other buffers have their smallest.
        forced: the buffers that must lie in the slot of their overlay.
    """

    most: dict[str, int]
    forced: frozenset[str]


def memory_share(problem: Problem) -> MemoryShare:
    """The shares of the buffers of a problem; raises ProblemError if the smallest depths do not fit."""
    most: dict[str, int] = {}
    forced: set[str] = set()
    for name, capacity in problem.capacity.items():
        buffers = [buffer for buffer in problem.buffers if buffer.memory == name]
        least = least_size(buffers)
        if least > capacity:
            raise ProblemError(f"the buffers need at least {least} of the memory '{name}', which has {capacity}")
        for buffer in buffers:
            room = capacity - least
            if buffer.overlay and room < buffer.size:
                forced.add(buffer.name)
            most[buffer.name] = _most_slots(buffer, room)
    return MemoryShare(most, frozenset(forced))


def least_size(buffers: list[Buffer]) -> int:
    """The memory of these buffers if each has its smallest depth, and every overlay is used."""
    return sum(least_slots(buffer) * buffer.size for buffer in buffers if not buffer.overlay)


def least_slots(buffer: Buffer) -> int:
    """The smallest depth: a use of a later iteration keeps its slot while further slots are filled."""
    return max(1, *(use.distance for use in buffer.uses))


def _most_slots(buffer: Buffer, room: int) -> int:
    # An overlay in memory of its own is not part of the smallest size.
    extra = room // buffer.size if buffer.size else MOST_SLOTS
    return min(MOST_SLOTS, extra if buffer.overlay else least_slots(buffer) + extra)


def uses_of_slot(problem: Problem, buffer: Buffer, overlaid: frozenset[str]) -> tuple[BufferUse, ...]:
    """The uses that keep a slot of this buffer occupied: its own, and those of the buffer that lies in it."""
    guest = problem.overlay_of.get(buffer.name)
    return buffer.uses + (problem.buffer_named[guest].uses if guest in overlaid and guest is not None else ())
