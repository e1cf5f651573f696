"""Loops of roles that are slower than their bound get the order, the iterations ahead and the slots of a schedule.

before:   for i < n { s = f(i);  g(i, s);  h(i) }                      f(i + 1) waits for h(i)
after:    s = f(0);  for i < n - 1 { g(i, s);  s = f(i + 1);  h(i) };  g(n - 1, s);  h(n - 1)

The schedule is that of `lowering/schedule`: a stored answer, a list schedule, or, if asked for, that of the solver.
Roles stay. Each role issues its operations in the order of the schedule, as far as operands, and the places that they
access, allow. The loop gets the schedule if the iterations of its steady state are shorter then, also with a slower
memory: a copy has it expanded, and is read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilec import cache_files, options
from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import MULTIPLIES, STEPS
from tilec.dialect.tile_gpu.channel import ReleaseOp, SkipOp
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.matrix import DotOp, WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.memory import OrderSignalOp, OrderWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.tile_gpu.tma import TmaLoadOp
from tilec.dialect.walk import operations_inside
from tilec.errors import UnsupportedError
from tilec.lowering.gpu.channels.pipeline import set_stages
from tilec.lowering.gpu.ir.enclosing import LOOPS, ancestor_in, path_to
from tilec.lowering.gpu.ir.operation_role import LOAD, MULTIPLY, is_rematerializable
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.slots import has_own_slots
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_attributes import repeats
from tilec.lowering.gpu.loops.loop_parts import LoopPart, divided_loops
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import shared_plan
from tilec.lowering.gpu.roles.register_budgets import registers_for
from tilec.lowering.gpu.schedule.expand_schedules import arranged
from tilec.lowering.gpu.schedule.legal_schedules import is_live, operations_of_body, order_of, write_schedules
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem, loop_problem
from tilec.lowering.gpu.schedule.present_interval import present_schedule, role_numbers
from tilec.lowering.kernel_hints import OCCUPANCY
from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.exact import Budget, search, solver_name
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.parts import Kind, ProblemError
from tilec.lowering.schedule.problem import Problem, quantized
from tilec.lowering.schedule.schedule import RoleOrder, Schedule, role_order
from tilec.lowering.schedule.store import Store
from tilec.lowering.target import Target
from tilec.remarks import Remark

# The part of an iteration that is worth other code.
_GAIN = 0.01
# The time of the solver for one loop.
_BUDGET = Budget(probe=1.0, search=2.0, improve=0.2)
# Loads from DRAM take about this much longer than those from L2, whose latency problems have.
_SLOW_MEMORY = 1.5
# Rings are full after the first third of these iterations, for they seldom have more than eight slots.
_FEW_ITERATIONS = 24
# Operations have as many copies before the loop as they are iterations ahead.
_MOST_ADVANCE = 3
_MULTIPLIES = tuple(name for name in MULTIPLIES if name != DotOp.OPERATION_NAME)
# What a loop of one multiply has besides scalars.
_OF_MULTIPLIES = (
    *_MULTIPLIES,
    *(*STEPS, TmaLoadOp.OPERATION_NAME),
    *(WgmmaWaitOp.OPERATION_NAME, "scf.if", "scf.yield"),
)
# Registers that a thread has beside those needed while multiplies of its warpgroup are in flight: ptxas 13.5 serializes
# them (C7511) in attention with tiles of 64x128, where 241 of 255 are needed.
_WARPGROUP_MULTIPLY, _WARPGROUP_MARGIN = WgmmaOp.OPERATION_NAME, 16
# Operations that count on the order of their body.
_ORDERED = (OrderWaitOp.OPERATION_NAME, OrderSignalOp.OPERATION_NAME, SkipOp.OPERATION_NAME)
_BUDGETS = "registers"
# The roles that get another order, from the least change of the code on.
_VARIANTS: tuple[Callable[[str], bool], ...] = (
    lambda role: False,
    lambda role: role == MULTIPLY,
    lambda role: role in (LOAD, MULTIPLY),
    lambda role: role != LOAD,
    lambda role: True,
)


def follow_schedule(kernel: KernelOp, context: Context) -> None:
    """Gives loops of a kernel with roles schedules, and their rings the slots of these.

    Of the options, `solver`, `stages` (the most slots of a ring) and `register_budgets` (whether roles without budgets
    may get some) count here.
    """
    options, remarks = context.options, context.remarks
    if options.solver and solver_name() is None:
        message = "solver=on is not followed: OR-Tools is not installed; install tilec[schedule]"
        remarks.append(Remark("hint", message, source_location(kernel.operation.location)))
    for number in list(_loops_with_choices(kernel, context)):
        _Loop(kernel, number, context).follow()


def _loops_with_choices(kernel: KernelOp, context: Context) -> Iterator[int]:
    """The numbers of the innermost loops of a kernel with roles that a schedule may change."""

    def is_in_open_loop(op: ir.Operation) -> bool:
        loops = [id_of(outer) for outer in path_to(op) if outer.name in LOOPS]
        return bool(loops) and context.at_bound.isdisjoint(loops)

    multiplies = (op for op in operations_inside(kernel) if op.name in _MULTIPLIES)
    # Most kernels have one loop, and the loops around a multiply are quicker to read than the parts of all.
    if kernel.roles is not None and any(map(is_in_open_loop, multiplies)):
        for number, parts in enumerate(divided_loops(kernel)):
            is_at_bound = any(id_of(part.loop.operation) in context.at_bound for part in parts)
            if not is_at_bound and _has_choices(parts):
                yield number


def _has_choices(parts: Sequence[LoopPart]) -> bool:
    """Whether a loop multiplies, and does more than one multiply of what TMA loads: of that `pipeline` has the slots.

    Loops without multiplies wait for memory, and several blocks of an SM do so at the same time.
    """
    loops = {part.loop.operation: part.loop for part in parts}
    operations = [op for loop in loops.values() for op in operations_inside(loop)]
    multiplies = [op for op in operations if op.name in _MULTIPLIES]
    is_alone = all(op.name in _OF_MULTIPLIES or is_rematerializable(op) for op in operations)
    return bool(multiplies) and not (is_alone and len(multiplies) == 1)


@dataclass
class _Candidate:
    """A schedule of a loop.

    Attributes:
        trial: a copy of the kernel whose loop has it expanded.
        slots: the slots of rings whose number changes.
        orders: the operations of the loop of each role in their order, with the iterations by which they are ahead.
        budgets: the registers of all roles, if it needs others.
    """

    trial: KernelOp
    slots: Mapping[ir.Value, int]
    orders: dict[ir.Operation, LoopOrder] = field(default_factory=dict)
    budgets: ir.Attribute | None = None


@dataclass(frozen=True)
class _Loop:
    """One loop of a kernel, by its number among the innermost ones."""

    kernel: KernelOp
    number: int
    context: Context

    @property
    def target(self) -> Target:
        return self.context.target

    @property
    def options(self) -> CompileOptions:
        return self.context.options

    def follow(self) -> None:
        """Gives the loop the fastest of the schedules that `lowering/schedule` finds for it, if one is faster."""
        found = self._problem(self.kernel)
        now = None if found is None else _steady_intervals(found)
        if found is None or now is None:
            return
        best, kept = now, None
        for order, slots in self._choices(found):
            candidate = self._candidate(found, order, slots)
            if candidate is None:
                continue
            times = self._times(candidate)
            if times is not None and times[0] < (1 - _GAIN) * best[0] and times[1] <= best[1]:
                best, kept = times, candidate
            candidate.trial.operation.erase()
        if kept is not None:
            self._keep(kept)

    def _choices(self, found: LoopProblem) -> Iterator[tuple[Mapping[str, RoleOrder], Mapping[ir.Value, int]]]:
        """The orders of roles to try, each with the slots of rings that change; none if the loop is near its bound."""
        schedule = _shorter_schedule(found, self.options.solver)
        if schedule is not None:
            orders, slots = _role_orders(found, schedule), self._slots(found, schedule)
            for has_new_order in _VARIANTS:
                yield {role: order for role, order in orders.items() if has_new_order(role)}, slots
        if schedule is not None or _most_clocks(found) is not None:
            yield _order_of_late_sums(found), {}

    def _keep(self, candidate: _Candidate) -> None:
        """Gives the loop a schedule that is legal with the slots that its rings get, and its roles what it needs."""
        before = {channel: channel.owner.opview.stages for channel in candidate.slots}
        for channel, count in candidate.slots.items():
            set_stages(channel.owner, count)
        if not write_schedules(self.kernel, candidate.orders, self.context):
            for channel, count in before.items():
                set_stages(channel.owner, count)
            return
        if candidate.budgets is not None:
            assert self.kernel.roles is not None, "loops of roles have schedules"
            self.kernel.roles.operation.attributes[_BUDGETS] = candidate.budgets

    def _problem(self, kernel: KernelOp) -> LoopProblem | None:
        loops = divided_loops(kernel)
        if self.number >= len(loops):
            return None
        return loop_problem(kernel, loops[self.number], shared_plan(kernel, self.target), self.target)

    def _times(self, candidate: _Candidate) -> tuple[int, int] | None:
        """The intervals of the loop with a schedule; None if it does not fit its target, or has no steady state."""
        try:
            if self._blocks(candidate.trial) < self._blocks(self.kernel) or not is_live(candidate.trial):
                return None
            found = self._problem(candidate.trial)
        except UnsupportedError:
            return None
        return None if found is None else _steady_intervals(found)

    def _blocks(self, kernel: KernelOp) -> int:
        """The blocks that share an SM; 0 if one does not fit."""
        plan = shared_plan(kernel, self.target)
        needed = plan.bytes_with(scratch_bytes(kernel))
        if needed > self.target.shared_bytes:
            return 0
        return blocks_together(kernel, self.target, needed, plan.tensor_columns)

    def _candidate(
        self, found: LoopProblem, orders: Mapping[str, RoleOrder], slots: Mapping[ir.Value, int]
    ) -> _Candidate | None:
        """A candidate with some slots, and an order in some roles; None if the loop cannot have them."""
        orders = {role: order for role, order in orders.items() if not order.is_present()}
        if any(max(order.advances) > _MOST_ADVANCE for order in orders.values()) or not (orders or slots):
            return None
        with self.kernel.operation.location:
            made = self.kernel.operation.clone(ip=ir.InsertionPoint.after(self.kernel.operation)).opview
        copies = dict(zip(_operations(self.kernel), _operations(made), strict=True))
        for channel, count in slots.items():
            set_stages(copies[channel.owner].opview, count)
        candidate = _Candidate(made, slots)
        if not all(self._reorder(candidate, found, order, copies) for order in orders.values()):
            made.operation.erase()
            return None
        return candidate

    def _slots(self, found: LoopProblem, schedule: Schedule) -> dict[ir.Value, int]:
        """The slots of the rings whose number changes: no ring has less than now if all of them fit."""
        wanted = [max(slots, now) for slots, now in zip(schedule.depth, found.slots, strict=True)]
        for memory, capacity in found.problem.capacity.items():
            sizes = [buffer.size if buffer.memory == memory else 0 for buffer in found.problem.buffers]
            if sum(size * count for size, count in zip(sizes, wanted, strict=True)) > capacity:
                wanted = list(schedule.depth)
        rings = zip(found.channels, wanted, found.slots, strict=True)
        changed = {channel: count for channel, count, now in rings if count != now}
        most = self.options.stages
        is_allowed = OCCUPANCY not in self.kernel.operation.attributes and all(
            _is_own_ring(channel) and _least_slots(channel) <= count <= (most or count)
            for channel, count in changed.items()
        )
        return changed if is_allowed else {}

    def _reorder(
        self, candidate: _Candidate, found: LoopProblem, order: RoleOrder, copies: Mapping[ir.Operation, ir.Operation]
    ) -> bool:
        """Adds the order of a role to a candidate; returns False if its loop cannot have it."""
        loop = found.parts[order.operations[0]].loop.operation
        if repeats(loop) > 1 or any(op.name in _ORDERED for op in operations_inside(loop)):
            return False
        numbers = {op: number for number, op in enumerate(operations_of_body(loop))}
        ranks, advances = dict[int, int](), dict[int, int]()
        for rank, (node, count) in enumerate(zip(order.operations, order.advances, strict=True)):
            for op in found.members[node]:
                number = numbers[ancestor_in(op, loop.regions[0].blocks[0])]
                ranks.setdefault(number, rank)
                if advances.setdefault(number, count) != count:
                    return False
        made = arranged(copies[loop], ranks, advances)
        if made is None:
            return False
        rewritten, positions = made
        candidate.orders[loop] = order_of(loop, positions)
        needed = _needed_registers(rewritten)
        return needed <= _needed_registers(loop) or self._has_registers(candidate, rewritten, needed)

    def _has_registers(self, candidate: _Candidate, loop: ir.Operation, needed: int) -> bool:
        """Whether the role of a loop has `needed` registers, perhaps by new budgets."""
        roles = candidate.trial.roles
        assert roles is not None, "loops of roles are rewritten"
        number = _role_around(loop, roles)
        if any(op.name == _WARPGROUP_MULTIPLY for op in operations_inside(loop)):
            needed += _WARPGROUP_MARGIN
        registers = registers_for(candidate.trial, number, needed, self.options)
        candidate.budgets = roles.operation.attributes[_BUDGETS] if roles.registers is not None else None
        return needed <= registers


def _is_own_ring(channel: ir.Value) -> bool:
    """Whether no other channel uses the slots of a ring."""
    made = channel.owner.opview
    return made.reuse == "ring" and has_own_slots(made)


def _least_slots(channel: ir.Value) -> int:
    """A consumer that releases late gets the next slot before."""
    users = (use.owner.operation for use in channel.uses)
    return 2 if any(user.name == ReleaseOp.OPERATION_NAME and user.opview.late for user in users) else 1


def _operations(kernel: KernelOp) -> Iterator[ir.Operation]:
    return iter(operations_inside(kernel))


def _needed_registers(loop: ir.Operation) -> int:
    return tile_peak(loop.regions[0].blocks[0]).needed


def _role_around(op: ir.Operation, roles: RolesOp) -> int:
    """The number of the role that contains an operation."""
    while op.parent.operation != roles.operation:
        op = op.parent.operation
    blocks = [region.blocks[0] for region in roles.bodies.values()]
    return blocks.index(op.block)


def _shorter_schedule(found: LoopProblem, has_solver: bool) -> Schedule | None:
    """A schedule of a loop; None if the code is near its bound, or nothing shorter is found.

    It is a stored answer, or a list schedule; with the solver also one that the solver finds.
    """
    upper = _most_clocks(found)
    try:
        store = Store(_folder() if has_solver else None, _BUDGET)
        search_exactly = search if has_solver else _no_search
        return None if upper is None else solve(_pinned(found), store, _BUDGET, search_exactly, upper=upper).schedule
    except ProblemError:
        return None


def _most_clocks(found: LoopProblem) -> int | None:
    """The interval of a schedule that is worth other code; None if the code is near its bound, or has no interval."""
    now = present_schedule(found, quantized(found.problem), _FEW_ITERATIONS)
    upper = 0 if now is None else math.floor((1 - _GAIN) * now.interval)
    try:
        return upper if bound(quantized(_pinned(found)), role_numbers(found)).interval < upper else None
    except ProblemError:
        return None


def _pinned(found: LoopProblem) -> Problem:
    """The problem of a loop whose operations have their roles."""
    named = zip(found.problem.operations, found.roles, strict=True)
    return replace(found.problem, operations=tuple(replace(operation, role=role) for operation, role in named))


def _no_search(*_: object) -> None:
    """The exact scheduler of a compile without the solver: it finds nothing."""


def _steady_intervals(found: LoopProblem) -> tuple[int, int] | None:
    """The interval of the steady state of a loop, and that with a slower memory; None if it has none."""
    states = [present_schedule(found, quantized(each)) for each in (found.problem, _slower(found.problem))]
    intervals = [state.interval for state in states if state is not None]
    return (intervals[0], intervals[1]) if len(intervals) == len(states) else None


def _role_orders(found: LoopProblem, schedule: Schedule) -> dict[str, RoleOrder]:
    """The order that a schedule asks for in each role; warpgroups of one role have that of the first."""
    first = {part.loop.operation: number for number, part in reversed(list(enumerate(found.parts)))}
    return {found.roles[number]: role_order(schedule, schedule.role[number], found.ahead) for number in first.values()}


def _order_of_late_sums(found: LoopProblem) -> dict[str, RoleOrder]:
    """The order in which multiplies that run ahead follow the others, for which threads may wait."""
    numbers = [number for number, role in enumerate(found.roles) if role == MULTIPLY]
    order = sorted(numbers, key=lambda number: found.ahead[number] > 0)
    return {MULTIPLY: RoleOrder(tuple(order), (0,) * len(order))} if order else {}


def _folder() -> str | None:
    """The folder of answers; None if the cache keeps nothing, or if other users could write it."""
    return cache_files.folder("schedules") if options.cache_size_bytes() else None


def _slower(problem: Problem) -> Problem:
    """A problem whose loads take longer."""
    streams = {operation.name for operation in problem.operations if operation.kind == Kind.STREAM}
    edges = (
        replace(edge, latency=round(edge.latency * _SLOW_MEMORY)) if edge.source in streams else edge
        for edge in problem.edges
    )
    return replace(problem, edges=tuple(edges))
