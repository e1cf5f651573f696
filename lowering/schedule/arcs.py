"""The differences of starts that a problem requires, as arcs between operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilec.lowering.schedule.memory_share import uses_of_slot
from tilec.lowering.schedule.parts import Edge
from tilec.lowering.schedule.problem import Problem

# The roles of the operations by number; None if they are not known.
Roles = Sequence[int] | None


def edge_arcs(problem: Problem, roles: Roles = None) -> list[Arc]:
    """The arcs of the edges, with the cross latency of edges that are certainly cut."""
    arcs = []
    for edge in problem.edges:
        source, target = problem.index[edge.source], problem.index[edge.target]
        cross = edge.cross if is_cut(problem, edge, roles) else 0
        arcs.append(Arc(source, target, edge.latency + cross, edge.distance))
    return arcs


def is_cut(problem: Problem, edge: Edge, roles: Roles) -> bool:
    """Whether the roles of an edge differ; if the roles are not known, whether they differ in every schedule."""
    if roles is None:
        return problem.always_cut(edge)
    return roles[problem.index[edge.source]] != roles[problem.index[edge.target]]


def ring_arcs(problem: Problem, depth: Mapping[str, int], overlaid: frozenset[str]) -> list[Arc]:
    """The source fills a slot again after its last use: depth * interval >= life, for the buffers with a depth."""
    arcs = []
    for buffer in problem.buffers:
        if buffer.name in overlaid or buffer.name not in depth:
            continue
        source = problem.index[buffer.source]
        for use in uses_of_slot(problem, buffer, overlaid):
            distance = depth[buffer.name] - use.distance
            arcs.append(Arc(problem.index[use.operation], source, use.completion, distance))
    return arcs


def register_arcs(problem: Problem, roles: Roles = None) -> list[Arc]:
    """A register value lives at most one interval, until its uses in the role of its source have finished."""
    arcs = []
    for value in problem.registers:
        for use in value.uses:
            if stays_in_role(problem, value.source, use.operation, roles):
                source, target = problem.index[use.operation], problem.index[value.source]
                arcs.append(Arc(source, target, use.completion - value.delay, 1 - use.distance))
    return arcs


def stays_in_role(problem: Problem, source: str, user: str, roles: Roles) -> bool:
    """Whether both operations have one role; if the roles are not known, whether they have it in every schedule."""
    if roles is not None:
        return roles[problem.index[source]] == roles[problem.index[user]]
    component = same_components(problem)
    return component[problem.index[source]] == component[problem.index[user]]


def same_components(problem: Problem) -> list[int]:
    """The least operation number of each component that one role must contain."""
    component = list(range(len(problem.operations)))
    joined = [(edge.source, edge.target) for edge in problem.edges if edge.is_same]
    first_of: dict[str, str] = {}
    for operation in problem.operations:
        if operation.role:
            joined.append((first_of.setdefault(operation.role, operation.name), operation.name))
    for source, target in joined:
        join(component, problem.index[source], problem.index[target])
    return component


def join(component: list[int], first: int, second: int) -> None:
    """Unites two components, whose number is that of their first element."""
    low, high = sorted((component[first], component[second]))
    component[:] = [low if number == high else number for number in component]


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
