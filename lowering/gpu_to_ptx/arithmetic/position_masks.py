"""Comparisons of the numbers of elements with one bound: words whose bits are the results of 32 elements.

The numbers of the elements of a thread are the number of its first one, t, plus constants in ascending order. The
numbers below a bound are the first m, so that two instructions make a word of results. A test of a bit per element then
makes the predicates; ptxas 13.0 moves the bits to seven predicates by one instruction (R2P), where a comparison makes
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.upstream_predicates import predicate_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import test_bit
from tilec.lowering.gpu_to_ptx.registers.value_parts import MaskBit, Position
from tilec.lowering.instruction_choice import LEAST_BOUNDED_ELEMENTS, is_mask_comparison

_WORD_BITS = 32
# number < bound is not bound <= number, and so on: the comparison of the number if it is on the right.
_MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
# Whether the numbers up to the bound satisfy a comparison, or those after it; whether the bound is one of the first.
_FIRST = {"slt": (True, False), "sle": (True, True), "sgt": (False, True), "sge": (False, False)}


@dataclass(frozen=True)
class _Ranks:
    """Constants that have all combinations of the lowest `low` bits and of the bits from `high`, and no other bits."""

    low: int
    high: int

    def of(self, constant: int) -> int:
        """The number of smaller constants."""
        return constant & (1 << self.low) - 1 | constant >> self.high << self.low


def compare_positions(lowering: Lowering, operation: ir.Operation) -> bool:
    """Lowers a comparison for a mask, if its numbers of elements have a form for which words are shorter."""
    if not is_mask_comparison(operation):
        return False
    lhs, rhs = (lowering.get(operand) for operand in operation.operands)
    predicate = predicate_of(operation)
    is_left = _numbered(lowering, lhs) >= _numbered(lowering, rhs)
    numbers, bounds = (lhs, rhs) if is_left else (rhs, lhs)
    masks = _masks(lowering, predicate if is_left else _MIRRORED[predicate], numbers, bounds)
    if masks is None:
        return False
    lowering.set(operation.results[0], masks)
    return True


def combine_masks(lowering: Lowering, function: str, a: ir.Value, b: ir.Value) -> ir.Value | None:
    """The function (and, or, xor) of two predicates that are the same bit of two words; None for others."""
    one, other = lowering.mask_bits.get(a), lowering.mask_bits.get(b)
    if one is None or other is None or (one.bit, one.width, 1) != (other.bit, 1, other.width):
        return None
    key = function, one.word, other.word
    word = lowering.once(key, lambda: lowering.compute(f"{function}.b32 $0, $1, $2;", "i32", one.word, other.word))
    return test_bit(lowering, MaskBit(word, one.bit))


# ptxas 13.0 moves bits of a word to predicates together only where the tests of the word follow each other, each beside
# the instruction that uses it.


def by_words(lowering: Lowering, conditions: Sequence[ir.Value]) -> list[int]:
    """The numbers of the conditions, with those that are bits of one word in a row."""
    groups: dict[ir.Value | None, list[int]] = {}
    for at, condition in enumerate(conditions):
        bit = lowering.mask_bits.get(condition)
        groups.setdefault(None if bit is None else bit.word, []).append(at)
    return [at for group in groups.values() for at in group]


def test_again(lowering: Lowering, condition: ir.Value) -> ir.Value:
    """A predicate for the next instruction: one that is a bit of a word is made there."""
    bit = lowering.mask_bits.get(condition)
    return condition if bit is None else test_bit(lowering, bit)


def _numbered(lowering: Lowering, registers: Sequence[ir.Value]) -> int:
    """The distinct registers, if all are numbers of elements, else 0."""
    distinct = set(registers)
    return len(distinct) if distinct <= lowering.positions.keys() else 0


def _masks(
    lowering: Lowering, predicate: str, numbers: Sequence[ir.Value], bounds: Sequence[ir.Value]
) -> list[ir.Value] | None:
    groups: dict[ir.Value, dict[ir.Value, Position]] = {}
    for number, bound in zip(numbers, bounds, strict=True):
        position = lowering.positions.get(number)
        if position is None or bound in lowering.literals:
            return None
        groups.setdefault(bound, {})[number] = position
    orders = [order for group in groups.values() if (order := _ranks(list(group.values()))) is not None]
    if len(orders) < len(groups):
        return None
    made: dict[tuple[ir.Value, ir.Value], ir.Value] = {}
    for (bound, group), order in zip(groups.items(), orders, strict=True):
        for number, mask in _group(lowering, predicate, bound, group, order).items():
            made[number, bound] = mask
    return [made[column] for column in zip(numbers, bounds, strict=True)]


def _ranks(positions: Sequence[Position]) -> _Ranks | None:
    """The order of the constants of a thread; None for too few elements or another form."""
    constants = sorted({each.constant for each in positions})
    if len({each.thread for each in positions}) > 1 or len(constants) < LEAST_BOUNDED_ELEMENTS:
        return None
    bits = constants[-1]
    low = (~bits & bits + 1).bit_length() - 1
    rest = bits >> low
    high = low + (rest & -rest).bit_length() - 1 if rest else low
    ranks = _Ranks(low, high)
    return ranks if [ranks.of(each) for each in constants] == list(range(len(constants))) else None


def _group(
    lowering: Lowering, predicate: str, bound: ir.Value, group: dict[ir.Value, Position], ranks: _Ranks
) -> dict[ir.Value, ir.Value]:
    """The predicates of numbers that are compared with one bound."""
    is_first, with_bound = _FIRST[predicate]
    first = next(iter(group.values()))
    last = _last(lowering, bound, first, ranks, with_bound)
    word = _words(lowering, last, is_first)
    words: dict[int, ir.Value] = {}
    found = {}
    for number, position in group.items():
        index, bit = divmod(ranks.of(position.constant), _WORD_BITS)
        if index not in words:
            words[index] = word(index)
        found[number] = test_bit(lowering, MaskBit(words[index], bit))
    return found


def _last(lowering: Lowering, bound: ir.Value, first: Position, ranks: _Ranks, with_bound: bool) -> ir.Value:
    """The rank of the last element of a thread whose number is below the bound (or equal); negative if there is none.

    The bound is moved to the nearest number that compares alike with all numbers, so that nothing wraps.
    """
    least, most = (-1, first.extent - 1) if with_bound else (0, first.extent)
    near = lowering.compute(f"max.s32 $0, $1, {least};", "i32", bound)
    near = lowering.compute(f"min.s32 $0, $1, {most};", "i32", near)
    if not with_bound:
        near = lowering.compute("add.s32 $0, $1, -1;", "i32", near)
    if first.thread is not None:
        near = lowering.compute("sub.s32 $0, $1, $2;", "i32", near, first.thread)
    return _rank(lowering, near, ranks)


def _rank(lowering: Lowering, number: ir.Value, ranks: _Ranks) -> ir.Value:
    """The rank of the largest constant that is at most a number."""
    if ranks.low == ranks.high:
        return number
    above = lowering.compute(f"shr.s32 $0, $1, {ranks.high};", "i32", number)
    if ranks.low == 0:
        return above
    above = lowering.compute(f"shl.b32 $0, $1, {ranks.low};", "i32", above)
    below = lowering.compute(f"and.b32 $0, $1, {(1 << ranks.high) - 1};", "i32", number)
    below = lowering.compute(f"min.s32 $0, $1, {(1 << ranks.low) - 1};", "i32", below)
    return lowering.compute("add.s32 $0, $1, $2;", "i32", above, below)


def _words(lowering: Lowering, last: ir.Value, is_first: bool) -> Callable[[int], ir.Value]:
    """Words of the ranks up to `last` (`is_first`), or above it.

    PTX ISA 9.7.8.7 and 9.7.8.8: a shift by more than 32 bits is one by 32.
    """
    shift, start, sign = ("shr.u32", _WORD_BITS - 1, 1) if is_first else ("shl.b32", 1, -1)
    last = lowering.compute("neg.s32 $0, $1;", "i32", last) if is_first else last

    def word(index: int) -> ir.Value:
        dropped = lowering.compute(f"add.s32 $0, $1, {start + sign * _WORD_BITS * index};", "i32", last)
        dropped = lowering.compute("max.s32 $0, $1, 0;", "i32", dropped)
        return lowering.compute(f"{shift} $0, -1, $1;", "i32", dropped)

    return word
