"""Some operations of a loop are executed one iteration ahead of the others.

before:   for i < n { a = f(i);  g(i, a) }
after:    if 0 < n { a = f(0);  for i < n - 1 carrying a { g(i, a);  a = f(i + 1) };  g(n - 1, a) }

If g has no use of the counter, and f has or is longer, the loop is `for 1 <= i < n carrying a { g(a);  a = f(i) }`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.walk import operations_in, owner_of, reached_from, terminator_of, used_by
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.enclosing import ancestor_in
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.loops.loop_attributes import iterations_ahead, set_iterations_ahead
from tilec.lowering.gpu.loops.other_iteration import copy_all

# For each operation of a body its number in the body before; None for those that are new.
Origins = list[int | None]


def rotate_loop(loop: ir.Operation, numbers: Collection[int]) -> tuple[ir.Operation, Origins] | None:
    """Replaces a loop by one in which some operations of its body follow the others, for the next iteration.

    None, without a change, if the others need what cannot be carried to the next iteration: a buffer. Scalars that
    both need are computed for both.

    Args:
        loop: an scf.for.
        numbers: those of operations in its body that need nothing of the other ones in the same iteration but scalars.
    """
    body = loop.regions[0].blocks[0]
    *operations, end = operations_in(body)
    members = {operations[number] for number in numbers}
    others = [op for op in operations if op not in members and not is_rematerializable(op)]
    needed = {*_scalars_behind(members, body), *members}
    kept = {*_scalars_behind([*others, end], body), *others}
    ahead, rest = ([op for op in operations if op in found] for found in (needed, kept))
    passed = _passed([op for op in operations if op in members], {*kept, end}, body)
    if not all(is_register_tile(value.type) or is_scalar(value.type) for value in passed):
        return None
    places = {op: number for number, op in enumerate(operations)}
    origins: Origins = [places[op] for op in rest]
    followed: Origins = [places[op] if op in members else None for op in ahead]
    made = _Rotation(loop, ahead, rest, passed, list(end.operands)).made(followed)
    new = len(made.regions[0].blocks[0].operations) - 1 - len(origins) - len(followed)
    return made, [*origins, *[None] * new, *followed]


def _passed(ahead: Sequence[ir.Operation], others: Collection[ir.Operation], body: ir.Block) -> list[ir.Value]:
    """The results of operations that the next iteration uses, and those that others of the body do."""
    end = terminator_of(body)
    results = [result for op in ahead for result in op.results]
    used = [
        result for result in results if any(ancestor_in(use.owner.operation, body) in others for use in result.uses)
    ]
    return [
        *dict.fromkeys(value for value in end.operands if value in used),
        *(v for v in used if v not in list(end.operands)),
    ]


def _scalars_behind(operations: Collection[ir.Operation], body: ir.Block) -> set[ir.Operation]:
    """The scalar arithmetic of a body that some of its operations need."""

    def scalars(op: ir.Operation) -> list[ir.Operation]:
        owners = [owner for value in used_by([op]) if (owner := owner_of(value)) is not None]
        return [owner for owner in owners if owner.block == body and is_rematerializable(owner)]

    return {scalar for op in operations for scalar in reached_from(scalars(op), scalars)}


class _Rotation:
    """One rotation of a loop.

    Attributes:
        loop: the loop.
        ahead: what is executed for the next iteration, with the scalars that it needs.
        rest: the other operations.
        passed: what the rest needs of those that are ahead.
        yielded: what an iteration passes to the next one.
    """

    def __init__(
        self,
        loop: ir.Operation,
        ahead: Sequence[ir.Operation],
        rest: Sequence[ir.Operation],
        passed: Sequence[ir.Value],
        yielded: Sequence[ir.Value],
    ) -> None:
        self.loop, self.ahead, self.rest, self.passed, self.yielded = loop, ahead, rest, passed, yielded
        self.counter, *self.carried = loop.regions[0].blocks[0].arguments
        self.lower, _, self.step, *self.initial = loop.operands
        used = used_by(rest)
        is_longer = len(ahead) > len(rest)
        # The loop counts the iterations of the part that uses the counter, or of the longer one.
        self.is_counted = self.counter in used or not (self.counter in used_by(ahead) or is_longer)
        # The others are operands of what is ahead alone, which has those that the rest yields before it.
        self.kept = [number for number, value in enumerate(self.carried) if value in used or value in yielded]

    def made(self, followed: Origins) -> ir.Operation:
        """Replaces the loop; returns the new one. Of what is ahead, scalars have no number."""
        with self.loop.location:
            with ir.InsertionPoint(self.loop):
                shorter = _without_last(self.loop) if self.is_counted else _without_first(self.loop)
                types = [result.type for result in self.loop.results]
                branch = ir.Operation.create("scf.if", types, [shorter.runs], regions=2)
            with ir.InsertionPoint(branch.regions[0].blocks.append()):
                values = dict(zip([self.counter, *self.carried], [self.lower, *self.initial], strict=True))
                copy_all(self.ahead, values)
                made = self._following(shorter, [values[value] for value in self.passed], followed)
                values = dict(zip(self._carried(), made.results, strict=True))
                if self.is_counted:
                    values[self.counter] = _last_counter(self.lower, shorter.distance, self.step)
                copy_all(self.rest, values)
                ir.Operation.create("scf.yield", operands=[values.get(value, value) for value in self.yielded])
            if self.initial:
                with ir.InsertionPoint(branch.regions[1].blocks.append()):
                    ir.Operation.create("scf.yield", operands=self.initial)
        for result, replacement in zip(self.loop.results, branch.results, strict=True):
            result.replace_all_uses_with(replacement)
        self.loop.erase()
        return made

    def _carried(self) -> list[ir.Value]:
        return [*(self.carried[number] for number in self.kept), *self.passed]

    def _following(self, shorter: _ShorterLoop, first: Sequence[ir.Value], followed: Origins) -> ir.Operation:
        """The loop with one iteration less, which carries what the rest needs of those that are ahead."""
        initial = [*(self.initial[number] for number in self.kept), *first]
        types = [value.type for value in initial]
        attributes = {name: self.loop.attributes[name] for name in self.loop.attributes}
        operands = [shorter.lower, shorter.upper, self.step, *initial]
        made = ir.Operation.create("scf.for", types, operands, attributes, regions=1)
        set_iterations_ahead(made, iterations_ahead(self.loop) + 1)
        locations = [self.loop.location] * (1 + len(types))
        body = made.regions[0].blocks.append(self.counter.type, *types, arg_locs=locations)
        counter = body.arguments[0]
        with ir.InsertionPoint(body):
            values = dict(zip([self.counter, *self._carried()], body.arguments, strict=True))
            copy_all(self.rest, values)
            ended = [values.get(value, value) for value in self.yielded]
            following = dict(zip(self.carried, ended, strict=True))
            following[self.counter] = emitter.binary("arith.addi", counter, self.step) if self.is_counted else counter
            for number, copy in zip(followed, copy_all(self.ahead, following), strict=True):
                if number is not None:
                    set_iterations_ahead(copy, iterations_ahead(copy) + 1)
            passed = [following[value] for value in self.passed]
            ir.Operation.create("scf.yield", operands=[*(ended[number] for number in self.kept), *passed])
        return made


@dataclass(frozen=True)
class _ShorterLoop:
    """Scalars before a loop.

    Attributes:
        runs: whether the loop has an iteration.
        distance: the upper less the lower bound, exact as an unsigned number if the loop has one.
        lower: the lower bound of the loop without an iteration.
        upper: its upper bound.
    """

    runs: ir.Value
    distance: ir.Value
    lower: ir.Value
    upper: ir.Value


def _without_last(loop: ir.Operation) -> _ShorterLoop:
    """The loop without its last iteration; computes the scalars at the insertion point."""
    lower, upper, step = list(loop.operands)[:3]
    runs = _runs(loop)
    distance, several = _distance(loop)
    before_last = emitter.binary("arith.subi", upper, step)
    bound = emitter.create("arith.select", [upper.type], [several, before_last, lower]).result
    return _ShorterLoop(runs, distance, lower, bound)


def _without_first(loop: ir.Operation) -> _ShorterLoop:
    """The loop without its first iteration; computes the scalars at the insertion point."""
    lower, upper, step = list(loop.operands)[:3]
    distance, several = _distance(loop)
    second = emitter.binary("arith.addi", lower, step)
    start = emitter.create("arith.select", [upper.type], [several, second, upper]).result
    return _ShorterLoop(_runs(loop), distance, start, upper)


def _runs(loop: ir.Operation) -> ir.Value:
    lower, upper = list(loop.operands)[:2]
    return emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)


def _distance(loop: ir.Operation) -> tuple[ir.Value, ir.Value]:
    """The upper less the lower bound, and whether it is more than a step, if the loop has an iteration."""
    lower, upper, step = list(loop.operands)[:3]
    # Without overflow: the difference of the bounds is exact as an unsigned number.
    distance = emitter.binary("arith.subi", upper, lower)
    return distance, emitter.less_than(step, distance, unsigned=True)


def _last_counter(lower: ir.Value, distance: ir.Value, step: ir.Value) -> ir.Value:
    """The counter of the last iteration of a loop that has one, computed at the insertion point."""
    whole = emitter.binary("arith.subi", distance, emitter.constant(distance.type, 1))
    steps = emitter.binary("arith.divui", whole, step)
    return emitter.binary("arith.addi", lower, emitter.binary("arith.muli", steps, step))
