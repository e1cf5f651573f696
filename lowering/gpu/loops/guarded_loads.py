"""Loads of threads that run some iterations ahead in a loop that keeps its iterations.

before:   for i < n { x = load(i) {schedule 2, 1};  g(x) {schedule 0, 0} }
after:    x = load(0), y = load(1);  for i < n { g(x);  z = load(i + 2);  x, y = y, z } {repeats 2}

Each load is under the condition that its iteration exists. The body is repeated in the code for each tile on its way,
as to move one to other registers would wait for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import terminator_of
from tilec.lowering import emitter
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.ir.early_loads import early_loads, with_addresses
from tilec.lowering.gpu.loops.loop_attributes import set_repeats
from tilec.lowering.gpu.loops.other_iteration import copy_all


def load_ahead(loop: ir.Operation, order: LoopOrder) -> None:
    """Replaces a loop whose schedule has early loads ahead, all by as many iterations, and nothing else."""
    body = loop.regions[0].blocks[0]
    members = early_loads([op for op, count in order if count], body)
    ahead = max(count for _, count in order)
    lower, upper, step = list(loop.operands)[:3]
    distance_of_two = constant_of(step)
    assert distance_of_two is not None, "the difference of two counters is known"
    groups = [with_addresses(op, body) for op in members]
    points = _points(order)
    with loop.location, ir.InsertionPoint(loop):
        runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
        # Without overflow: the difference of the bounds is exact as an unsigned number.
        distance = emitter.binary("arith.subi", upper, lower)
        first = []
        for group, number in itertools.product(groups, range(ahead)):
            exists = emitter.binary("arith.andi", runs, _is_within(distance, number * distance_of_two))
            first.append(_load(group, body.arguments[0], lower, number * distance_of_two, exists))
    made = _with_carried(loop, first)
    carried = list(body.arguments)[-len(first) :]
    yielded = list[ir.Value]()
    # Loads that follow the same operation keep their order, as each is inserted directly after it.
    for number, group in reversed(list(enumerate(groups))):
        tiles = carried[number * ahead : (number + 1) * ahead]
        point = points[group[-1]]
        with group[-1].location, ir.InsertionPoint.after(point):
            further = ahead * distance_of_two
            exists = _is_within(emitter.binary("arith.subi", upper, body.arguments[0]), further)
            yielded[:0] = [*tiles[1:], _load(group, body.arguments[0], body.arguments[0], further, exists)]
        group[-1].results[0].replace_all_uses_with(tiles[0])
    for op in members:
        op.erase()
    end = terminator_of(body)
    with end.location, ir.InsertionPoint(end):
        ir.Operation.create("scf.yield", operands=[*end.operands, *yielded])
    end.erase()
    for old, new in zip(loop.results, made.results, strict=False):
        old.replace_all_uses_with(new)
    loop.erase()
    set_repeats(made, ahead)


def _points(order: LoopOrder) -> dict[ir.Operation, ir.Operation]:
    """For each operation that is ahead, the one that it follows."""
    points, last = dict[ir.Operation, ir.Operation](), order[0][0]
    for op, count in order:
        if count:
            points[op] = last
        else:
            last = op
    return points


def _is_within(left: ir.Value, further: int) -> ir.Value:
    """Whether a counter that is `further` than another is below the bound; `left` is unsigned: bound less counter."""
    return emitter.less_than(emitter.constant(left.type, further), left, unsigned=True)


def _load(
    group: Sequence[ir.Operation], argument: ir.Value, counter: ir.Value, further: int, exists: ir.Value
) -> ir.Value:
    """A load for the iteration whose counter is `further` than another; zeros if there is none."""
    type = group[-1].results[0].type

    def load() -> ir.Value:
        following = emitter.binary("arith.addi", counter, emitter.constant(counter.type, further))
        return copy_all(group, {argument: following})[-1].results[0]

    return emitter.choose(exists, type, load, lambda: emitter.zero(type))


def _with_carried(loop: ir.Operation, values: Sequence[ir.Value]) -> ir.Operation:
    """A loop in place of another, with its body, that carries more values; its terminator has too few."""
    initial = [*list(loop.operands)[3:], *values]
    types = [value.type for value in initial]
    body = loop.regions[0].blocks[0]
    attributes = {name: loop.attributes[name] for name in loop.attributes}
    with loop.location, ir.InsertionPoint(loop):
        made = ir.Operation.create("scf.for", types, [*list(loop.operands)[:3], *initial], attributes, regions=1)
    body.append_to(made.regions[0])
    for value in values:
        body.add_argument(value.type, loop.location)
    return made
