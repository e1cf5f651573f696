"""The verifier of schedules: every rule of the problem checked on the clocks of iterations, without the solvers' code.

It unrolls a number of iterations of the steady state, and collects what each unit, role, slot and memory holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from tilec.lowering.schedule.parts import Kind
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.schedule import Schedule

# A use of a resource from the first clock up to, and without, the second one, with its amount.
Span = tuple[int, int, int]


def verify(problem: Problem, schedule: Schedule) -> list[str]:
    """The rules of the problem that a schedule breaks, in words; empty if it is legal."""
    if problems := list(_shape(problem, schedule)):
        return problems
    checks = (_edges, _units, _roles, _rings, _memories, _registers, _warps)
    return [message for check in checks for message in check(problem, schedule)]


def _shape(problem: Problem, schedule: Schedule) -> Iterator[str]:
    count = len(problem.operations)
    if len(schedule.start) != count or len(schedule.role) != count or len(schedule.depth) != len(problem.buffers):
        yield "the schedule is one of another problem"
    if schedule.interval < 1:
        yield f"the interval is {schedule.interval}"
    if any(number < 0 for number in (*schedule.start, *schedule.role, *schedule.depth)):
        yield "a number is negative"


def _start(problem: Problem, schedule: Schedule, name: str, iteration: int) -> int:
    return schedule.start[problem.index[name]] + iteration * schedule.interval


def _edges(problem: Problem, schedule: Schedule) -> Iterator[str]:
    for edge in problem.edges:
        source, target = (schedule.role[problem.index[name]] for name in (edge.source, edge.target))
        latency = edge.latency + (edge.cross if source != target else 0)
        ready = _start(problem, schedule, edge.source, 0) + latency
        start = _start(problem, schedule, edge.target, edge.distance)
        if start < ready:
            yield f"'{edge.target}' starts at {start}, '{edge.source}' is ready at {ready}"
        if edge.is_same and source != target:
            yield f"'{edge.source}' and '{edge.target}' must have the same role"


def _units(problem: Problem, schedule: Schedule) -> Iterator[str]:
    for unit in problem.units:
        spans = [
            (start, start + use.busy, 1)
            for operation, start in zip(problem.operations, schedule.start, strict=True)
            for use in operation.uses
            if use.unit == unit
        ]
        if _peak(spans, schedule.interval) > 1:
            yield f"the unit '{unit}' is used by more than it can do at one time"


def _roles(problem: Problem, schedule: Schedule) -> Iterator[str]:
    members: defaultdict[int, list[int]] = defaultdict(list)
    for number, role in enumerate(schedule.role):
        members[role].append(number)
    if len(members) > problem.limits.roles:
        yield f"{len(members)} roles, the limit is {problem.limits.roles}"
    pinned: dict[str, int] = {}
    for role, numbers in members.items():
        operations = [problem.operations[number] for number in numbers]
        starts = (schedule.start[number] for number in numbers)
        spans = [(at, at + operation.duration, 1) for at, operation in zip(starts, operations, strict=True)]
        if _peak(spans, schedule.interval) > 1:
            yield f"two operations of the role of '{operations[0].name}' are issued at one time"
        kinds = {operation.kind for operation in operations}
        if len(kinds) > 1 and kinds & {Kind.STREAM, Kind.ISSUE}:
            yield f"the role of '{operations[0].name}' mixes classes: {', '.join(sorted(kinds))}"
        for operation in operations:
            if operation.role and pinned.setdefault(operation.role, role) != role:
                yield f"'{operation.name}' is not in the role '{operation.role}'"


def _lives(problem: Problem, schedule: Schedule) -> dict[str, int]:
    """The clock of iteration 0 at which each slot is free again; a buffer in another one's slot keeps that one."""
    ends: dict[str, int] = {}
    for buffer, depth in zip(problem.buffers, schedule.depth, strict=True):
        done = [_start(problem, schedule, use.operation, use.distance) + use.completion for use in buffer.uses]
        owner = buffer.name if depth else buffer.overlay
        ends[owner] = max(ends.get(owner, 0), *done)
    return ends


def _rings(problem: Problem, schedule: Schedule) -> Iterator[str]:
    ends = _lives(problem, schedule)
    for buffer, depth in zip(problem.buffers, schedule.depth, strict=True):
        if not depth:
            if not buffer.overlay:
                yield f"the buffer '{buffer.name}' has no slot"
            continue
        if depth < max(use.distance for use in buffer.uses):
            yield f"the buffer '{buffer.name}' has fewer slots than its uses reach back"
        # Iteration `depth` fills the slot of iteration 0 again.
        again = _start(problem, schedule, buffer.source, depth)
        if again < ends[buffer.name]:
            yield f"a slot of '{buffer.name}' is filled at {again}, its last use ends at {ends[buffer.name]}"


def _memories(problem: Problem, schedule: Schedule) -> Iterator[str]:
    for memory, capacity in problem.capacity.items():
        rings = zip(problem.buffers, schedule.depth, strict=True)
        size = sum(buffer.size * depth for buffer, depth in rings if buffer.memory == memory)
        if size > capacity:
            yield f"the buffers need {size} of the memory '{memory}', which has {capacity}"


def _registers(problem: Problem, schedule: Schedule) -> Iterator[str]:
    limits = problem.limits
    spans: defaultdict[int, list[Span]] = defaultdict(list)
    for value in problem.registers:
        number = problem.index[value.source]
        role, start = schedule.role[number], schedule.start[number] + value.delay
        end = max(start, schedule.start[number] + problem.operations[number].duration)
        for use in value.uses:
            if schedule.role[problem.index[use.operation]] == role:
                end = max(end, _start(problem, schedule, use.operation, use.distance) + use.completion)
        if end - start > schedule.interval:
            yield f"the register value '{value.name}' lives {end - start} clocks, longer than an interval"
        spans[role].append((start, end, value.count))
    total = 0
    for role, warps in _role_warps(problem, schedule).items():
        has_tiles = any(
            operation.kind == Kind.TILE and number == role
            for operation, number in zip(problem.operations, schedule.role, strict=True)
        )
        count = limits.base_registers + _peak(spans[role], schedule.interval)
        count = count if has_tiles else limits.producer_registers
        if count > limits.thread_registers:
            yield f"a role needs {count} registers per thread, the limit is {limits.thread_registers}"
        # A warp has 32 threads.
        total += 32 * warps * count
    if total > limits.registers:
        yield f"the roles need {total} registers, the SM has {limits.registers}"


def _role_warps(problem: Problem, schedule: Schedule) -> dict[int, int]:
    warps: dict[int, int] = {}
    for operation, role in zip(problem.operations, schedule.role, strict=True):
        warps[role] = max(warps.get(role, 0), operation.warps)
    return warps


def _warps(problem: Problem, schedule: Schedule) -> Iterator[str]:
    warps = sum(_role_warps(problem, schedule).values())
    if warps > problem.limits.warps:
        yield f"the roles have {warps} warps, the limit is {problem.limits.warps}"


def _peak(spans: Iterable[Span], interval: int) -> int:
    """The largest sum of amounts at any clock of the steady state, where each span recurs every interval."""
    changes: defaultdict[int, int] = defaultdict(int)
    level = 0
    for start, end, amount in spans:
        whole, rest = divmod(end - start, interval)
        # A span longer than an interval overlaps itself.
        level += whole * amount
        if rest:
            first, last = start % interval, (start + rest) % interval
            changes[first] += amount
            changes[last] -= amount
            if last < first:
                level += amount
    peak = level
    for _, change in sorted(changes.items()):
        level += change
        peak = max(peak, level)
    return peak
