"""A pass over a kernel of tile_gpu: its record, which states its contract, and the context that it runs in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from tilec.compile_options import CompileOptions
from tilec.dialect.tile_gpu.categories import PLACED
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.schedule import scheduled_loops
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.memory.shared_plan import SharedPlan, shared_plan
from tilec.lowering.kernel_hints import STAGES, followed_options, kernel_hint
from tilec.lowering.target import Target
from tilec.remarks import Remark

Fact = TypeVar("Fact")


class State(Enum):
    """A property of a kernel, and the pass that establishes it; the dialect has no attribute for it."""

    # Every tile has a slot of a channel, a buffer, or the columns of an accumulator.
    CHANNELLED = "no placed tiles: run make-channels first"
    # One role runs the kernel.
    UNDIVIDED = "one role: run the pass before partition-roles"
    # No operation of a loop has a position in a schedule.
    EXPANDED = "no schedules: run expand-schedules first"

    def holds(self, kernel: KernelOp) -> bool:
        """Whether a kernel is in this state."""
        if self is State.UNDIVIDED:
            return kernel.roles is None
        if self is State.EXPANDED:
            return not scheduled_loops(kernel)
        return all(op.name not in PLACED for op in operations_inside(kernel))


@dataclass
class Context:
    """The state that the passes over one kernel share.

    Attributes:
        target: the target of the kernel.
        options: the options of the compile, with the hints of the kernel.
        remarks: receives the remarks of passes.
        at_bound: the ids of the loops that keep their schedule, because a heuristic has found no shorter one.
        has_legal_schedules: whether all schedules of the kernel have been proven to be legal.
        observe: is called with the name of each heuristic of a pass that has some, after it has run.
    """

    target: Target
    options: CompileOptions
    remarks: list[Remark] = field(default_factory=list)
    at_bound: set[int] = field(default_factory=set)
    has_legal_schedules: bool = False
    observe: Callable[[str], None] = lambda name: None
    # The facts about the kernel that are computed once until it changes.
    _facts: dict[Hashable, Any] = field(default_factory=dict)
    # For each state whether the kernel is in it, until a pass may change that.
    _known: dict[State, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, kernel: KernelOp, target: Target, options: CompileOptions, remarks: list[Remark]) -> Context:
        """The context of a kernel, whose hints complete the options."""
        followed = followed_options(options, {"stages": kernel_hint(kernel, STAGES)}, target)
        return cls(target, followed, remarks)

    def holds(self, state: State, kernel: KernelOp) -> bool:
        """Whether the kernel is in a state; it is looked up once, until a pass gives the state or schedules."""
        if state is State.UNDIVIDED:
            return state.holds(kernel)
        if state not in self._known:
            self._known[state] = state.holds(kernel)
        return self._known[state]

    def plan(self, kernel: KernelOp, target: Target | None = None) -> SharedPlan:
        """The memory plan of the kernel for a share of its target (all of it if None), made once until it changes."""
        target = target or self.target
        return self.once(target, lambda: shared_plan(kernel, target))

    def once(self, key: Hashable, compute: Callable[[], Fact]) -> Fact:
        """A fact about the kernel, which is computed once until the kernel changes."""
        if key not in self._facts:
            self._facts[key] = compute()
        return self._facts[key]

    def scheduled(self) -> None:
        """A pass calls this when it gives loops schedules that it has proven to be legal."""
        self.has_legal_schedules |= self._known.get(State.EXPANDED, False)
        self._known[State.EXPANDED] = False

    def look_up_again(self, states: Iterable[State]) -> None:
        """Drops what is known of states in which a pass leaves the kernel."""
        for state in states:
            self._known.pop(state, None)

    def changed(self) -> None:
        """Drops the facts about the kernel: a pass calls this when it changes the kernel and reads it again."""
        self._facts.clear()


@dataclass(frozen=True)
class KernelPass:
    """The record of a pass.

    Attributes:
        name: the name of the pass.
        run: rewrites a kernel in place; its docstring is the contract in words. Returns False if it knows that the
            kernel is as before.
        guarantees: the properties of a kernel after the pass, in Markdown.
        without: the kernel without the pass, which is correct too.
        needs: the states of the kernels that it takes.
        gives: the states of the kernels that it leaves.
        after: the names of passes that run before it in a compile.
        option: the compile option that disables it.
        unit: the matrix unit whose multiplies it rewrites: targets without it leave the pass out.
    """

    name: str
    run: Callable[[KernelOp, Context], object]
    guarantees: str
    without: str
    needs: tuple[State, ...] = ()
    gives: tuple[State, ...] = ()
    after: tuple[str, ...] = ()
    option: str | None = None
    unit: str | None = None

    @property
    def summary(self) -> str:
        """The first line of the file of the pass."""
        return (sys.modules[self.run.__module__].__doc__ or "").strip().splitlines()[0]

    def is_enabled(self, context: Context) -> bool:
        """Whether a compile for the target and with the options of a context runs the pass."""
        is_on = self.option is None or bool(getattr(context.options, self.option))
        return is_on and (self.unit is None or self.unit in context.target.matrix_units)

    def missing(self, kernel: KernelOp, context: Context) -> State | None:
        """The first state that the pass needs and the kernel is not in."""
        return next((state for state in self.needs if not context.holds(state, kernel)), None)

    def apply(self, kernel: KernelOp, context: Context) -> None:
        """Runs the pass over a kernel in the states that it needs."""
        if self.run(kernel, context) is not False:
            context.changed()
        context.look_up_again(self.gives)
        assert all(context.holds(state, kernel) for state in self.gives), self.name


def in_order(table: Mapping[str, KernelPass], records: Iterable[KernelPass]) -> list[KernelPass]:
    """The records of a table in the order of a compile; tests and benchmarks leave some out, and put them back last."""
    return [table[record.name] for record in records if record.name in table]
