"""The interval of a loop as it is, each role in program order, with the present rings: a bound, and a schedule."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.lowering.gpu.cost.loop_cycles import cycles_of
from tilec.lowering.gpu.cost.loop_work import loops_of
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_parts import divided_loops
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import shared_plan
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem, loop_problem
from tilec.lowering.model.constants import device_of
from tilec.lowering.schedule.arcs import Arc, edge_arcs, least_interval, ring_arcs
from tilec.lowering.schedule.bound import Bound, unit_bound
from tilec.lowering.schedule.parts import Kind
from tilec.lowering.schedule.problem import QUANTUM, Problem, quantized
from tilec.lowering.schedule.schedule import RoleOrder, Schedule
from tilec.lowering.schedule.steady_state import ITERATIONS, steady_state

# Rings are full after the first third of these iterations, for they seldom have more than eight slots.
FEW_ITERATIONS = 24
# The part of an iteration that is worth other code.
GAIN = 0.01
# Loads from DRAM take about this much longer than those from L2, whose latency problems have.
_SLOW_MEMORY = 1.5


def present_interval(loop: LoopProblem, rounded: Problem) -> int | None:
    """A lower bound, in clocks, of the interval of a loop with its problem in the quantum; None if it has none.

    It is the greatest of the busiest unit and the longest recurrence, among them the order of each role. Waits for
    units that are busy are not counted.
    """
    roles = role_numbers(loop)
    slots = {buffer.name: count for buffer, count in zip(rounded.buffers, loop.slots, strict=True)}
    arcs = edge_arcs(rounded, roles) + ring_arcs(rounded, slots, frozenset()) + _order(rounded, roles, loop.ahead)
    units: Bound = unit_bound(rounded)
    most = units.interval + sum(arc.latency for arc in arcs)
    interval = least_interval(len(rounded.operations), arcs, QUANTUM, most)
    return None if interval is None else max(interval, units.interval)


def present_schedule(loop: LoopProblem, rounded: Problem, iterations: int = ITERATIONS) -> Schedule | None:
    """The steady state of a loop as it is, where roles share units; None if it has none.

    It is a legal schedule if all iterations are alike, and no operations use a unit at the same time.
    """
    return steady_state(rounded, role_numbers(loop), loop.ahead, loop.slots, iterations)


class SteadyState:
    """The steady state of a loop, which is computed when it is asked for.

    Attributes:
        loop: the loop.
    """

    def __init__(self, loop: LoopProblem) -> None:
        self.loop = loop

    @cached_property
    def rounded(self) -> Problem:
        """The problem of the loop in the quantum."""
        return quantized(self.loop.problem)

    @cached_property
    def of_few_iterations(self) -> Schedule | None:
        """The loop as it is, by its first iterations; None if it has no steady state."""
        return present_schedule(self.loop, self.rounded, FEW_ITERATIONS)

    @cached_property
    def interval(self) -> float:
        """The clocks of an iteration; infinity without a steady state."""
        return _steady_interval(self.loop, self.rounded)

    @cached_property
    def slow_interval(self) -> float:
        """Those with a slower memory."""
        return _steady_interval(self.loop, quantized(_slower(self.loop.problem)))

    def is_faster_than(self, other: SteadyState) -> bool:
        """Whether iterations are shorter by what is worth other code, and not longer with a slower memory."""
        return self.interval < (1 - GAIN) * other.interval < math.inf and self._is_as_robust_as(other)

    def is_at_least(self, other: SteadyState) -> bool:
        """Whether iterations are not longer, nor with a slower memory."""
        return self.interval <= other.interval < math.inf and self._is_as_robust_as(other)

    def _is_as_robust_as(self, other: SteadyState) -> bool:
        return self.slow_interval <= other.slow_interval < math.inf


def steady_state_of(kernel: KernelOp, number: int, context: Context) -> SteadyState | None:
    """That of the innermost loop of a number; None if it has no problem."""

    def read() -> SteadyState | None:
        loops = context.once(divided_loops, lambda: divided_loops(kernel))
        found = loop_problem(kernel, loops[number], context.plan(kernel), context.target)
        return None if found is None else SteadyState(found)

    return context.once((SteadyState, number), read)


def reordered(found: LoopProblem, orders: Mapping[str, RoleOrder], slots: Mapping[ir.Value, int]) -> LoopProblem:
    """A loop with the operations of some roles in another order, and rings with other slots."""
    following: dict[str, Iterator[tuple[int, int]]] = {}
    for role in dict.fromkeys(found.roles):
        numbers = [number for number, each in enumerate(found.roles) if each == role]
        for order in orders.values():
            # Warpgroups of one role have one loop.
            if found.parts[numbers[0]].loop.operation == found.parts[order.operations[0]].loop.operation:
                own = dict(zip(sorted(order.operations), numbers, strict=True))
                following[role] = iter(
                    [(own[each], count) for each, count in zip(order.operations, order.advances, strict=True)]
                )
    places = [next(following[role]) if role in following else (at, 0) for at, role in enumerate(found.roles)]
    numbers = [number for number, _ in places]
    return replace(
        found,
        problem=replace(found.problem, operations=tuple(found.problem.operations[number] for number in numbers)),
        slots=tuple(slots.get(ring, now) for ring, now in zip(found.channels, found.slots, strict=True)),
        ahead=tuple(found.ahead[number] + further for number, further in places),
        parts=tuple(found.parts[number] for number in numbers),
        members=tuple(found.members[number] for number in numbers),
    )


def _steady_interval(found: LoopProblem, rounded: Problem) -> float:
    state = present_schedule(found, rounded)
    return math.inf if state is None else state.interval


def _slower(problem: Problem) -> Problem:
    streams = {operation.name for operation in problem.operations if operation.kind == Kind.STREAM}
    edges = (
        replace(edge, latency=round(edge.latency * _SLOW_MEMORY)) if edge.source in streams else edge
        for edge in problem.edges
    )
    return replace(problem, edges=tuple(edges))


def role_numbers(loop: LoopProblem) -> tuple[int, ...]:
    """The number of the present role of each operation."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(loop.roles))}
    return tuple(numbers[name] for name in loop.roles)


def _order(problem: Problem, roles: tuple[int, ...], ahead: tuple[int, ...]) -> list[Arc]:
    """Each operation of a role starts after the one before; the first one after the last of the iteration before.

    An operation that is `ahead` follows those of an earlier iteration, so that distances may be negative.
    """
    members: defaultdict[int, list[int]] = defaultdict(list)
    for number, role in enumerate(roles):
        members[role].append(number)
    arcs = []
    for numbers in members.values():
        arcs += [
            Arc(first, second, problem.operations[first].duration, ahead[second] - ahead[first])
            for first, second in zip(numbers, numbers[1:], strict=False)
        ]
        first, last = numbers[0], numbers[-1]
        arcs.append(Arc(last, first, problem.operations[last].duration, 1 + ahead[first] - ahead[last]))
    return arcs


def cycles_of_kernel(kernel: KernelOp, context: Context) -> float:
    """The modelled cycles of an iteration of each loop, if as many blocks as fit share an SM."""
    device, plan = device_of(context.target.name), shared_plan(kernel, context.target)
    blocks = blocks_together(kernel, context.target, plan.bytes_with(scratch_bytes(kernel)), plan.tensor_columns)
    innermost = (each for each in loops_of(kernel, device, counts_outside=False) if not each.has_inner_loops)
    return sum(cycles_of(each, device, blocks).cycles for each in innermost if each.depth >= 0 and not each.is_prologue)
