"""Roles by rule: one per class of asynchronous operation, one per component of tile operations, rare work apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tilec.lowering.schedule.arcs import join, same_components
from tilec.lowering.schedule.parts import Kind, Operation
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.schedule import numbered_by_first, warps_of_roles


def rule_roles(problem: Problem) -> tuple[int, ...]:
    """The role of each operation.

    Tile operations are joined if they exchange registers, or read the same accumulator. If the roles exceed the limits
    of the target, the two tile roles with the least work are joined.
    """
    component = same_components(problem)
    for first, second in _joined(problem):
        join(component, problem.index[first], problem.index[second])
    while not _fits(problem, component):
        pair = _least_busy_pair(problem, component)
        if pair is None:
            break
        join(component, *pair)
    return numbered_by_first(component)


def _joined(problem: Problem) -> Iterator[tuple[str, str]]:
    """Pairs of operations that the rule puts into one role."""
    pinned = {operation.name for operation in problem.operations if operation.role}
    first_of: dict[str, str] = {}
    for operation in problem.operations:
        group = _group(operation)
        if group and operation.name not in pinned:
            yield first_of.setdefault(group, operation.name), operation.name
    for edge in problem.edges:
        source, target = problem.operation(edge.source), problem.operation(edge.target)
        if edge.moved_kb and _is_common(source) and _is_common(target) and not {edge.source, edge.target} & pinned:
            yield edge.source, edge.target
    for buffer in problem.buffers:
        if problem.operation(buffer.source).kind == Kind.ISSUE:
            readers = [use.operation for use in buffer.uses if _is_common(problem.operation(use.operation))]
            yield from ((readers[0], reader) for reader in readers[1:] if not {readers[0], reader} & pinned)


def _group(operation: Operation) -> str:
    """The group of operations that share one role; empty for those of components."""
    if operation.kind != Kind.TILE:
        return operation.kind
    if operation.is_rare:
        return "rare"
    return "single" if operation.warps == 1 else ""


def _is_common(operation: Operation) -> bool:
    return operation.kind == Kind.TILE and not operation.is_rare and operation.warps > 1


def _fits(problem: Problem, component: list[int]) -> bool:
    warps = warps_of_roles(problem, numbered_by_first(component))
    return len(warps) <= problem.limits.roles and sum(warps) <= problem.limits.warps


def _least_busy_pair(problem: Problem, component: list[int]) -> tuple[int, int] | None:
    """The two tile roles with the least work; None if there is only one."""
    busy: defaultdict[int, int] = defaultdict(int)
    for operation, number in zip(problem.operations, component, strict=True):
        if operation.kind == Kind.TILE:
            busy[number] += operation.duration
    least = sorted(busy, key=lambda number: (busy[number], number))[:2]
    return (least[0], least[1]) if len(least) == 2 else None
