"""Replaces loops that a comparison of a counter leaves by `for`, and carried counters by functions of one counter.

    j = 0; while j * 64 < n { .. j += 1 }        becomes  for j = 0 .. ceil(n / 64) { .. }
    j = n; while j > 0 { j -= 1; .. }            becomes  for i = 0 .. n { j = n - i - 1; .. }
    for j = 0 .. n { .. first += 64 }            becomes  for j = 0 .. n { first = j * 64; .. }
    for first = 0 .. n, 64 { j = first / 64 .. } becomes  for j = 0 .. ceil(n / 64) { first = j * 64; .. }

Later passes split loops at masks by the counter of a `for`. A loop that never ends, because its counter wraps past the
bound each time, may become one that ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, operations_in, operations_inside, operations_named, users_of
from tilec.lowering.tile.analysis.bounds import Interval, bounds, exact_multiple, type_interval
from tilec.lowering.tile.analysis.condition import compare, integer
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, IndexArithmetic, Number
from tilec.lowering.tile.analysis.induction import step_of, substitute, value_after
from tilec.lowering.tile.analysis.replacing import copy_operation, replace
from tilec.lowering.tile.analysis.tile_operations import BREAK, FOR, IF, LOOP, ends, leaves, producer, returns
from tilec.lowering.tile.divide.loop_split_point import Step, Term, chain, hoist, is_invariant, split_point
from tilec.lowering.tile.simplify.simplify import Evaluate, simplify
from tilec.lowering.upstream_passes import run_upstream

# Operations that add to differences of their operand, or multiply them; a wrap keeps remainders by powers of two.
_AFFINE = ("addi", "subi", "muli", "shli", "negi", "assume", "trunci")


def count_loops(module: ir.Module, evaluate: Evaluate) -> None:
    """Changes loops in place; the innermost loops first."""
    is_changed = False
    for loop in operations_named(module, (LOOP,), innermost_first=True):
        exit = _exit(loop)
        if exit is not None:
            is_changed |= any(_replace(loop, exit, counter) for counter in _counters(loop))
    for loop in operations_named(module, (FOR,)):
        is_changed |= _count_by_one(loop)
        for index, factor in substitute(loop).items():
            is_changed = True
            result = loop.operation.results[index]
            if list(result.uses):
                with ir.InsertionPoint.after(loop.operation), loop.location:
                    result.replace_all_uses_with(value_after(loop, index, factor))
    if is_changed:
        # Bounds and first values in other words cancel.
        run_upstream("cse", module)
        simplify(module, evaluate)


@dataclass(frozen=True)
class _Exit:
    """The only exit of a loop, before the first operation with an effect.

    Attributes:
        branch: the branch that leaves the loop.
        conditions: scalar comparisons; the loop is left if one of them has the result beside it.
    """

    branch: ir.OpView
    conditions: tuple[tuple[ir.OpView, bool], ...]


@dataclass(frozen=True)
class _Counter:
    """The counter of a `for`: the carried value with a number, or one from 0 on that is counted in addition."""

    index: int | None
    lower: Number
    step: int
    type: TileType


@dataclass(frozen=True)
class _Bound:
    """The bound of a counter.

    Attributes:
        first: the bound.
        passed: a number, by how much less than another one the loop passes it, and whether it falls: where it wraps
            there, it never reaches the number, and the loop has no bound.
    """

    first: Term
    passed: tuple[ir.Value, int, bool] | None = None

    def value(self, type: TileType, is_only: bool) -> ir.Value:
        """The bound at the insertion point; the only bound of a loop may be any if the loop would not end."""
        first = self.first.nearest(type)
        if self.passed is None or is_only:
            return first
        number, growth, falls = self.passed
        whole, none = type_interval(number.type), integer_splat(type, type_interval(type).high)
        limit = whole.low + growth if falls else whole.high - growth
        if not whole.low <= limit <= whole.high:
            return none
        reaches = compare("greater_than_or_equal" if falls else "less_than_or_equal", number, limit)
        return first if isinstance(reaches, bool) else build("select", [reaches, first, none], [type]).result


def _exit(loop: ir.OpView) -> _Exit | None:
    if len(ends(loop, BREAK)) != 1 or next(returns(loop), None) is not None:
        return None
    for op in loop.body.blocks[0].operations:
        if op.operation.name == IF:
            conditions = _conditions(op.condition, True) if _only_leaves(op) else ()
            return _Exit(op, tuple(conditions)) if conditions else None
        if not effect_free(op) or op.operation.regions:
            return None
    return None


def _only_leaves(branch: ir.OpView) -> bool:
    """Whether a branch leaves the loop if its condition holds, and does nothing else."""
    *others, last = operations_in(branch.then.blocks[0])
    is_exit = last.name == BREAK and all(effect_free(op.opview) and not op.regions for op in others)
    return is_exit and not any(len(operations_in(block)) > 1 or leaves(block) for block in branch.else_.blocks)


def _conditions(value: ir.Value, result: bool) -> list[tuple[ir.OpView, bool]]:
    """Comparisons of which one has its result where the value has `result`; none if it is computed otherwise."""
    op = producer(value, "cmpi", "xori", "ori" if result else "andi")
    if op is None:
        return []
    if op.operation.name == "cuda_tile.cmpi":
        return [(op, result)]
    if op.operation.name == "cuda_tile.xori":
        return _conditions(op.lhs, not result) if splat(op.rhs) == 1 else []
    sides = [_conditions(side, result) for side in (op.lhs, op.rhs)]
    return sides[0] + sides[1] if all(sides) else []


def _counters(loop: ir.OpView) -> Iterator[_Counter]:
    """Carried values that grow, those that grow by 1 first, then a counter from 0 on."""
    steps = {index: step_of(loop, index) for index in range(len(loop.carried))}
    growing = {index: step for index, step in steps.items() if isinstance(step, int) and step > 0}
    for index in sorted(growing, key=lambda index: growing[index] != 1):
        type = loop.carried[index].type
        if growing[index] == 1 or type == NARROW.scalar:
            yield _Counter(index, loop.initValues[index], growing[index], type)
    if any(step is not None for step in steps.values()):
        yield _Counter(None, 0, 1, NARROW.scalar)


def _replace(loop: ir.OpView, exit: _Exit, counter: _Counter) -> bool:
    """Replaces a loop by a `for` with a counter; returns False, and leaves the loop, if its bound is not known."""
    with ir.InsertionPoint(loop.operation), loop.location:
        upper = integer_splat(counter.type, type_interval(counter.type).high)
        copies, made = _as_for(loop, counter, upper)
    conditions = [(copies[comparison.operation].opview, result) for comparison, result in exit.conditions]
    copies[exit.branch.operation].erase()
    factors = dict[int, Number]()
    if counter.index is not None:
        made.carried[counter.index].replace_all_uses_with(made.induction_variable)
        factors[counter.index] = 1
    of_counter = [chain(_varying(comparison, made)[0], made) is not None for comparison, _ in conditions]
    factors |= substitute(made)
    firsts = [
        _first(comparison, made, counter.step, result, own)
        for (comparison, result), own in zip(conditions, of_counter, strict=True)
    ]
    if not all(firsts):
        constants = {made.step, upper} | ({made.lowerBound} if isinstance(counter.lower, int) else set())
        made.operation.erase()
        for constant in constants:
            constant.owner.erase()
        return False
    ends_of_counter = [each for each in firsts if each is not None]
    for each in ends_of_counter:
        hoist(each.first, made)
        if each.passed is not None:
            hoist(Term(bounds(each.passed[0]), each.passed[0]), made)
    with ir.InsertionPoint(made.operation), made.location:
        bound, *others = (each.value(counter.type, len(ends_of_counter) == 1) for each in ends_of_counter)
        for other in others:
            bound = integer("mini", bound, other, signedness="signed")
    upper.replace_all_uses_with(bound)
    upper.owner.erase()
    values = dict[ir.Value, ir.Value]()
    with ir.InsertionPoint(loop.operation), loop.location:
        for index, argument in enumerate(loop.carried):
            last = made.operation.results[index]
            values[argument] = value_after(made, index, factors[index]) if index in factors else last
        left = [_after(value, loop, values) for value in ends(loop, BREAK)[0].operation.operands]
    replace(loop, left)
    return True


def _as_for(loop: ir.OpView, counter: _Counter, upper: ir.Value) -> tuple[dict[ir.Operation, ir.Operation], ir.OpView]:
    """A `for` with the body of a loop at the insertion point, and the copy of each operation of the loop."""
    lower, step = (
        integer_splat(counter.type, each) if isinstance(each, int) else each for each in (counter.lower, counter.step)
    )
    initial = list(loop.initValues)
    types = [value.type for value in initial]
    copy = loop.operation.clone().opview
    copies = dict(zip(operations_inside(loop), operations_inside(copy), strict=True))
    made = build("for", [lower, upper, step, initial], types)
    body = made.regions[0].blocks.append(counter.type, *types, arg_locs=[loop.location] * (1 + len(types)))
    for old, new in zip(copy.carried, list(body.arguments)[1:], strict=True):
        old.replace_all_uses_with(new)
    for op in operations_in(copy.body.blocks[0]):
        body.append(op)
    copy.operation.erase()
    return copies, made.opview


def _after(value: ir.Value, loop: ir.OpView, values: dict[ir.Value, ir.Value]) -> ir.Value:
    """A value of the exit of a loop, after the loop, from those of the carried values."""
    if value not in values and is_within(value, loop):
        op = value.owner.operation
        for operand in op.operands:
            _after(operand, loop, values)
        copy_operation(op, values)
    return values.get(value, value)


def _count_by_one(loop: ir.OpView) -> bool:
    """Counts the iterations of a `for` that starts from a multiple of its step, if the loop reads their number."""
    step, counter = splat(loop.step), loop.induction_variable
    first = None if loop.unsignedCmp or step is None or step < 2 else _quotient(loop.lowerBound, step)
    if first is None or step is None or not _reads_number(loop, step):
        return False
    uses = [(use.owner.operation, use.operand_number) for use in counter.uses]
    arithmetic = IndexArithmetic(counter.type.element.width)
    with ir.InsertionPoint.at_block_begin(loop.body.blocks[0]), loop.location:
        multiple = arithmetic.made(arithmetic.product([counter, step]))
    for owner, number in uses:
        owner.operands[number] = multiple
    with ir.InsertionPoint(loop.operation), loop.location:
        bounds_and_step = first, arithmetic.quotient_up(loop.upperBound, step), 1
        for number, value in enumerate(bounds_and_step):
            loop.operation.operands[number] = arithmetic.made(value)
    return True


def _reads_number(loop: ir.OpView, step: int) -> bool:
    """Whether a loop divides its counter by a divisor of the step, or carries an integer that grows by less."""
    users = [user for user in users_of(loop.induction_variable) if user.name == "cuda_tile.divi"]
    divisors = [splat(user.operands[1]) for user in users]
    growth = [step_of(loop, index) for index in range(len(loop.carried))]
    is_divided = any(divisor and step % divisor == 0 for divisor in divisors)
    return is_divided or any(isinstance(each, int) and each % step for each in growth)


def _quotient(value: ir.Value, divisor: int) -> Number | None:
    """The quotient of a multiple, or None for other values."""
    known, product = splat(value), exact_multiple(value)
    if known is not None:
        return None if known % divisor else known // divisor
    return product[0] if product is not None and product[1] == divisor else None


# ---- bounds of counters


def _varying(comparison: ir.OpView, loop: ir.OpView) -> tuple[ir.Value, ir.Value]:
    """The side of a comparison that changes in a loop, if one does not, then the other one."""
    sides = comparison.lhs, comparison.rhs
    return sides[::-1] if is_invariant(sides[0], loop) else sides


def _first(comparison: ir.OpView, loop: ir.OpView, step: int, result: bool, is_of_counter: bool) -> _Bound | None:
    """The counter from which on a comparison has a result; None if the loop might pass over it.

    `is_of_counter`: whether the loop compares the counter itself, so that it does not end before the counter wraps.
    """
    if comparison.comparison_predicate in ("equal", "not_equal"):
        ordered = _ordered(comparison, loop, step) if result == (comparison.comparison_predicate == "equal") else None
        if ordered is None:
            return None
        comparison, result = ordered, True
    point = split_point(comparison, loop)
    side, bound = _varying(comparison, loop)
    links = chain(side, loop)
    if point is None or point.after != result or links is None or _at_lower_bound(links[::-1], loop) is None:
        return None
    greatest = type_interval(loop.lowerBound.type).high
    growth, fits = _growth(links[::-1], step), point.first.interval.high + step - 1 <= greatest
    if fits and (point.is_exact_after or growth is not None and _has_room(bound, growth)):
        return _Bound(point.first)
    if growth is None or growth & (growth - 1) or not (is_of_counter or fits):
        return None
    # A number that wraps keeps its remainder by a power of two, and passes over the bound each time.
    falls = sum(link.falls for _, link in links) % 2 == 1
    return _Bound(point.first, None if growth == 1 and fits else (bound, growth, falls))


def _at_lower_bound(links: list[tuple[ir.OpView, Step]], loop: ir.OpView) -> Interval | None:
    """The value that is compared in the first iteration; None if an operation may wrap there."""
    known = bounds(loop.lowerBound)
    for op, link in links:
        result = link.result(known)
        if result is None or not _fits(result, op):
            return None
        known = result
    return known


def _fits(result: Interval, op: ir.OpView) -> bool:
    """Whether an operation does not wrap, given its exact results."""
    whole = type_interval(op.operation.results[0].type)
    return whole.low <= result.low and result.high <= whole.high


def _growth(links: list[tuple[ir.OpView, Step]], step: int) -> int | None:
    """The growth or the fall of the compared value per iteration, before it is divided; None if it is not known.

    Operations after a division, or an extension, must be exact for all values.
    """
    growth = step
    known: Interval | None = None
    for op, link in links:
        name = op.operation.name.removeprefix("cuda_tile.")
        if known is None and name in _AFFINE:
            factor = _factor(op, name)
            if factor is None:
                return None
            growth *= factor
            continue
        known = link.result(type_interval(op.operation.operands[0].type) if known is None else known)
        if known is None or not _fits(known, op):
            return None
    return growth


def _factor(op: ir.OpView, name: str) -> int | None:
    """The factor of differences by an operation that wraps, without its sign; None if it is not known."""
    if name not in ("muli", "shli"):
        return 1
    known = splat(op.rhs) if name == "shli" or splat(op.rhs) is not None else splat(op.lhs)
    return None if known is None else 1 << known if name == "shli" else abs(known)


def _has_room(bound: ir.Value, growth: int) -> bool:
    """Whether a value that passes a bound by less than `growth` does not wrap."""
    known, whole = bounds(bound), type_interval(bound.type)
    return whole.low <= known.low - growth and known.high + growth <= whole.high


def _ordered(comparison: ir.OpView, loop: ir.OpView, step: int) -> ir.OpView | None:
    """A comparison of order for one of equality with a bound that the counter reaches in steps of 1; None otherwise."""
    side, bound = _varying(comparison, loop)
    links = chain(side, loop) if is_invariant(bound, loop) else None
    if links is None or any(op.operation.name.removeprefix("cuda_tile.") not in _AFFINE for op, _ in links):
        return None
    first = _at_lower_bound(links[::-1], loop)
    if first is None or _growth(links[::-1], step) != 1:
        return None
    falls = sum(link.falls for _, link in links) % 2 == 1
    limit = bounds(bound)
    if first.low < limit.high if falls else first.high > limit.low:
        return None
    predicate = "less_than_or_equal" if falls else "greater_than_or_equal"
    attributes = {"comparison_predicate": predicate, "signedness": "signed"}
    with ir.InsertionPoint(comparison.operation), comparison.location:
        return build("cmpi", [side, bound], [comparison.result.type], attributes).opview
