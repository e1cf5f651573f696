"""The depths of rings for given starts: by life, and checked against the capacity of each memory."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.schedule.memory_share import least_slots, memory_share, uses_of_slot
from tilec.lowering.schedule.parts import Buffer
from tilec.lowering.schedule.problem import Problem


def ring_depths(problem: Problem, interval: int, start: Sequence[int]) -> tuple[int, ...] | None:
    """The smallest depth of each buffer, overlays only where memory requires them; None if they do not fit."""
    forced = memory_share(problem).forced
    optional = frozenset(buffer.name for buffer in problem.buffers if buffer.overlay)
    for overlaid in dict.fromkeys((forced, optional)):
        depths = tuple(_depth(problem, buffer, interval, start, overlaid) for buffer in problem.buffers)
        if _fits(problem, interval, start, depths):
            return depths
    return None


def life(problem: Problem, buffer: Buffer, interval: int, start: Sequence[int], overlaid: frozenset[str]) -> int:
    """The clocks from the start of the source to the completion of the last use of its slot."""
    ends = (
        start[problem.index[use.operation]] + use.completion + use.distance * interval
        for use in uses_of_slot(problem, buffer, overlaid)
    )
    return max(ends) - start[problem.index[buffer.source]]


def _depth(problem: Problem, buffer: Buffer, interval: int, start: Sequence[int], overlaid: frozenset[str]) -> int:
    if buffer.name in overlaid:
        return 0
    needed = -(-life(problem, buffer, interval, start, overlaid) // interval)
    return max(needed, least_slots(buffer))


def _fits(problem: Problem, interval: int, start: Sequence[int], depths: tuple[int, ...]) -> bool:
    for buffer, depth in zip(problem.buffers, depths, strict=True):
        if (buffer.depth and depth > buffer.depth) or (buffer.is_pooled and depth > 1):
            return False
    for memory, capacity in problem.capacity.items():
        own = [
            (buffer, depth) for buffer, depth in zip(problem.buffers, depths, strict=True) if buffer.memory == memory
        ]
        rings = sum(buffer.size * depth for buffer, depth in own if not buffer.is_pooled)
        pooled = [buffer for buffer, _ in own if buffer.is_pooled]
        if rings + _pool_size(problem, pooled, interval, start) > capacity:
            return False
    return True


def _pool_size(problem: Problem, pooled: list[Buffer], interval: int, start: Sequence[int]) -> int:
    """The largest sum of sizes at the start of any pooled buffer, where the sum has its maxima."""
    spans = [
        (
            start[problem.index[buffer.source]] % interval,
            life(problem, buffer, interval, start, frozenset()),
            buffer.size,
        )
        for buffer in pooled
    ]
    return max(
        (sum(size for at, length, size in spans if (clock - at) % interval < length) for clock, _, _ in spans),
        default=0,
    )
