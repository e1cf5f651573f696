"""Unrolls the loops over the taps along W of views whose pixels are loaded in runs, inside of the loops in them.

    for s { for c { x = load %pixels[i, c] offset [r, s];  sum = x @ w(s, c) + sum } }

becomes `for c { load .. offset [r, 0]; ..; load .. offset [r, 1]; ..; load .. offset [r, 2]; .. }`, so that one copy
has the pixels of all taps. Loops inside of that over the taps may only add products: the order of the sums changes. The
tap may be any function of the counter, as in a loop from the last tap to the first, which is turned round, or in one
loop over all taps of a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import RUN, STATIONARY, WEIGHTS, Im2colViewType
from tilec.dialect.walk import operations_in, operations_named
from tilec.lowering.kernel_hints import REPEATED_LOAD
from tilec.lowering.tile.analysis.bounds import Interval, bounds
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.replacing import copy_operation
from tilec.lowering.tile.analysis.tile_operations import (
    CONTINUE,
    FOR,
    MULTIPLIES,
    STRUCTURES,
    counting_loops,
    terminator,
)
from tilec.lowering.tile.analysis.value_analysis import forget_facts

_LOAD = "tilex.load_im2col_tko"
_VIEW_LOADS = ("cuda_tile.load_view_tko",)
# The iterations of a loop over all taps of a window, up to 3 x 3 x 3; its code is repeated as often.
_MOST_COUNTS = 32


def unroll_taps(module: ir.Module) -> None:
    """Rewrites the loops in place; those that it does not know stay."""
    while (found := next(_loops_over_taps(module), None)) is not None:
        _unroll(found)
        forget_facts()


@dataclass(frozen=True)
class _Nest:
    """A loop over taps, and the loops inside of it, each directly in the one before.

    Attributes:
        loops: the loops, from the outside in.
        counts: the values of the counter of the first one, in the order of the products.
        varying: the operations between the loops that depend on it, in their order.
    """

    loops: Sequence[ir.OpView]
    counts: Sequence[int]
    varying: Sequence[ir.Operation]

    @property
    def body(self) -> ir.Block:
        """The body of the innermost loop."""
        return self.loops[-1].body.blocks[0]


def loads_runs(value: ir.Value) -> bool:
    """Whether a view loads its pixels in runs."""
    return isinstance(value.type, Im2colViewType) and value.type.mode in (RUN, STATIONARY, WEIGHTS)


def _loops_over_taps(module: ir.Module) -> Iterator[_Nest]:
    for load in operations_named(module, (_LOAD,)):
        for loop in counting_loops(load.offset[-1]) if loads_runs(load.view) else ():
            nest = _nest(loop, load)
            if nest is not None:
                yield nest


def _nest(loop: ir.OpView, load: ir.OpView) -> _Nest | None:
    """The nest from a loop on which the tap of a load depends to the load; None if it cannot be unrolled."""
    lower, upper, step = map(splat, (loop.lowerBound, loop.upperBound, loop.step))
    if lower is None or upper is None or step is None or step <= 0:
        return None
    counts: Sequence[int] = range(lower, upper, step)
    window = load.view.type.window[-1]
    if not 2 <= len(counts) <= max(window, _MOST_COUNTS):
        return None
    counter, tap = loop.body.blocks[0].arguments[0], load.offset[-1]
    taps = [bounds(tap, {counter: Interval(count, count)}) for count in counts]
    if len(set(taps)) < 2 or any(each.low < 0 or each.high >= window for each in taps):
        return None
    loops, varying = [loop], list[ir.Operation]()
    depends = {loop.body.blocks[0].arguments[0]}
    while loops[-1].body.blocks[0] != load.operation.block:
        found = _directly_inside(loops[-1], depends)
        if found is None:
            return None
        inner, between = found
        loops.append(inner)
        varying += between
    end = terminator(loops[-1].body.blocks[0])
    if end.operation.name != CONTINUE or any(op.regions for op in _operations(loops[-1])):
        return None
    if len(loops) > 1 and not _only_adds(loops[-1]):
        return None
    # The taps of a run that moves follow each other from the first on.
    if taps[0] > taps[-1] and _only_adds(loops[-1]):
        counts = counts[::-1]
    return _Nest(loops, counts, varying)


def _operations(loop: ir.OpView) -> list[ir.Operation]:
    """The operations of the body of a loop, without the terminator."""
    return operations_in(loop.body.blocks[0])[:-1]


def _directly_inside(loop: ir.OpView, depends: set[ir.Value]) -> tuple[ir.OpView, list[ir.Operation]] | None:
    """The only loop in the body of another one, which passes its values on, and what of the rest depends on a counter.

    The bounds of the loop do not. `depends` gets the results of the rest that do.
    """
    operations = _operations(loop)
    inner = [op for op in operations if op.name in STRUCTURES]
    if len(inner) != 1 or inner[0].name != FOR:
        return None
    varying = []
    for op in operations:
        if op == inner[0]:
            continue
        if not all(getattr(value.type, "shape", None) == () for value in (*op.operands, *op.results)):
            return None
        if any(value in depends for value in op.operands):
            varying.append(op)
            depends.update(op.results)
    found = inner[0].opview
    if any(value in depends for value in list(inner[0].operands)[:3]):
        return None
    carried, passed = list(loop.body.blocks[0].arguments)[1:], list(terminator(loop.body.blocks[0]).operation.operands)
    if list(found.initValues) != carried or passed != list(inner[0].results):
        return None
    return found, varying


def _only_adds(loop: ir.OpView) -> bool:
    """Whether each value that a loop carries is a sum to which its body adds products, and nothing is stored."""
    body = loop.body.blocks[0]
    if any(_writes(op) for op in _operations(loop)):
        return False
    passed = list(terminator(body).operation.operands)
    return all(_is_sum(value, passed[number]) for number, value in enumerate(list(body.arguments)[1:]))


def _writes(op: ir.Operation) -> bool:
    """Whether an operation may do more than to compute or to load."""
    return op.name.endswith("_tko") and "load" not in op.name or not op.results


def _is_sum(value: ir.Value, passed: ir.Value) -> bool:
    """Whether a value is passed on after products are added to it, and is used for nothing else."""
    while value != passed:
        uses = list(value.uses)
        user = uses[0].owner.operation if len(uses) == 1 else None
        if user is None or user.name not in MULTIPLIES or user.opview.acc != value:
            return False
        value = user.results[0]
    return len(list(value.uses)) == 1


def _unroll(nest: _Nest) -> None:
    """Repeats the innermost body for each tap; the loop over the taps then has one iteration."""
    loop, body = nest.loops[0], nest.body
    end = terminator(body)
    counter, carried = loop.body.blocks[0].arguments[0], list(body.arguments)[1:]
    operations = _operations(nest.loops[-1])
    for number, op in enumerate(operations):
        if op.name in _VIEW_LOADS:
            op.attributes[REPEATED_LOAD] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, op.context), number)
    current = list(carried)
    with ir.InsertionPoint(end):
        for count in nest.counts:
            with loop.location:
                values = {counter: integer_splat(counter.type, count), **dict(zip(carried, current, strict=True))}
            for op in (*nest.varying, *operations):
                copy_operation(op, values)
            current = [values.get(value, value) for value in end.operation.operands]
    for number, value in enumerate(current):
        end.operation.operands[number] = value
    for op in reversed(operations):
        op.erase()
    with ir.InsertionPoint(loop), loop.location:
        step = splat(loop.step)
        assert step is not None, "the step is known"
        loop.operation.operands[1] = integer_splat(counter.type, min(nest.counts) + step)
