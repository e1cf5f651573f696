"""Loops of roles that are slower than their bound get the order, the iterations ahead and the slots of a schedule.

before:   for i < n { s = f(i);  g(i, s);  h(i) }                      f(i + 1) waits for h(i)
after:    s = f(0);  for i < n - 1 { g(i, s);  s = f(i + 1);  h(i) };  g(n - 1, s);  h(n - 1)

The schedule is that of `lowering/schedule`: a stored answer, a list schedule, or, if asked for, that of the solver.
Roles stay. Each role issues its operations in the order of the schedule, as far as operands, and the places that they
access, allow. The rewritten code is read again: it is kept if iterations of its steady state are shorter, also with a
slower memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import MULTIPLIES, STEPS
from tilec.dialect.tile_gpu.channel import MakeChannelOp, ReleaseOp, SkipOp
from tilec.dialect.tile_gpu.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.matrix import DotOp, WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.memory import OrderSignalOp, OrderWaitOp
from tilec.dialect.tile_gpu.tma import TmaLoadOp
from tilec.dialect.walk import operations_inside
from tilec.errors import UnsupportedError
from tilec.lowering.gpu.bound_loops import is_bound, is_in_open_loop, remove_marks
from tilec.lowering.gpu.enclosing import ancestor_in
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.live_tiles import tile_peak
from tilec.lowering.gpu.loop_parts import LoopPart, divided_loops
from tilec.lowering.gpu.loop_problem import LoopProblem, loop_problem
from tilec.lowering.gpu.loop_schedule import GAIN, role_orders, shorter_schedule, steady_intervals
from tilec.lowering.gpu.occupancy import blocks_together
from tilec.lowering.gpu.operation_role import LOAD, MULTIPLY, is_rematerializable
from tilec.lowering.gpu.pipeline import set_stages
from tilec.lowering.gpu.register_budgets import registers_of_role, set_budgets
from tilec.lowering.gpu.repeats import repeats
from tilec.lowering.gpu.role_liveness import liveness
from tilec.lowering.gpu.scheduled_body import operations_of_body, schedule_body
from tilec.lowering.gpu.scratch_use import scratch_bytes
from tilec.lowering.gpu.shared_plan import shared_plan
from tilec.lowering.kernel_hints import OCCUPANCY
from tilec.lowering.schedule.exact import solver_name
from tilec.lowering.schedule.role_order import RoleOrder
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.target import Target
from tilec.remarks import Remark

# Operations that are so many iterations ahead have as many copies in front of the loop.
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
# The roles that get another order, from the least change of the code on.
_VARIANTS: tuple[Callable[[str], bool], ...] = (
    lambda role: False,
    lambda role: role == MULTIPLY,
    lambda role: role in (LOAD, MULTIPLY),
    lambda role: role != LOAD,
    lambda role: True,
)


def follow_schedule(kernel: KernelOp, context: Context) -> KernelOp:
    """Rewrites loops of a kernel with roles; returns the kernel, which may be another operation in the same place.

    Of the options, `solver`, `stages` (the most slots of a ring) and `register_budgets` (whether roles without budgets
    may get some) count here.
    """
    options, remarks = context.options, context.remarks
    if options.solver and solver_name() is None:
        message = "solver=on is not followed: OR-Tools is not installed; install tilec[schedule]"
        remarks.append(Remark("hint", message, source_location(kernel.operation.location)))
    numbers = list(_loops_with_choices(kernel))
    if kernel.roles is not None:
        remove_marks(operations_inside(kernel))
    for number in numbers:
        kernel = _Loop(kernel, number, context.target, options).followed()
    return kernel


def has_choices(kernel: KernelOp) -> bool:
    """Whether a schedule may change an innermost loop of a kernel with roles."""
    return any(True for _ in _loops_with_choices(kernel))


def _loops_with_choices(kernel: KernelOp) -> Iterator[int]:
    """The numbers of the innermost loops of a kernel with roles that a schedule may change."""
    multiplies = (op for op in operations_inside(kernel) if op.name in _MULTIPLIES)
    # Most kernels have one loop, and marks are quicker to read than parts.
    if kernel.roles is not None and any(map(is_in_open_loop, multiplies)):
        for number, parts in enumerate(divided_loops(kernel)):
            if not is_bound(parts) and _has_choices(parts):
                yield number


def _has_choices(parts: Sequence[LoopPart]) -> bool:
    """Whether a loop multiplies, and does more than one multiply of what TMA loads: of that `ring-depth` has the slots.

    Loops without multiplies wait for memory, and several blocks of an SM do so at the same time.
    """
    loops = {part.loop.operation: part.loop for part in parts}
    operations = [op for loop in loops.values() for op in operations_inside(loop)]
    multiplies = [op for op in operations if op.name in _MULTIPLIES]
    is_alone = all(op.name in _OF_MULTIPLIES or is_rematerializable(op) for op in operations)
    return bool(multiplies) and not (is_alone and len(multiplies) == 1)


@dataclass(frozen=True)
class _Loop:
    """One loop of a kernel, by its number among the innermost ones."""

    kernel: KernelOp
    number: int
    target: Target
    options: CompileOptions

    def followed(self) -> KernelOp:
        """The kernel with the fastest of the loops that a schedule makes of this one; else the kernel as it is."""
        found = self._problem(self.kernel)
        schedule = None if found is None else shorter_schedule(found, self.options.solver)
        now = None if found is None or schedule is None else steady_intervals(found)
        if found is None or schedule is None or now is None:
            return self.kernel
        best, kept = now, self.kernel
        for has_new_order in _VARIANTS:
            made = self._rewritten(found, schedule, has_new_order)
            times = None if made is None else self._times(made)
            if made is not None and times is not None and times[0] < (1 - GAIN) * best[0] and times[1] <= best[1]:
                best, kept, made = times, made, None if kept is self.kernel else kept
            if made is not None:
                made.operation.erase()
        if kept is not self.kernel:
            self.kernel.operation.erase()
        return kept

    def _problem(self, kernel: KernelOp) -> LoopProblem | None:
        loops = divided_loops(kernel)
        if self.number >= len(loops):
            return None
        return loop_problem(kernel, loops[self.number], shared_plan(kernel, self.target), self.target)

    def _times(self, made: KernelOp) -> tuple[int, int] | None:
        """The intervals of the rewritten loop; None if it does not fit its target, or has no steady state."""
        try:
            if self._blocks(made) < self._blocks(self.kernel) or not liveness(made).is_proven:
                return None
            found = self._problem(made)
        except UnsupportedError:
            return None
        return None if found is None else steady_intervals(found)

    def _blocks(self, kernel: KernelOp) -> int:
        """The blocks that share an SM; 0 if one does not fit."""
        plan = shared_plan(kernel, self.target)
        needed = plan.bytes_with(scratch_bytes(kernel))
        if needed > self.target.shared_bytes:
            return 0
        return blocks_together(kernel, self.target, needed, plan.tensor_columns)

    def _rewritten(
        self, found: LoopProblem, schedule: Schedule, has_new_order: Callable[[str], bool]
    ) -> KernelOp | None:
        """A copy of the kernel behind it whose loop has the slots of a schedule, and its order in some roles."""
        orders = {role: order for role, order in role_orders(found, schedule).items() if has_new_order(role)}
        orders = {role: order for role, order in orders.items() if not order.is_present()}
        slots = self._slots(found, schedule)
        if any(max(order.advances) > _MOST_ADVANCE for order in orders.values()) or not (orders or slots):
            return None
        with self.kernel.operation.location:
            made = self.kernel.operation.clone(ip=ir.InsertionPoint.after(self.kernel.operation)).opview
        copies = dict(zip(_operations(self.kernel), _operations(made), strict=True))
        for channel, count in slots.items():
            set_stages(copies[channel.owner].opview, count)
        if not all(self._reorder(made, found, order, copies) for order in orders.values()):
            made.operation.erase()
            return None
        return made

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
        self, made: KernelOp, found: LoopProblem, order: RoleOrder, copies: Mapping[ir.Operation, ir.Operation]
    ) -> bool:
        """Gives the loop of a role an order; returns False if it cannot have it."""
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
        rewritten = schedule_body(copies[loop], ranks, advances)
        if rewritten is None:
            return False
        needed = _needed_registers(rewritten)
        return needed <= _needed_registers(loop) or self._has_registers(made, rewritten, needed)

    def _has_registers(self, made: KernelOp, loop: ir.Operation, needed: int) -> bool:
        """Whether the role of a loop has so many registers, perhaps by new budgets."""
        roles = made.roles
        assert roles is not None, "loops of roles are rewritten"
        number = _role_around(loop, roles)
        if any(op.name == _WARPGROUP_MULTIPLY for op in operations_inside(loop)):
            needed += _WARPGROUP_MARGIN
        if needed > registers_of_role(roles, number) and self.options.register_budgets:
            set_budgets(made, roles, {number: needed})
        return needed <= registers_of_role(roles, number)


def _is_own_ring(channel: ir.Value) -> bool:
    """Whether no other channel uses the slots of a ring."""
    made = channel.owner.opview
    others = [use.owner.operation.name for use in channel.uses]
    return made.reuse == "ring" and made.shares is None and MakeChannelOp.OPERATION_NAME not in others


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
