"""Scalar conditions under which no element of a mask is needed, at which split-loops splits a loop.

    %mask = cmpi greater_than_or_equal %rows, %keys          rows 128 i .., keys 64 j ..
    %x = select %mask, %scores, -inf

becomes `%mask or (128 i >= 64 j + 63)`: iterations in which the scalar comparison holds need no mask. The condition is
optional: a loop that is not split at it computes the mask alone, and so does the part in which it does not hold.

    %x = select %mask, %loaded, 0;  mmaf %x, ..

A part without the mask of an operand multiplies what TMA has loaded. Such masks get conditions on demand only.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_inside, operations_named, reached, users_of
from tilec.lowering.tile.analysis.bounds import Interval, bounds, type_interval
from tilec.lowering.tile.analysis.condition import both, compare, integer
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, WIDE, IndexArithmetic, Number, broadcast
from tilec.lowering.tile.analysis.tile_operations import (
    FOR,
    LOOPS,
    MULTIPLIES,
    is_elementwise,
    is_tile,
    loops_around,
    operand_behind,
    producer,
)
from tilec.lowering.tile.divide.loop_split_point import is_invariant, is_never_negative, split_point

# On a comparison: the result that makes the mask unnecessary.
OPTIONAL = "tilec.optional"
# On a comparison for the mask of an operand: the iterations in which the mask has both values, at most.
MIXED = "tilec.mixed"
# Masks of fewer elements, as those of a decoding step, cost less than the code of a second loop.
_LEAST_ELEMENTS = 64 * 64
# The cost model: 256 multiply-adds per element (heads of 128) leave 8 to 45 % of an iteration to the masks of B200 and
# H200; twice as many hide most masks.
_MOST_MULTIPLY_ADDS = 256
# So do two functions per element, as a softmax of scores with a soft cap has: 2 % are left.
_MOST_FUNCTIONS = 1
_FUNCTIONS = frozenset(
    f"cuda_tile.{name}"
    for name in ("exp", "exp2", "tanh", "log", "log2", "sin", "cos", "tan", "pow", "rsqrt", "sqrt", "divf")
)
# Whether the comparison holds for all elements if it holds for the greatest lhs and the least rhs.
_RISES = {"less_than": True, "less_than_or_equal": True, "greater_than": False, "greater_than_or_equal": False}
_SHAPES = ("cuda_tile.broadcast", "cuda_tile.reshape", "cuda_tile.assume")
# Operations between the load of an operand and its multiply that need no threads, in most cases.
_MOVES = ("permute", "reshape", "ftof")
_FOLDED = tuple(f"cuda_tile.{name}" for name in (*_MOVES, "select"))


class _Ends(NamedTuple):
    """The least and the greatest element of a tile, or numbers below and above, where they do not wrap."""

    low: Number
    high: Number


@dataclass(frozen=True)
class _Loop:
    """The operations of a loop, and the least number of elements of scores whose masks it does not hide.

    Attributes:
        depth: the greatest depth of its multiplies.
        masks_operands: whether masks of operands count in place of those of scores.
    """

    inner: Set[ir.Operation]
    least: int
    depth: int
    masks_operands: bool

    @staticmethod
    def of(inner: list[ir.Operation], masks_operands: bool) -> _Loop:
        multiplies = [op.opview for op in inner if op.name in MULTIPLIES]
        products = sum(prod(op.acc.type.shape) * op.lhs.type.shape[-1] for op in multiplies)
        depth = max(op.lhs.type.shape[-1] for op in multiplies)
        functions = sum(prod(op.results[0].type.shape) for op in inner if op.name in _FUNCTIONS)
        hidden = max(products // _MOST_MULTIPLY_ADDS, functions // (_MOST_FUNCTIONS + 1) + 1)
        return _Loop(set(inner), max(_LEAST_ELEMENTS, hidden), depth, masks_operands)


def has_masked_operands(module: ir.Module) -> bool:
    """Whether loops without masks of scores mask operands of multiplies, which threads would not compute otherwise."""
    masks = [op.opview for op in operations_named(module, ("cuda_tile.select",)) if loops_around(op.opview)]
    loops = [loops_around(op)[0] for op in masks if _is_operand(op)]
    return bool(loops) and all(op.name != "cuda_tile.reduce" for loop in loops for op in operations_inside(loop))


def add_optional_conditions(module: ir.Module, others: Sequence[ir.OpView], masks_operands: bool) -> None:
    """Adds such a condition to each mask of scores that are reduced, in the innermost loops that multiply.

    `others` are the loops that are split at other conditions. With `masks_operands`, masks of operands get one instead.
    """
    for loop in operations_named(module, (FOR,)):
        if loop in others:
            continue
        inner = operations_inside(loop)
        names = {op.name for op in inner}
        if names.isdisjoint(MULTIPLIES) or not names.isdisjoint(LOOPS) or _continues(loop):
            continue
        for op in inner:
            if op.name == "cuda_tile.cmpi" and is_tile(op.results[0]):
                _add(op.opview, loop, _Loop.of(inner, masks_operands))


def remove_optional_conditions(module: ir.Module) -> bool:
    """Removes the conditions at which no loop was split; returns whether there were any."""
    found = [op for op in operations_named(module, ("cuda_tile.cmpi",)) if OPTIONAL in op.attributes]
    for op in found:
        with ir.InsertionPoint(op.operation), op.location:
            op.result.replace_all_uses_with(integer_splat(op.result.type, not wanted(op)))
        op.operation.erase()
    return bool(found)


def wanted(comparison: ir.OpView) -> bool | None:
    """The result of an optional condition that makes the mask unnecessary; None for other comparisons."""
    return comparison.attributes[OPTIONAL].value if OPTIONAL in comparison.attributes else None


def _continues(loop: ir.OpView) -> bool:
    """Whether a loop continues the sums of another one, or another one its sums: its masks are where they must be."""
    before = any(
        not isinstance(value.owner, ir.Block) and value.owner.operation.name == FOR for value in loop.initValues
    )
    return before or any(user.name == FOR for result in loop.operation.results for user in users_of(result))


def _add(mask: ir.OpView, loop: ir.OpView, work: _Loop) -> None:
    """Adds a condition to a mask of scores, if one is known and the loop does not hide the mask."""
    result = _needless(mask.result, work)
    predicate = mask.comparison_predicate
    width = mask.lhs.type.element.width
    if result is None or predicate not in _RISES or mask.signedness != "signed" or width != NARROW.width:
        return
    with ir.InsertionPoint(mask.operation), mask.location:
        lhs, rhs = _ends(mask.lhs, loop), _ends(mask.rhs, loop)
        if lhs is None or rhs is None:
            return
        greatest_first = _RISES[predicate] == result
        sides = (lhs.high, rhs.low) if greatest_first else (lhs.low, rhs.high)
        condition = compare(predicate, *map(NARROW.made, sides))
    if isinstance(condition, bool):
        return
    point = split_point(condition.owner, loop)
    if point is None or point.after == result and not point.is_exact_after:
        condition.owner.operation.erase()
        return
    uses = [(use.owner.operation, use.operand_number) for use in mask.result.uses]
    condition.owner.attributes[OPTIONAL] = ir.BoolAttr.get(result)
    if work.masks_operands:
        mixed = -(-sum(mask.result.type.shape) // work.depth)
        condition.owner.attributes[MIXED] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), mixed)
    with ir.InsertionPoint.after(mask.operation), mask.location:
        changed = integer("ori" if result else "andi", mask.result, broadcast(condition, mask.result.type.shape))
    for owner, number in uses:
        owner.operands[number] = changed


def _needless(mask: ir.Value, loop: _Loop) -> bool | None:
    """The value of all elements with which a mask changes no reduced scores; None if the uses have none in common."""
    found = set[bool | None]()
    for user in users_of(mask):
        op = user.opview
        match user.name.removeprefix("cuda_tile."):
            case "select" if op.cond == mask and (
                _is_operand(op) if loop.masks_operands else _is_reduced(op.result, loop)
            ):
                chosen = (producer(op.val_if_true, "constant"), producer(op.val_if_false, "constant"))
                found.add(None if all(chosen) or not any(chosen) else chosen[0] is None)
            case "broadcast" | "reshape":
                found.add(_needless(op.result, loop))
            case "andi" | "ori" as name:
                value = _needless(op.result, loop)
                found.add(value if value == (name == "andi") else None)
            case "xori" if splat(op.rhs) is not None:
                value = _needless(op.result, loop)
                found.add(None if value is None else value ^ bool(splat(op.rhs)))
            case _:
                return None
    return found.pop() if len(found) == 1 else None


def _is_reduced(scores: ir.Value, loop: _Loop) -> bool:
    """Whether a loop reduces scores whose masks it does not hide, so that all later operations wait for the mask."""

    def results(value: ir.Value) -> list[ir.Value]:
        users = [user for user in users_of(value) if user in loop.inner]
        forwarding = [user for user in users if user.name in _SHAPES or is_elementwise(user.opview)]
        return [result for user in forwarding for result in user.results]

    if not is_tile(scores) or prod(scores.type.shape) < loop.least:
        return False
    return any(user.name == "cuda_tile.reduce" for value in reached(scores, results) for user in users_of(value))


def _is_operand(op: ir.OpView) -> bool:
    """Whether masks are all that threads compute between the load of a tile and the multiplies that read it."""

    def results(value: ir.Value) -> list[ir.Value]:
        return [user.results[0] for user in users_of(value) if user.name in _FOLDED]

    def is_loaded(value: ir.Value) -> bool:
        mask = producer(source := operand_behind(value, *_MOVES), "select")
        if mask is not None:
            return is_loaded(mask.val_if_true) or is_loaded(mask.val_if_false)
        return producer(source, "load_view_tko") is not None

    users = {user.name for value in reached(op.result, results) for user in users_of(value)}.difference(_FOLDED)
    return bool(users) and users.issubset(MULTIPLIES) and is_loaded(op.result)


def _ends(value: ir.Value, loop: ir.OpView) -> _Ends | None:
    """The least and the greatest element of integers, as scalars at the insertion point; None if they are not known."""
    number = splat(value)
    if number is not None:
        return _Ends(number, number)
    if not value.type.shape:
        return _Ends(value, value)
    if isinstance(value.owner, ir.Block):
        return None
    op, name = value.owner, value.owner.operation.name
    if name == "cuda_tile.iota":
        return _Ends(0, value.type.shape[0] - 1)
    if name in _SHAPES:
        return _ends(op.operation.operands[0], loop)
    if name not in ("cuda_tile.addi", "cuda_tile.subi", "cuda_tile.divi"):
        return None
    lhs, rhs = _ends(op.lhs, loop), _ends(op.rhs, loop)
    if lhs is None or rhs is None:
        return None
    if name == "cuda_tile.divi":
        return _quotients(op, lhs)
    if name == "cuda_tile.addi":
        return _combined(op, [(lhs.low, rhs.low), (lhs.high, rhs.high)], loop)
    return _combined(op, [(lhs.low, rhs.high), (lhs.high, rhs.low)], loop)


def _quotients(op: ir.OpView, dividends: _Ends) -> _Ends | None:
    """The ends of quotients rounded down: those of known numbers that are not negative, by a positive number."""
    divisor, (low, high) = splat(op.rhs), dividends
    if divisor is None or divisor <= 0 or op.rounding not in ("zero", "negative_inf"):
        return None
    if not isinstance(low, int) or not isinstance(high, int) or low < 0:
        return None
    return _Ends(low // divisor, high // divisor)


def _combined(op: ir.OpView, pairs: list[tuple[Number, Number]], loop: ir.OpView) -> _Ends | None:
    """The ends of sums or differences; if elements may wrap, which only is known before the loop, those of the type."""
    whole = type_interval(op.result.type)
    sign = 1 if op.operation.name == "cuda_tile.addi" else -1
    one, other = bounds(op.lhs), bounds(op.rhs)
    corners = [x + sign * y for x, y in product(one, other)]

    def combine(arithmetic: IndexArithmetic, x: Number, y: Number) -> Number:
        return arithmetic.sum([x, y]) if sign == 1 else arithmetic.difference(x, y)

    if whole.low <= min(corners) and max(corners) <= whole.high:
        return _Ends(*(combine(NARROW, *pair) for pair in pairs))
    values = [each for pair in pairs for each in pair if isinstance(each, ir.Value)]
    varying = [each for each in values if not is_invariant(each, loop)]
    if varying:
        return _growing(sign, pairs, varying, whole, loop)
    low, high = (WIDE.made(combine(WIDE, *map(WIDE.extended, pair))) for pair in pairs)
    fits = both(compare("greater_than_or_equal", low, whole.low), compare("less_than_or_equal", high, whole.high))
    ends = [build("trunci", [each], [NARROW.scalar]).result for each in (low, high)]
    if isinstance(fits, bool):
        return _Ends(*ends) if fits else None
    limits = map(NARROW.made, whole)
    chosen = zip(ends, limits, strict=True)
    return _Ends(*(build("select", [fits, each, limit], [NARROW.scalar]).result for each, limit in chosen))


def _growing(
    sign: int, pairs: list[tuple[Number, Number]], varying: list[ir.Value], whole: Interval, loop: ir.OpView
) -> _Ends | None:
    """The end of a sum or difference that depends on a number which grows in the loop, and the end of the type.

    A condition on the first end is used only in iterations in which split_point shows that this end does not wrap. No
    element wraps there: one operand is not negative, so that results cannot leave the type on the other side.
    """
    (low, subtracted), (high, least) = pairs
    if sign == 1:
        grows = any(isinstance(each, int) and each >= 0 for each in pairs[0])
        return _Ends(whole.low, NARROW.sum([high, least])) if grows else None
    if low in varying and is_never_negative(low, loop):
        return _Ends(whole.low, NARROW.difference(high, least))
    if least in varying and is_never_negative(least, loop):
        return _Ends(NARROW.difference(low, subtracted), whole.high)
    return None
