"""Replaces a `for` whose body is two equal iterations by one of twice as many iterations.

    for i = 0 .. n { step(2 * i); step(2 * i + 1) }     becomes   for j = 0 .. 2 * n { step(j) }
    for i = 0 .. n, 2 { step(i); step(i + 1) }          becomes   for j = 0 .. ceil(n / 2) * 2 { step(j) }

Loops that users unroll get the roles, rings and schedule of those that they do not. Four equal iterations are two of
two. The results have the same bits: the same operations are executed in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.mlir import ir
from tilec.dialect.walk import (
    is_within,
    operations_in,
    operations_named,
    owner_of,
    reached_from,
    terminator_of,
    views_in,
)
from tilec.lowering.tile.analysis.bounds import bounds, type_interval
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import IndexArithmetic
from tilec.lowering.tile.analysis.induction import is_integer
from tilec.lowering.tile.analysis.sum_terms import constant_difference, linear_factors
from tilec.lowering.tile.analysis.tile_operations import FOR, LOADS, MULTIPLIES, STRUCTURES
from tilec.lowering.tile.simplify.remove_dead import remove_dead
from tilec.lowering.tile.simplify.simplify import Evaluate, simplify
from tilec.lowering.upstream_passes import run_upstream

_SUMS = ("cuda_tile.addi", "cuda_tile.subi", "cuda_tile.muli")


def roll_loops(module: ir.Module, evaluate: Evaluate) -> None:
    """Changes loops in place."""
    while any(map(_roll, operations_named(module, (FOR,)))):
        # The second half, of which nothing is used, has loads; bounds and indices in other words cancel.
        remove_dead(module)
        run_upstream("cse", module)
        simplify(module, evaluate)


def _roll(loop: ir.OpView) -> bool:
    if not _may_repeat(loop) or (growth := _growth(loop)) is None:
        return False
    halves = _first_half(loop, growth)
    if halves is None:
        return False
    # First, as an index may be carried.
    end = terminator_of(loop.body.blocks[0])
    for number, value in halves.results.items():
        end.operands[number] = value
    counter, step = loop.induction_variable, splat(loop.step)
    arithmetic = IndexArithmetic(counter.type.element.width)
    with ir.InsertionPoint.at_block_begin(loop.body.blocks[0]), loop.location:
        # With a step of 1, the counter counts twice as many iterations. An index may be computed from another one, so
        # that none is replaced before the factors of all are known.
        indices = halves.indices if step == 1 else ()
        halved = [arithmetic.made(_with_half_factor(index, counter, arithmetic)) for index in indices]
        for index, value in zip(indices, halved, strict=True):
            index.replace_all_uses_with(value)
    with ir.InsertionPoint(loop.operation), loop.location:
        if step == 1:
            iterations = arithmetic.at_least(0, loop.upperBound)
            loop.operation.operands[1] = arithmetic.made(arithmetic.product([iterations, 2]))
        else:
            count = arithmetic.quotient_up(loop.upperBound, step)
            loop.operation.operands[1] = arithmetic.made(arithmetic.product([count, step]))
            loop.operation.operands[2] = arithmetic.made(growth)
    return True


def _may_repeat(loop: ir.OpView) -> bool:
    """Whether each multiply and load of a loop occurs in even numbers, and the loop has no effects with an order."""
    operations = views_in(loop.body.blocks[0])[:-1]
    kinds = Counter[tuple[str, str]]()
    for op in operations:
        name = op.operation.name
        if name in LOADS:
            if str(op.memory_ordering_semantics) != "weak":
                return False
        elif name in STRUCTURES or not effect_free(op):
            return False
        elif name in _SUMS and str(op.overflow) != "none":
            # The index of another iteration might wrap where the operation says that none does.
            return False
        if name in (*LOADS, *MULTIPLIES):
            kinds[name, str(op.operation.results[0].type)] += 1
    return bool(kinds) and all(number % 2 == 0 for number in kinds.values())


def _growth(loop: ir.OpView) -> int | None:
    """The growth of the counter from the first half of an iteration to the second; 1 with a step of 1, as it doubles.

    None if the counter of twice as many iterations might wrap.
    """
    counter, step = loop.induction_variable, splat(loop.step)
    if loop.unsignedCmp or not is_integer(counter) or splat(loop.lowerBound) != 0 or step is None:
        return None
    upper, whole = bounds(loop.upperBound), type_interval(counter.type)
    if step == 1:
        return 1 if upper.high * 2 <= whole.high else None
    return step // 2 if step > 0 and step % 2 == 0 and upper.high + step - 1 <= whole.high else None


def _with_half_factor(index: ir.Value, counter: ir.Value, arithmetic: IndexArithmetic) -> int | ir.Value:
    """A linear index of the counter, with half of its factor; the terms are those from outside of the loop."""
    factors = linear_factors(index)
    terms = [arithmetic.product([term, factor]) for term, factor in factors.items() if term != counter]
    known = arithmetic.sum([*terms, arithmetic.product([counter, factors.get(counter, 0)])])
    constant = constant_difference(index, arithmetic.made(known))
    assert constant is not None
    return arithmetic.sum([*terms, arithmetic.product([counter, factors.get(counter, 0) // 2]), constant])


@dataclass
class _Half:
    """The values of the first half of an iteration, as far as they are known.

    Attributes:
        results: what is carried to the second half, by the number of the carried value.
        indices: the indices of the first half that are linear in the counter.
    """

    results: dict[int, ir.Value] = field(default_factory=dict)
    indices: list[ir.Value] = field(default_factory=list)


def _first_half(loop: ir.OpView, growth: int) -> _Half | None:
    """The half whose operations, from its own results on, compute what the loop carries to the next iteration."""
    carried = list(terminator_of(loop.body.blocks[0]).operands)

    def completed(half: _Half) -> _Half | None:
        missing = next((index for index in range(len(carried)) if index not in half.results), None)
        if missing is None:
            return half
        for candidate in _candidates(carried[missing], loop):
            found = _Halves(loop, growth, carried, half)
            if found.repeats(missing, candidate) and (whole := completed(found.half)) is not None:
                return whole
        return None

    return completed(_Half())


def _candidates(value: ir.Value, loop: ir.OpView) -> Iterator[ir.Value]:
    """The values of an iteration from which a carried value is computed, by an operation of the same kind."""
    op = owner_of(value)
    if op is None or not is_within(value, loop):
        yield value
        return
    for each in reached_from(op.operands, _operands):
        owner = owner_of(each)
        if owner is not None and owner.name == op.name and each.type == value.type and is_within(each, loop):
            yield each


def _operands(value: ir.Value) -> Iterable[ir.Value]:
    op = owner_of(value)
    return () if op is None else op.operands


class _Halves:
    """Compares the second half of an iteration with the first one, from results to operands."""

    def __init__(self, loop: ir.OpView, growth: int, carried: Sequence[ir.Value], known: _Half) -> None:
        self.loop, self.growth, self.carried = loop, growth, carried
        self.half = _Half(dict(known.results), list(known.indices))
        self._equal: set[tuple[ir.Value, ir.Value]] = set()

    def repeats(self, number: int, candidate: ir.Value) -> bool:
        """Whether a carried value repeats a value of the first half, and so does each that this needs."""
        compared, self.half.results[number] = set(self.half.results), candidate
        while missing := self.half.results.keys() - compared:
            number = min(missing)
            compared.add(number)
            if not self._is_repeated(self.carried[number], self.half.results[number]):
                return False
        return True

    def _is_repeated(self, later: ir.Value, earlier: ir.Value) -> bool:
        """Whether a value of the second half is that of the first one, an iteration later."""
        if not is_within(earlier, self.loop):
            return bool(later == earlier)
        if (later, earlier) in self._equal:
            return True
        is_equal = later.type == earlier.type and (
            self._are_indices(later, earlier) or self._is_carried(later, earlier) or self._are_computed(later, earlier)
        )
        if is_equal:
            self._equal.add((later, earlier))
        return is_equal

    def _are_indices(self, later: ir.Value, earlier: ir.Value) -> bool:
        """Whether indices are linear in the counter, and differ by its growth."""
        counter = self.loop.induction_variable
        if earlier.type != counter.type:
            return False
        factors = linear_factors(earlier)
        if any(is_within(term, self.loop) for term in factors if term != counter):
            return False
        factor, difference = factors.get(counter, 0), constant_difference(later, earlier)
        if splat(self.loop.step) == 1:
            if factor % 2:
                return False
            factor //= 2
        if difference is None or (difference - factor * self.growth) % (1 << counter.type.element.width):
            return False
        self.half.indices.append(earlier)
        return True

    def _is_carried(self, later: ir.Value, earlier: ir.Value) -> bool:
        """Whether the first half reads a carried value where the second one reads the result of the first."""
        arguments = list(self.loop.carried)
        if earlier not in arguments:
            return False
        return bool(self.half.results.setdefault(arguments.index(earlier), later) == later)

    def _are_computed(self, later: ir.Value, earlier: ir.Value) -> bool:
        """Whether operations of one kind compute values from equal operands."""
        one, other = owner_of(later), owner_of(earlier)
        if one is None or other is None or not self._are_alike(one, other):
            return False
        if list(one.results).index(later) != list(other.results).index(earlier):
            return False
        return all(map(self._is_repeated, one.operands, other.operands))

    def _are_alike(self, one: ir.Operation, other: ir.Operation) -> bool:
        """Whether operations have one name, equal attributes, as many operands and results, and equal regions."""
        counts = [(op.name, len(op.operands), len(op.results), len(op.regions)) for op in (one, other)]
        attributes = [{name: op.attributes[name] for name in op.attributes} for op in (one, other)]
        are_equal = counts[0] == counts[1] and attributes[0] == attributes[1]
        return are_equal and all(map(self._have_equal_code, one.regions, other.regions))

    def _have_equal_code(self, later: ir.Region, earlier: ir.Region) -> bool:
        """Whether regions of one block each have equal operations on their own values and on those of the halves."""
        blocks = later.blocks[0], earlier.blocks[0]
        own = dict(zip(*(block.arguments for block in blocks), strict=True))
        operations = [operations_in(block) for block in blocks]
        if len(operations[0]) != len(operations[1]):
            return False
        for one, other in zip(*operations, strict=True):
            if one.regions or not self._are_alike(one, other):
                return False
            for pair in zip(one.operands, other.operands, strict=True):
                if own[pair[0]] != pair[1] if pair[0] in own else not self._is_repeated(*pair):
                    return False
            own |= dict(zip(one.results, other.results, strict=True))
        return True
