"""A loop that executes several iterations of its schedule together, in rounds.

before:   for i < n { x = f(i) {schedule 3, 0};  g(x) {schedule 0, 1} } {rounds 4}
after:    for r < n / 4 { x0 = f(4 r);  ..;  x3 = f(4 r + 3);  g(x0);  ..;  g(x3) }
          for 4 (n / 4) <= i < n { x = f(i);  g(x) }

An operation that is some iterations ahead is executed with an earlier iteration of its round, or with the first one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import copy_id
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import operations_in, with_inner
from tilec.lowering import emitter
from tilec.lowering.gpu.loops.other_iteration import copy_all


def execute_in_rounds(loop: ir.Operation, order: LoopOrder, count: int) -> None:
    """Replaces a loop by one over rounds of `count` iterations, and one over those that are left.

    It counts iterations from zero, since a bound beyond the last multiple of `count` might not fit the type.
    """
    lower, upper, step = list(loop.operands)[:3]
    type, unsigned = lower.type, "unsignedCmp" in loop.attributes
    with loop.location, ir.InsertionPoint(loop):
        zero, one, several = (emitter.constant(type, number) for number in (0, 1, count))
        runs = emitter.less_than(lower, upper, unsigned)
        distance = emitter.binary("arith.subi", upper, lower)
        every = emitter.binary("arith.ceildivui", distance, step)
        iterations = emitter.create("arith.select", [type], [runs, every, zero]).result
        rounds = emitter.binary("arith.divui", iterations, several)
        done = emitter.binary("arith.muli", rounds, several)
        first = _loop(loop, order, (zero, rounds, one), list(loop.operands)[3:], count)
        rest = _loop(loop, order, (done, iterations, one), list(first.results), 1)
    for result, replacement in zip(loop.results, rest.results, strict=True):
        result.replace_all_uses_with(replacement)
    loop.erase()


def _loop(
    loop: ir.Operation, order: LoopOrder, bounds: Sequence[ir.Value], initial: list[ir.Value], count: int
) -> ir.Operation:
    """A loop over unsigned numbers of rounds of `count` iterations each, in place of `loop`."""
    lower, step = loop.operands[0], loop.operands[2]
    attributes = {"unsignedCmp": ir.UnitAttr.get()}
    types = [value.type for value in initial]
    made = ir.Operation.create("scf.for", types, [*bounds, *initial], attributes, regions=1)
    copy_id(loop, made)
    block = made.regions[0].blocks.append(lower.type, *types, arg_locs=[loop.location] * (1 + len(types)))
    with ir.InsertionPoint(block):
        start = emitter.binary("arith.muli", block.arguments[0], emitter.constant(lower.type, count))
        numbers = [emitter.binary("arith.addi", start, emitter.constant(lower.type, k)) for k in range(count)]
        distances = [emitter.binary("arith.muli", number, step) for number in numbers]
        counters = [emitter.binary("arith.addi", lower, distance) for distance in distances]
        carried = _Round(loop.regions[0].blocks[0], counters, list(block.arguments)[1:]).execute(order)
        ir.Operation.create("scf.yield", operands=carried)
    return made


class _Round:
    """Copies of the operations of a body, for the iterations of one round."""

    def __init__(self, body: ir.Block, counters: Sequence[ir.Value], carried: Sequence[ir.Value]) -> None:
        self._body = body
        *self._operations, self._end = operations_in(body)
        counter, *arguments = body.arguments
        self._values = [{counter: value} for value in counters]
        self._values[0].update(zip(arguments, carried, strict=True))

    def execute(self, order: LoopOrder) -> list[ir.Value]:
        """Copies the operations in their order; returns what the last iteration carries on."""
        count = len(self._values)
        together = [(ahead, [op for op, _ in group]) for ahead, group in itertools.groupby(order, lambda each: each[1])]
        for time, (ahead, operations), number in itertools.product(range(count), together, range(count)):
            if max(0, number - ahead) == time:
                for op in operations:
                    self._copy(op, number)
        return [self._value(value, count - 1) for value in self._end.operands]

    def _copy(self, op: ir.Operation, number: int) -> None:
        for inner in with_inner(op):
            for value in inner.operands:
                self._value(value, number)
        copy_all([op], self._values[number])

    def _value(self, value: ir.Value, number: int) -> ir.Value:
        """A value of an iteration; scalar arithmetic, which has no position, is copied where it is needed first."""
        known = self._values[number]
        if value not in known:
            if isinstance(value.owner, ir.Block) and value.owner == self._body:
                passed = self._end.operands[list(self._body.arguments).index(value) - 1]
                known[value] = self._value(passed, number - 1)
            elif not isinstance(value.owner, ir.Block) and value.owner.operation.block == self._body:
                self._copy(value.owner.operation, number)
            else:
                return value
        return known[value]
