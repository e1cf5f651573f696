"""Splits loops where a condition on their counter becomes true or false for all later iterations.

    for i = 0 .. n { .. if (i + 1) * 64 > m { mask } .. }

becomes `for i = 0 .. min(n, k) { .. }` and `for i = max(0, k) .. n { .. mask .. }`, so that iterations without the mask
have no branch. A condition that may wrap in the second loop stays in it. Masks of elements are split likewise
(whole_masks), those of operands only where the plan has found that it pays (tile_to_gpu/tile_stage.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ASSUMED_ITERATIONS
from tilec.dialect.walk import operations_in, operations_inside, operations_named, reached, users_of
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.condition import cast_signed, integer
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.index_arithmetic import WIDE, broadcast
from tilec.lowering.tile.analysis.induction import counter_from
from tilec.lowering.tile.analysis.replacing import replace
from tilec.lowering.tile.analysis.tile_operations import FOR, IF, LOOPS, MULTIPLIES, YIELD, is_tile, producer, yields
from tilec.lowering.tile.divide.loop_split_point import SplitPoint, Term, hoist, split_point
from tilec.lowering.tile.divide.whole_masks import MIXED, add_optional_conditions, remove_optional_conditions, wanted
from tilec.lowering.tile.simplify.hoist_invariants import is_speculatable
from tilec.lowering.tile.simplify.simplify import Evaluate, simplify
from tilec.lowering.tile.simplify.simplify_control import simplify_control
from tilec.lowering.upstream_passes import run_upstream

# A window of keys has two ends: one loop masks the first, one masks neither, one masks the second.
_MOST_PARTS = 3
# The number of the loop that a part is of, while the pass runs.
_WHOLE = "tilec.split_from"
# Marks a comparison that stays in the second of two loops, as it may wrap there.
_STAYS = "tilec.stays"
# The operands of a loop before its initial values: the lower bound, the upper bound and the step.
_BOUNDS = 3
# Operations through which a comparison becomes a condition.
_LOGIC = tuple(f"cuda_tile.{name}" for name in ("andi", "ori", "xori", "select", "broadcast", "reshape"))


def split_loops(module: ir.Module, evaluate: Evaluate, *, masks_operands: bool = False) -> None:
    """Splits innermost loops in place, each into at most three; the number of iterations may be any.

    With `masks_operands`, masks of operands split loops in place of those of scores, and the parts with masks have the
    number of iterations that the cost model assumes.
    """
    add_optional_conditions(module, [loop for loop, _ in _candidates(module)], masks_operands)
    if next(_candidates(module), None) is not None:
        # Comparisons in other words become one comparison.
        run_upstream("cse", module)
        numbers = count()
        while (found := next(_candidates(module), None)) is not None:
            _split(*found, next(numbers))
            simplify(module, evaluate)
            simplify_control(module)
    if remove_optional_conditions(module):
        simplify(module, evaluate)
    for op in operations_named(module, (FOR,)):
        if _WHOLE in op.attributes:
            del op.attributes[_WHOLE]


def _candidates(module: ir.Module) -> Iterator[tuple[ir.OpView, list[tuple[ir.OpView, SplitPoint]]]]:
    """The loops with comparisons that change in one iteration; of the parts of one loop, the smallest first."""
    loops = [(loop, operations_inside(loop)) for loop in operations_named(module, (FOR,))]
    for loop, inner in sorted(loops, key=lambda each: len(each[1])):
        parts = [each for each, _ in loops if _whole(each) is not None and _whole(each) == _whole(loop)]
        if len(parts) >= _MOST_PARTS or any(op.name in LOOPS for op in inner) or not _step_is_known(loop):
            continue
        found = list[tuple[ir.OpView, SplitPoint]]()
        for op in inner:
            if op.name == "cuda_tile.cmpi" and _STAYS not in op.attributes and _decides(op.results[0]):
                point = split_point(op.opview, loop)
                if point is None or not _spares_a_mask(op.opview, point):
                    continue
                if not found or _is_split_alike(found[0], (op.opview, point)):
                    found.append((op.opview, point))
        if found:
            yield loop, found


def _spares_a_mask(comparison: ir.OpView, point: SplitPoint) -> bool:
    """Whether a part of the loop needs no mask; true for comparisons that are not optional."""
    return wanted(comparison) is None or point.after != wanted(comparison) or point.is_exact_after


def _is_split_alike(one: tuple[ir.OpView, SplitPoint], other: tuple[ir.OpView, SplitPoint]) -> bool:
    """Whether two comparisons split a loop at one point, or are conditions of masks that the same part needs."""
    if wanted(one[0]) is None or wanted(other[0]) is None:
        return one[1].first == other[1].first
    return (one[1].after == wanted(one[0])) == (other[1].after == wanted(other[0]))


def _whole(loop: ir.OpView) -> int | None:
    return loop.attributes[_WHOLE].value if _WHOLE in loop.attributes else None


def _step_is_known(loop: ir.OpView) -> bool:
    """Whether the first counter of the second loop is computed without a wrap."""
    step = bounds(loop.step)
    return step.low == step.high == 1 or step.low > 0 and loop.step.type.element.width < WIDE.width


def _decides(condition: ir.Value) -> bool:
    """Whether a condition chooses between tiles, or decides whether some are computed."""

    def conditions(value: ir.Value) -> list[ir.Value]:
        found = list[ir.Value]()
        for use in value.uses:
            user = use.owner.operation
            if user.name in _LOGIC and _is_boolean(user.results[0]):
                found.append(user.results[0])
            elif user.name == YIELD and user.parent.name == IF:
                found.append(user.parent.results[use.operand_number])
        return found

    return any(_chooses_tiles(user) for value in reached(condition, conditions) for user in users_of(value))


def _is_boolean(value: ir.Value) -> bool:
    return isinstance(value.type.element, ir.IntegerType) and value.type.element.width == 1


def _chooses_tiles(op: ir.Operation) -> bool:
    if op.name == "cuda_tile.select":
        return not _is_boolean(op.results[0]) and op.results[0].type.rank > 0
    return op.name == IF and any(is_tile(result) for each in (op, *operations_inside(op)) for result in each.results)


def _split(loop: ir.OpView, found: list[tuple[ir.OpView, SplitPoint]], number: int) -> None:
    """Makes two loops of one; comparisons are constants in the first, and in the second unless they may wrap there."""
    terms = list(dict.fromkeys(point.first for _, point in found))
    for term in terms:
        hoist(term, loop)
    if _WHOLE not in loop.attributes:
        loop.attributes[_WHOLE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)
    with ir.InsertionPoint(loop.operation), loop.location:
        end, start = _ends(loop, terms, found[0][1].after == wanted(found[0][0]))
    with ir.InsertionPoint.after(loop.operation):
        second = loop.operation.clone().opview
    for result, last in zip(loop.operation.results, second.operation.results, strict=True):
        result.replace_all_uses_with(last)
    second.operation.operands[0] = start
    loop.operation.operands[1] = end
    for index, result in enumerate(loop.operation.results):
        second.operation.operands[_BOUNDS + index] = result
    # The operations of both loops have the same order.
    copies = dict(zip(operations_inside(loop), operations_inside(second), strict=True))
    for comparison, point in found:
        copy = copies[comparison.operation].opview
        needless = wanted(comparison)
        if needless is not None:
            # The mask stays in the other loop.
            if MIXED in comparison.attributes:
                masked = loop if point.after == needless else second.opview
                masked.operation.attributes[ASSUMED_ITERATIONS] = comparison.attributes[MIXED]
            _fix(comparison, needless ^ (point.after == needless))
            _fix(copy, needless ^ (point.after != needless))
            continue
        _fix(comparison, not point.after)
        if point.is_exact_after:
            _fix(copy, point.after)
            continue
        copy.attributes[_STAYS] = ir.UnitAttr.get()
        for user in users_of(copy.result):
            if user.name == IF:
                _select(user.opview)


def _select(branch: ir.OpView) -> None:
    """Computes both regions of a branch before it and selects the results, if they only compute elements.

    Almost all iterations of the second loop take the branch.
    """
    last = yields(branch)
    inner = [op for region in branch.operation.regions for block in region.blocks for op in operations_in(block)[:-1]]
    if len(last) < 2 or not all(map(is_tile, branch.operation.results)):
        return
    if any(op.regions or op.name in MULTIPLIES or not is_speculatable(op.opview) for op in inner):
        return
    for op in inner:
        op.move_before(branch.operation)
    with ir.InsertionPoint(branch.operation), branch.location:
        choices = [[end.operation.operands[number] for end in last] for number in range(len(branch.operation.results))]
        replace(branch, [_selected(branch.condition, *values) for values in choices])


def _selected(condition: ir.Value, taken: ir.Value, other: ir.Value) -> ir.Value:
    """`taken` or `other`; a mask that chooses between the same value and another one gets the condition as well."""
    mask = producer(taken, "select")
    if mask is None or mask.val_if_true != other:
        chosen = broadcast(condition, taken.type.shape)
        return build("select", [chosen, taken, other], [taken.type]).result
    inverse = integer("xori", condition, 1)
    chosen = integer("ori", mask.cond, broadcast(inverse, mask.cond.type.shape))
    return build("select", [chosen, mask.val_if_true, mask.val_if_false], [taken.type]).result


def _fix(comparison: ir.OpView, result: bool) -> None:
    """Replaces a comparison by its result."""
    with ir.InsertionPoint(comparison.operation), comparison.location:
        comparison.result.replace_all_uses_with(integer_splat(comparison.result.type, result))
    comparison.operation.erase()


def _ends(loop: ir.OpView, terms: list[Term], latest: bool) -> tuple[ir.Value, ir.Value]:
    """The upper bound of the first loop and the lower bound of the second: the `latest` or the earliest term."""
    type = loop.lowerBound.type
    first, *others = (term.nearest(type) for term in terms)
    for other in others:
        first = integer("maxi" if latest else "mini", first, other, signedness="signed")
    end = integer("mini", loop.upperBound, first, signedness="signed")
    if splat(loop.step) == 1:
        return end, integer("maxi", loop.lowerBound, first, signedness="signed")
    start = counter_from(loop, end)
    upper = WIDE.made(WIDE.extended(loop.upperBound))
    return end, cast_signed(integer("mini", start, upper, signedness="signed"), type)
