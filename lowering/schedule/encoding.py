"""The scheduling problem at one interval as constraints of OR-Tools CP-SAT. Times are in quanta."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilec.lowering.schedule.arcs import earliest_starts, edge_arcs, same_components
from tilec.lowering.schedule.memory_share import least_slots, memory_share
from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind
from tilec.lowering.schedule.problem import QUANTUM, Problem
from tilec.lowering.schedule.schedule import Schedule, numbered_by_first

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

# Whole intervals that an operation may start after the earliest clock that dependences allow.
_FREE_STAGES = 2
# The weights of the secondary objective: bytes that move dominate, then warps and cut edges, then length and depths.
_MOVED_WEIGHT, _WARP_WEIGHT, _CUT_WEIGHT, _SLOT_WEIGHT = 100_000, 20_000, 20_000, 10
# Threads per warp.
_LANES = 32


@dataclass
class Encoding:
    """The model of a problem at an interval; with roles None they are variables.

    The attributes are variables or constants by operation, role and buffer.
    """

    problem: Problem
    interval: int
    roles: tuple[int, ...] | None
    model: cp_model.CpModel
    within: list[Any] = field(default_factory=list)
    start: list[Any] = field(default_factory=list)
    member: list[list[Any]] = field(default_factory=list)
    warps: list[Any] = field(default_factory=list)
    depth: dict[str, Any] = field(default_factory=dict)
    is_over: dict[str, Any] = field(default_factory=dict)
    cuts: list[tuple[Edge, Any]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """The interval in quanta."""
        return self.interval // QUANTUM

    def build(self) -> None:
        """Adds all variables and constraints."""
        self._starts()
        self._role_members()
        self._edges()
        self._units()
        self._role_streams()
        self._rings()
        self._memories()
        self._registers()

    def _starts(self) -> None:
        earliest = earliest_starts(len(self.problem.operations), edge_arcs(self.problem, self.roles), self.interval)
        stages = max(earliest or [0]) // self.interval + _FREE_STAGES
        for operation in self.problem.operations:
            within = self.model.new_int_var(0, self.steps - 1, f"within {operation.name}")
            stage = self.model.new_int_var(0, stages, f"stage {operation.name}")
            self.within.append(within)
            self.start.append(stage * self.steps + within)

    # Roles.

    def _role_members(self) -> None:
        """One role per operation, numbered by first use; streams and issues only with their own class."""
        if self.roles is not None:
            count = max(self.roles) + 1
            self.member = [[int(role == number) for number in range(count)] for role in self.roles]
        else:
            self._free_members(self.problem.limits.roles)
            count = self.problem.limits.roles
        for role in range(count):
            warps = self.model.new_int_var(0, self.problem.limits.warps, f"warps {role}")
            for number, operation in enumerate(self.problem.operations):
                self.model.add(warps >= operation.warps * self.member[number][role])
            self.warps.append(warps)
        self.model.add(sum(self.warps) <= self.problem.limits.warps)

    def _free_members(self, count: int) -> None:
        component = same_components(self.problem)
        by_component: dict[int, list[Any]] = {}
        for number, first in enumerate(component):
            if first not in by_component:
                literals = [self.model.new_bool_var(f"role {role} of {number}") for role in range(count)]
                self.model.add_exactly_one(literals)
                self._number_by_first(literals, list(by_component.values()))
                by_component[first] = literals
            self.member.append(by_component[first])
        for role in range(count):
            classes = {kind: self.model.new_bool_var(f"role {role} is {kind}") for kind in Kind}
            self.model.add_at_most_one(classes.values())
            for number, operation in enumerate(self.problem.operations):
                self.model.add_implication(self.member[number][role], classes[operation.kind])

    def _number_by_first(self, literals: list[Any], earlier: list[list[Any]]) -> None:
        for role in range(1, len(literals)):
            self.model.add_bool_or([*(other[role - 1] for other in earlier), literals[role].negated()])

    def _differ(self, first: int, second: int) -> Any:
        """Whether the roles of two operations differ: a constant if that is known."""
        if self.roles is not None:
            return self.roles[first] != self.roles[second]
        if self.member[first] is self.member[second]:
            return False
        if self.problem.operations[first].kind != self.problem.operations[second].kind:
            return True
        differ = self.model.new_bool_var(f"cut {first} {second}")
        for mine, theirs in zip(self.member[first], self.member[second], strict=True):
            self.model.add_bool_or([mine.negated(), theirs, differ])
            self.model.add_bool_or([mine.negated(), theirs.negated(), differ.negated()])
        return differ

    # Dependences.

    def _edges(self) -> None:
        for edge in self.problem.edges:
            source, target = self.problem.index[edge.source], self.problem.index[edge.target]
            is_cut = self._differ(source, target)
            self.cuts.append((edge, is_cut))
            gap = self.start[target] - self.start[source] + edge.distance * self.steps
            self.model.add(gap >= edge.latency // QUANTUM + edge.cross // QUANTUM * is_cut)

    # Units and the instruction streams of roles: intervals from 0 to twice the interval are exact modulo the interval.

    def _copies(self, number: int, length: int, name: str, presence: Any = 1) -> list[Any]:
        make = self.model.new_optional_fixed_size_interval_var
        return [
            make(self.within[number] + shift, length // QUANTUM, presence, f"{name} {number} {shift}")
            for shift in (0, self.steps)
        ]

    def _units(self) -> None:
        for unit in self.problem.units:
            uses = [
                (number, use)
                for number, operation in enumerate(self.problem.operations)
                for use in operation.uses
                if use.unit == unit and use.busy
            ]
            self.model.add_no_overlap([copy for number, use in uses for copy in self._copies(number, use.busy, unit)])

    def _role_streams(self) -> None:
        for role in range(len(self.warps)):
            intervals = [
                copy
                for number, operation in enumerate(self.problem.operations)
                if operation.duration and not self._is_absent(number, role)
                for copy in self._copies(number, operation.duration, f"role {role}", self.member[number][role])
            ]
            self.model.add_no_overlap(intervals)

    def _is_absent(self, number: int, role: int) -> bool:
        return self.roles is not None and self.roles[number] != role

    # Buffers.

    def _rings(self) -> None:
        share = memory_share(self.problem)
        for buffer in self.problem.buffers:
            name, most = buffer.name, share.most[buffer.name]
            least = 0 if buffer.overlay else least_slots(buffer)
            self.depth[name] = self.model.new_int_var(least, max(least, most), f"depth {name}")
            if buffer.overlay:
                self.is_over[name] = self.model.new_bool_var(f"{name} in {buffer.overlay}")
                self.model.add(self.depth[name] == 0).only_enforce_if(self.is_over[name])
                self.model.add(self.depth[name] >= 1).only_enforce_if(self.is_over[name].negated())
                if name in share.forced:
                    self.model.add(self.is_over[name] == 1)
        for buffer in self.problem.buffers:
            self._ring(buffer)

    def _ring(self, buffer: Buffer) -> None:
        for use in buffer.uses:
            room = self.depth[buffer.name] * self.steps >= self._life(buffer, use)
            constraint = self.model.add(room)
            if buffer.overlay:
                constraint.only_enforce_if(self.is_over[buffer.name].negated())
                base = self.problem.buffer_named[buffer.overlay]
                shared = self.depth[base.name] * self.steps >= self._life(base, use)
                self.model.add(shared).only_enforce_if(self.is_over[buffer.name])

    def _life(self, buffer: Buffer, use: BufferUse) -> Any:
        """From the start of the source to the completion of a use, in quanta."""
        return self._end(use) - self.start[self.problem.index[buffer.source]]

    def _end(self, use: BufferUse) -> Any:
        return self.start[self.problem.index[use.operation]] + use.completion // QUANTUM + use.distance * self.steps

    def _memories(self) -> None:
        for memory, capacity in self.problem.capacity.items():
            buffers = [buffer for buffer in self.problem.buffers if buffer.memory == memory]
            self.model.add(sum(buffer.size * self.depth[buffer.name] for buffer in buffers) <= capacity)

    def _variable_copies(self, number: int, begin: int, length: Any, name: str, presence: Any) -> list[Any]:
        """The occurrences of something from `begin` after the start of an operation, for a variable length."""
        copies = []
        # A delayed beginning may be in the next interval; the occurrence before it is then in this one.
        first = begin % self.steps
        for shift in (first, first + self.steps, *([first - self.steps] if first else [])):
            start = self.within[number] + shift
            end = self.model.new_int_var(-self.steps, 4 * self.steps, f"end {name} {shift}")
            make = self.model.new_optional_interval_var
            copies.append(make(start, length, end, presence, f"{name} {shift}"))
        return copies

    # Registers.

    def _registers(self) -> None:
        """A value lives one interval at most; the demand of each role is added only where it can exceed the limits."""
        lives = [self._register_life(number) for number in range(len(self.problem.registers))]
        if self._registers_may_bind():
            self._register_demand(lives)

    def _register_life(self, position: int) -> Any:
        value = self.problem.registers[position]
        source = self.problem.index[value.source]
        life = self.model.new_int_var(0, self.steps, f"life {value.name}")
        begin = self.start[source] + value.delay // QUANTUM
        self.model.add(life >= (self.problem.operations[source].duration - value.delay) // QUANTUM)
        for use in value.uses:
            is_cut = self._differ(source, self.problem.index[use.operation])
            if is_cut is True:
                continue
            constraint = self.model.add(life >= self._end(use) - begin)
            if is_cut is not False:
                constraint.only_enforce_if(is_cut.negated())
        return life

    def _registers_may_bind(self) -> bool:
        limits = self.problem.limits
        most = limits.base_registers + sum(value.count for value in self.problem.registers)
        return most > limits.thread_registers or most * _LANES * limits.warps > limits.registers

    def _register_demand(self, lives: list[Any]) -> None:
        limits = self.problem.limits
        totals = []
        for role in range(len(self.warps)):
            need = self.model.new_int_var(0, limits.thread_registers - limits.base_registers, f"registers {role}")
            intervals, counts = [], []
            for value, life in zip(self.problem.registers, lives, strict=True):
                source = self.problem.index[value.source]
                name = f"{value.name} in {role}"
                copies = self._variable_copies(source, value.delay // QUANTUM, life, name, self.member[source][role])
                intervals += copies
                counts += [value.count] * len(copies)
            self.model.add_cumulative(intervals, counts, need)
            total = self.model.new_int_var(0, limits.registers, f"all registers {role}")
            for number, operation in enumerate(self.problem.operations):
                count = need + limits.base_registers if operation.kind == Kind.TILE else limits.producer_registers
                constraint = self.model.add(total >= _LANES * operation.warps * count)
                constraint.only_enforce_if(self._literal(self.member[number][role]))
            totals.append(total)
        self.model.add(sum(totals) <= limits.registers)

    def _literal(self, member: Any) -> Any:
        return self.model.new_constant(member) if isinstance(member, int) else member

    def minimize(self) -> None:
        """The secondary objective: bytes that move between roles, warps, cut edges, the length, and the depths."""
        length = self.model.new_int_var(0, 1 << 30, "length")
        for number, operation in enumerate(self.problem.operations):
            self.model.add(length >= self.start[number] + operation.duration // QUANTUM)
        terms = [length, *(_SLOT_WEIGHT * depth for depth in self.depth.values())]
        if self.roles is None:
            terms += [_WARP_WEIGHT * warps for warps in self.warps]
            terms += [(_MOVED_WEIGHT * edge.moved_kb + _CUT_WEIGHT) * is_cut for edge, is_cut in self.cuts]
        self.model.minimize(sum(terms))

    def hint(self, schedule: Schedule) -> None:
        """Starts the search from a schedule."""
        for number, start in enumerate(schedule.start):
            self.model.add_hint(self.within[number], start % self.interval // QUANTUM)

    def solution(self, solver: Any) -> Schedule:
        """The schedule that a solver found."""
        starts = [QUANTUM * int(solver.value(start)) for start in self.start]
        first = min(starts) // self.interval * self.interval
        if self.roles is None:
            roles = [next(k for k, literal in enumerate(row) if solver.value(literal)) for row in self.member]
        else:
            roles = list(self.roles)
        depth = tuple(int(solver.value(self.depth[buffer.name])) for buffer in self.problem.buffers)
        return Schedule(self.interval, tuple(start - first for start in starts), numbered_by_first(roles), depth)
