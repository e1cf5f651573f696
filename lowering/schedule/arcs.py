"""The differences of starts that a problem requires, as arcs between operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilec.lowering.schedule.memory_share import uses_of_slot
from tilec.lowering.schedule.parts import Edge
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.recurrence import Arc

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
