"""Loops of roles that are slower than their bound get the order, the iterations ahead and the slots of a schedule.

before:   for i < n { s = f(i);  g(i, s);  h(i) }                      f(i + 1) waits for h(i)
after:    s = f(0);  for i < n - 1 { g(i, s);  s = f(i + 1);  h(i) };  g(n - 1, s);  h(n - 1)

The schedule is that of `lowering/schedule`: a list schedule, or, if asked for, that of the solver.
Roles stay. Each role issues its operations in the order of the schedule, as far as operands, and the places that they
access, allow. The loop gets the schedule if the iterations of its steady state are shorter then, also with a slower
memory: a copy has it expanded, and is read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilec import cache_files, options
from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.channel import ReleaseOp, SkipOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import OrderSignalOp, OrderWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import operations_inside
from tilec.errors import UnsupportedError
from tilec.lowering.gpu.channels.pipeline import set_stages
from tilec.lowering.gpu.ir.enclosing import LOOPS, ancestor_in, path_to
from tilec.lowering.gpu.ir.operation_role import MULTIPLY
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.slots import has_own_slots
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_attributes import repeats
from tilec.lowering.gpu.loops.loop_parts import UNIT_MULTIPLIES, divided_loops, has_choices
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import shared_plan
from tilec.lowering.gpu.roles.register_budgets import registers_for
from tilec.lowering.gpu.schedule.delay_multiplies import WARPGROUP_MARGIN
from tilec.lowering.gpu.schedule.expand_schedules import arranged
from tilec.lowering.gpu.schedule.legal_schedules import is_live, operations_of_body, order_of, write_schedules
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem, loop_problem
from tilec.lowering.gpu.schedule.present_interval import (
    GAIN,
    SteadyState,
    cycles_of_kernel,
    reordered,
    role_numbers,
    steady_state_of,
)
from tilec.lowering.gpu.schedule.role_orders import order_of_first_multiplies, order_of_late_sums, variants
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.exact import Budget, search, solver_name
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.parts import ProblemError
from tilec.lowering.schedule.problem import Problem, quantized
from tilec.lowering.schedule.schedule import RoleOrder, Schedule
from tilec.lowering.schedule.store import Store
from tilec.lowering.target import Target
from tilec.remarks import Remark

# The time of the solver for one loop.
_BUDGET = Budget(probe=1.0, search=2.0, improve=0.2)
_WARPGROUP_MULTIPLY = WgmmaOp.OPERATION_NAME
# Operations that count on the order of their body.
_ORDERED = (OrderWaitOp.OPERATION_NAME, OrderSignalOp.OPERATION_NAME, SkipOp.OPERATION_NAME)
_BUDGETS = "registers"


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

    multiplies = (op for op in operations_inside(kernel) if op.name in UNIT_MULTIPLIES)
    # Most kernels have one loop, and the loops around a multiply are quicker to read than the parts of all.
    if kernel.roles is not None and any(map(is_in_open_loop, multiplies)):
        for number, parts in enumerate(context.once(divided_loops, lambda: divided_loops(kernel))):
            is_at_bound = any(id_of(part.loop.operation) in context.at_bound for part in parts)
            if not is_at_bound and has_choices(parts):
                yield number


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
        """Gives the loop the fastest of the schedules that `lowering/schedule` finds for it, if one is faster.

        A copy of the kernel is made of the schedules that may be so: with other slots, and operations in another order,
        the present problem has the same steady state, but for runs of operations that the new order joins or parts.
        """
        best, kept = steady_state_of(self.kernel, self.number, self.context), None
        if best is None:
            return
        found = best.loop
        least: float | None = None
        for orders, slots in self._choices(best):
            modelled = SteadyState(reordered(found, orders, slots))
            is_worth = modelled.is_at_least(best) if orders else slots and modelled.is_faster_than(best)
            candidate = self._candidate(found, orders, slots) if is_worth else None
            if candidate is None:
                continue
            times = self._steady_state(candidate.trial) if orders else modelled
            if times is not None and times.is_faster_than(best) and self._is_possible(candidate.trial):
                # A shorter interval is worth no other code if the loop then waits for something else.
                least = cycles_of_kernel(self.kernel, self.context) if least is None else least
                cycles = cycles_of_kernel(candidate.trial, self.context)
                if cycles <= (1 - GAIN) * least:
                    best, kept, least = times, candidate, cycles
            candidate.trial.operation.erase()
        if kept is not None:
            self._keep(kept)

    def _choices(self, state: SteadyState) -> Iterator[tuple[Mapping[str, RoleOrder], Mapping[ir.Value, int]]]:
        """The orders of roles to try, each with the slots of rings that change; none if the loop is near its bound."""
        most_clocks = _most_clocks(state)
        if most_clocks is None:
            return
        for loop in (state.loop, _without_more_memory(state.loop)):
            schedule = _shorter_schedule(loop, most_clocks, self.options.solver)
            slots = {} if schedule is None else self._slots(loop, schedule)
            if schedule is not None:
                yield from ((orders, slots) for orders in variants(state.loop, schedule))
            if not slots:
                break
        yield order_of_late_sums(state.loop), {}
        yield order_of_first_multiplies(state.loop), {}

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
        self.context.changed()

    def _steady_state(self, trial: KernelOp) -> SteadyState | None:
        """The steady state of the loop in a copy of the kernel; None if it does not fit its target."""
        loops = divided_loops(trial)
        if self.number >= len(loops):
            return None
        try:
            found = loop_problem(trial, loops[self.number], shared_plan(trial, self.target), self.target)
        except UnsupportedError:
            return None
        return None if found is None else SteadyState(found)

    def _is_possible(self, trial: KernelOp) -> bool:
        """Whether as many blocks of a copy of the kernel as now share an SM, and all of its roles terminate."""
        try:
            return self._blocks(trial) >= self._blocks(self.kernel) and is_live(trial)
        except UnsupportedError:
            return False

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
        """The loop with other slots, and another order in those of some roles that can have it; None if none can."""
        with self.kernel.operation.location:
            made = self.kernel.operation.clone(ip=ir.InsertionPoint.after(self.kernel.operation)).opview
        copies = dict(zip(operations_inside(self.kernel), operations_inside(made), strict=True))
        for channel, count in slots.items():
            set_stages(copies[channel.owner].opview, count)
        candidate = _Candidate(made, slots)
        impossible = next(
            (role for role, order in orders.items() if not self._reorder(candidate, found, order, copies)), None
        )
        if impossible is None:
            return candidate
        made.operation.erase()
        possible = {role: order for role, order in orders.items() if role != impossible}
        return self._candidate(found, possible, slots) if possible else None

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
        is_allowed = blocks_of_hint(self.kernel) == 1 and all(
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
        if order.operations and found.roles[order.operations[0]] == MULTIPLY:
            # One thread, which has scalars alone.
            return True
        needed = _needed_registers(rewritten)
        return needed <= _needed_registers(loop) or self._has_registers(candidate, rewritten, needed)

    def _has_registers(self, candidate: _Candidate, loop: ir.Operation, needed: int) -> bool:
        """Whether the role of a loop has `needed` registers, perhaps by new budgets."""
        roles = candidate.trial.roles
        assert roles is not None, "loops of roles are rewritten"
        number = _role_around(loop, roles)
        if any(op.name == _WARPGROUP_MULTIPLY for op in operations_inside(loop)):
            needed += WARPGROUP_MARGIN
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


def _needed_registers(loop: ir.Operation) -> int:
    return tile_peak(loop.regions[0].blocks[0]).needed


def _role_around(op: ir.Operation, roles: RolesOp) -> int:
    while op.parent.operation != roles.operation:
        op = op.parent.operation
    blocks = [region.blocks[0] for region in roles.bodies.values()]
    return blocks.index(op.block)


def _most_clocks(state: SteadyState) -> int | None:
    """The interval of a schedule that is worth other code; None if the code is near its bound, or has no interval."""
    now = state.of_few_iterations
    upper = 0 if now is None else math.floor((1 - GAIN) * now.interval)
    try:
        least = bound(quantized(_pinned(state.loop)), role_numbers(state.loop)).interval
    except ProblemError:
        return None
    return upper if least < upper else None


def _pinned(found: LoopProblem) -> Problem:
    """The problem of a loop whose operations have their roles."""
    named = zip(found.problem.operations, found.roles, strict=True)
    return replace(found.problem, operations=tuple(replace(operation, role=role) for operation, role in named))


def _without_more_memory(found: LoopProblem) -> LoopProblem:
    """The problem of a loop whose rings have the memory of their present slots: deeper ones may not be possible."""
    rings, limits = list(zip(found.problem.buffers, found.slots, strict=True)), found.problem.limits
    memories = tuple(
        replace(each, capacity=sum(buffer.size * count for buffer, count in rings if buffer.memory == each.name))
        for each in limits.memories
    )
    return replace(found, problem=replace(found.problem, limits=replace(limits, memories=memories)))


def _shorter_schedule(found: LoopProblem, most_clocks: int, has_solver: bool) -> Schedule | None:
    """A schedule of a loop with an interval of at most `most_clocks`; None if none is found.

    It is a list schedule; with the solver also one that the solver finds, or found before.
    """
    folder = _folder() if has_solver else None
    store = None if folder is None else Store(folder, _BUDGET)
    search_exactly = search if has_solver else _no_search
    try:
        return solve(_pinned(found), store, _BUDGET, search_exactly, upper=most_clocks).schedule
    except ProblemError:
        return None


def _no_search(*_: object) -> None:
    """The exact scheduler of a compile without the solver: it finds nothing."""


def _folder() -> str | None:
    """The folder of answers; None if the cache keeps nothing, or if other users could write it."""
    return cache_files.folder("schedules") if options.cache_size_bytes() else None
