"""Loads of threads that run some iterations ahead in a loop that keeps its iterations.

before:   for i < n { x = load(i) {schedule 2, 1};  g(x) {schedule 0, 0} }
after:    x = load(0), y = load(1);  for i < n { g(x);  z = load(i + 2);  x, y = y, z } {repeats 2}

Each load is under the condition that its iteration exists. The body is repeated in the code for each tile on its way,
as to move one to other registers would wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.view import LoadViewOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import operations_in, owner_of, terminator_of
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
    points = _points(order)
    groups = dict[ir.Operation, list[ir.Operation]]()
    for op in members:
        groups.setdefault(points[op], []).append(op)
    loads = [op for group in groups.values() for op in group]
    with loop.location, ir.InsertionPoint(loop):
        runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
        # Without overflow: the difference of the bounds is exact as an unsigned number.
        distance = emitter.binary("arith.subi", upper, lower)
        first = list[list[ir.Value]]()
        for number in range(ahead):
            exists = emitter.binary("arith.andi", runs, _is_within(distance, number * distance_of_two))
            first.append(_load(loads, body, lower, number * distance_of_two, exists))
    made = _with_carried(loop, [value for values in zip(*first, strict=True) for value in values])
    carried = list(body.arguments)[-len(loads) * ahead :]
    tiles = {op: carried[number * ahead :][:ahead] for number, op in enumerate(loads)}
    loaded = list[ir.Value]()
    for point, group in groups.items():
        with point.location, ir.InsertionPoint.after(point):
            further = ahead * distance_of_two
            exists = _is_within(emitter.binary("arith.subi", upper, body.arguments[0]), further)
            loaded += _load(group, body, body.arguments[0], further, exists)
    yielded = [each for op, value in zip(loads, loaded, strict=True) for each in (*tiles[op][1:], value)]
    for op in loads:
        op.results[0].replace_all_uses_with(tiles[op][0])
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
    loads: Sequence[ir.Operation], body: ir.Block, counter: ir.Value, further: int, exists: ir.Value
) -> list[ir.Value]:
    """Loads of a body for the iteration whose counter is `further` than another; zeros if it does not exist."""
    types = [op.results[0].type for op in loads]
    needed = {each for op in loads for each in with_addresses(op, body)}
    operations = [op for op in operations_in(body) if op in needed]
    bounds = {op: bound for op in loads if (bound := _checked_dimension(op, needed, body)) is not None}
    is_checked = len(bounds) == len(loads)

    def load() -> list[ir.Value]:
        following = emitter.binary("arith.addi", counter, emitter.constant(counter.type, further))
        values = {body.arguments[0]: following}
        for op, copy in zip(operations, copy_all(operations, values), strict=True):
            if is_checked and op in bounds:
                _load_nothing_unless(exists, copy, bounds[op])
        return [values[op.results[0]] for op in loads]

    if is_checked:
        return load()
    return list(emitter.choose_all(exists, types, load, lambda: list(map(emitter.zero, types))))


def _checked_dimension(load: ir.Operation, needed: Collection[ir.Operation], body: ir.Block) -> int | None:
    """A dimension whose extent a load compares with a position that depends on the counter; None without one.

    Indices, which may be negative, are added to the position of a sparse dimension.
    """
    if load.name != LoadViewOp.OPERATION_NAME:
        return None
    view = load.opview
    for number, (position, extent) in enumerate(zip(view.offsets, view.extents, strict=True)):
        is_of_loop = position == body.arguments[0] or owner_of(position) in needed
        is_compared = number != view.sparse_dimension and not (view.inbounds and view.inbounds[number])
        if is_of_loop and is_compared and position.type == extent.type:
            return number
    return None


def _load_nothing_unless(exists: ir.Value, load: ir.Operation, dimension: int) -> None:
    """Moves the tile of a load outside of the view unless its iteration exists, so that it needs no branch.

    All elements of the tile are padding there, and no memory is read.
    """
    view = load.opview
    with load.location, ir.InsertionPoint(load):
        position, extent = view.offsets[dimension], view.extents[dimension]
        moved = emitter.create("arith.select", [position.type], [exists, position, extent]).result
    # The positions follow the base. Other dimensions may have the same position.
    load.operands[1 + dimension] = moved


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
