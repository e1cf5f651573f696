"""Longest paths under an interval, and the least interval without a cycle of positive length."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arc:
    """start[target] >= start[source] + latency - distance * interval, by operation numbers; `distance` may be < 0."""

    source: int
    target: int
    latency: int
    distance: int


def earliest_starts(count: int, arcs: list[Arc], interval: int) -> list[int] | None:
    """The earliest start of each operation from clock 0 on; None if a cycle has positive length."""
    starts = [0] * count
    for _ in range(count + 1):
        is_changed = False
        for arc in arcs:
            start = starts[arc.source] + arc.latency - arc.distance * interval
            if start > starts[arc.target]:
                starts[arc.target], is_changed = start, True
        if not is_changed:
            return starts
    return None


def least_interval(count: int, arcs: list[Arc], quantum: int, most: int) -> int | None:
    """The least multiple of the quantum without a positive cycle; None if it is greater than `most`."""
    low, high = 0, -(-most // quantum)
    if earliest_starts(count, arcs, high * quantum) is None:
        return None
    while low < high:
        middle = (low + high) // 2
        if earliest_starts(count, arcs, middle * quantum) is None:
            low = middle + 1
        else:
            high = middle
    return low * quantum


def critical_cycle(count: int, arcs: list[Arc], interval: int) -> list[Arc]:
    """The arcs of a cycle of positive length at this interval, in order; empty if none has."""
    starts = [0] * count
    last: list[Arc | None] = [None] * count
    changed = -1
    for _ in range(count + 1):
        changed = -1
        for arc in arcs:
            start = starts[arc.source] + arc.latency - arc.distance * interval
            if start > starts[arc.target]:
                starts[arc.target], last[arc.target], changed = start, arc, arc.target
        if changed < 0:
            return []
    # After as many steps back as there are operations, the operation lies on the cycle.
    for _ in range(count):
        changed = _arc_to(last, changed).source
    cycle = [_arc_to(last, changed)]
    while cycle[-1].source != changed:
        cycle.append(_arc_to(last, cycle[-1].source))
    return cycle[::-1]


def _arc_to(last: list[Arc | None], target: int) -> Arc:
    arc = last[target]
    assert arc is not None
    return arc
