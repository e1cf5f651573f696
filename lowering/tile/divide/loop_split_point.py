"""The iteration from which on a comparison in a loop is true, or false, as arithmetic of values before the loop.

    for i { if (i + 1) * 64 > %n { .. } }       is true from i = %n / 64 on, rounded down

A chain of operations leads from the counter to the comparison; each is monotone, and is inverted exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, owner_of, reached
from tilec.lowering.tile.analysis.bounds import Interval, bounds, exact_multiple, type_interval
from tilec.lowering.tile.analysis.condition import cast_signed
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, WIDE, IndexArithmetic, Number
from tilec.lowering.tile.analysis.tile_operations import producer
from tilec.lowering.tile.simplify.hoist_invariants import is_speculatable

_NARROW_RANGE, _WIDE_RANGE = Interval(-(2**31), 2**31 - 1), Interval(-(2**63), 2**63 - 1)
# lhs PREDICATE rhs as rhs FLIPPED lhs.
_FLIPPED = {
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}
# For lhs PREDICATE rhs: what to add to rhs for a bound that lhs reaches, and the result from there on.
_BOUNDS = {
    "greater_than_or_equal": (0, True),
    "greater_than": (1, True),
    "less_than": (0, False),
    "less_than_or_equal": (1, False),
}
_IDENTITIES = ("exti", "trunci", "assume")


@dataclass(frozen=True, eq=False)
class Term:
    """An exact integer before the loop: a number or a value, or an operation on two terms if it has a name."""

    interval: Interval
    leaf: Number | None
    name: str = ""
    operands: tuple[Term, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Whether both are one number or value, or one operation on equal terms.

        Values of MLIR can only be compared with values.
        """
        if not isinstance(other, Term) or isinstance(self.leaf, ir.Value) is not isinstance(other.leaf, ir.Value):
            return False
        is_alike = self.leaf == other.leaf and (self.name, self.interval) == (other.name, other.interval)
        return is_alike and self.operands == other.operands

    def __hash__(self) -> int:
        return hash((self.interval, self.name, self.operands))

    def fits(self, whole: Interval) -> bool:
        """Whether the term, and each that it is computed from, is in a range."""
        own = whole.low <= self.interval.low and self.interval.high <= whole.high
        return own and all(each.fits(whole) for each in self.operands)

    @property
    def arithmetic(self) -> IndexArithmetic:
        """The arithmetic in which it is computed."""
        return NARROW if self.fits(_NARROW_RANGE) and self._is_narrow() else WIDE

    def _is_narrow(self) -> bool:
        own = not isinstance(self.leaf, ir.Value) or self.leaf.type.element.width <= NARROW.width
        return own and all(each._is_narrow() for each in self.operands)

    def nearest(self, type: TileType) -> ir.Value:
        """The nearest integer of a type at the insertion point."""
        number, whole = self.value(self.arithmetic), type_interval(type)
        if self.interval.low < whole.low or self.interval.high > whole.high:
            number = self.arithmetic.within(number, *whole)
        return cast_signed(self.arithmetic.made(number), type)

    def value(self, arithmetic: IndexArithmetic) -> Number:
        """The term at the insertion point, in arithmetic in which it fits."""
        if self.leaf is not None:
            return arithmetic.extended(self.leaf)
        lhs, rhs = (each.value(arithmetic) for each in self.operands)
        match self.name:
            case "addi":
                return arithmetic.sum([lhs, rhs])
            case "subi":
                return arithmetic.difference(lhs, rhs)
            case "muli":
                return arithmetic.product([lhs, rhs])
        values = [arithmetic.made(lhs), arithmetic.made(rhs)]
        rounding = "positive_inf" if self.name == "quotient_up" else "negative_inf"
        return build("divi", values, [values[0].type], {"signedness": "signed", "rounding": rounding}).result


_CORNERS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "quotient_up": lambda x, y: -(-x // y),
    "quotient_down": lambda x, y: x // y,
}


def _corners(name: str, x: Interval, y: Interval) -> Interval:
    """The interval of an operation; divisors are positive, so that each is monotone in both operands."""
    results = [_CORNERS[name](a, b) for a in x for b in y]
    return Interval(min(results), max(results))


_QUOTIENTS = {"negative_inf": "quotient_down", "positive_inf": "quotient_up"}


def _of(number: Number) -> Term:
    known = Interval(number, number) if isinstance(number, int) else bounds(number)
    if known.low == known.high:
        return Term(known, known.low)
    product = None if isinstance(number, int) else exact_multiple(number)
    if product is not None:
        return Term(known, None, "muli", (_of(product[0]), _of(product[1])))
    quotient = producer(number, "divi")
    if quotient is None or quotient.signedness != "signed" or bounds(quotient.rhs).low <= 0:
        return Term(known, number)
    if quotient.rounding not in _QUOTIENTS:
        return Term(known, number)
    return _term(_QUOTIENTS[quotient.rounding], _of(quotient.lhs), _of(quotient.rhs))


def _term(name: str, lhs: Term, rhs: Term) -> Term:
    """A term in the form that equal bounds in other words have: constants are added last."""
    interval = _corners(name, lhs.interval, rhs.interval)
    if interval.low == interval.high:
        return Term(interval, interval.low)
    if name == "subi" and isinstance(rhs.leaf, int):
        return _term("addi", lhs, _of(-rhs.leaf))
    if name == "addi" and rhs.leaf == 0:
        return lhs
    added = lhs.operands[1].leaf if lhs.name == "addi" else None
    if name == "addi" and isinstance(rhs.leaf, int) and isinstance(added, int):
        return _term("addi", lhs.operands[0], _of(added + rhs.leaf))
    if name == "quotient_up" and isinstance(added, int) and added > 0:
        # The least integer that is not below (x + 1) / y is the integer part of x / y, plus 1.
        return _term("addi", _term("quotient_down", _term("subi", lhs, _of(1)), rhs), _of(1))
    if name in ("muli", "quotient_down") and rhs.leaf == 1:
        return lhs
    factor = lhs.operands[1].leaf if lhs.name == "muli" else None
    if name.startswith("quotient") and isinstance(factor, int) and isinstance(rhs.leaf, int) and factor % rhs.leaf == 0:
        return _term("muli", lhs.operands[0], _of(factor // rhs.leaf))
    return Term(interval, None, name, (lhs, rhs))


@dataclass(frozen=True)
class SplitPoint:
    """The counters from `first` on give a comparison the result `after`, and those below it the other result.

    Attributes:
        first: the least counter from which on the result is `after`, unless an operation wraps.
        is_exact_after: whether no operation wraps, so that all iterations from `first` on have that result.
    """

    first: Term
    after: bool
    is_exact_after: bool


@dataclass(frozen=True)
class Step:
    """A monotone operation of a chain.

    Attributes:
        result: the exact interval of the result from that of the operand; None if the operation is not known for it.
        inverted: from a bound that the result reaches to the one that the operand reaches.
        falls: whether the result falls as the operand grows; the operand is then below its bound.
        expands: whether the result is at least the operand if the operand is not negative.
    """

    result: Callable[[Interval], Interval | None]
    inverted: Callable[[Term], Term]
    falls: bool = False
    expands: bool = False


def split_point(comparison: ir.OpView, loop: ir.OpView) -> SplitPoint | None:
    """The split point of a scalar comparison in a `for` whose counter is signed; None if none is known."""
    predicate = comparison.comparison_predicate
    if predicate not in _BOUNDS or loop.unsignedCmp or comparison.lhs.type.shape:
        return None
    sides = [comparison.lhs, comparison.rhs]
    if comparison.signedness == "unsigned" and any(bounds(side).low < 0 for side in sides):
        return None
    if is_invariant(sides[0], loop):
        predicate, sides = _FLIPPED[predicate], sides[::-1]
    if not is_invariant(sides[1], loop):
        return None
    steps = chain(sides[0], loop)
    if steps is None:
        return None
    offset, after = _BOUNDS[predicate]
    terms = [_term("addi", _of(sides[1]), _of(offset))]
    for _, step in steps:
        terms.append(step.inverted(terms[-1]))
        after ^= step.falls
    exact = _is_exact(steps, terms, loop)
    return SplitPoint(terms[-1], after, exact) if exact is not None and terms[-1].fits(_WIDE_RANGE) else None


def is_never_negative(value: ir.Value, loop: ir.OpView) -> bool:
    """Whether a value is not negative in any iteration, unless an operation wraps."""
    steps = chain(value, loop)
    known: Interval | None = None if steps is None else bounds(loop.induction_variable)
    for _, step in reversed(steps or ()):
        known = None if known is None else step.result(known)
    return known is not None and known.low >= 0


def is_invariant(value: ir.Value, loop: ir.OpView) -> bool:
    """Whether a value can be computed before the loop."""

    def operands(value: ir.Value) -> list[ir.Value]:
        owner = owner_of(value)
        return [] if owner is None else [each for each in owner.operands if is_within(each, loop)]

    inside = reached(value, operands) if is_within(value, loop) else ()
    return all(map(_is_movable, inside))


def _is_movable(value: ir.Value) -> bool:
    owner = owner_of(value)
    # An assumption in the body may not hold for a loop without iterations.
    if owner is None or owner.regions or owner.name == "cuda_tile.assume":
        return False
    return is_speculatable(owner.opview)


def chain(value: ir.Value, loop: ir.OpView) -> list[tuple[ir.OpView, Step]] | None:
    """The operations from a value back to the counter; None if one is not known."""
    steps = list[tuple[ir.OpView, Step]]()
    while value != loop.induction_variable:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        found = _step(owner, loop)
        if found is None:
            return None
        value, step = found
        steps.append((owner, step))
    return steps


def _is_exact(steps: list[tuple[ir.OpView, Step]], terms: list[Term], loop: ir.OpView) -> bool | None:
    """Whether no operation of a chain wraps; None if an operation may wrap before the split point.

    `terms` has the bound that the result of each step reaches at the split point. Before that point the result is less
    than the bound; after an odd number of steps that fall, it is at least the bound. If all operations expand, none
    exceeds the result of the last operation.
    """
    known: Interval | None = bounds(loop.induction_variable)
    exact, fits, falls = True, True, False
    for (op, step), bound in zip(reversed(steps), reversed(terms[:-1]), strict=True):
        known = None if known is None else step.result(known)
        if known is None:
            return None
        falls ^= step.falls
        whole = type_interval(op.operation.results[0].type)
        if getattr(op, "overflow", "none") in ("no_signed_wrap", "no_wrap"):
            known = known.meet(whole)
        before = known.meet(
            Interval(bound.interval.low, known.high) if falls else Interval(known.low, bound.interval.high - 1)
        )
        fits &= whole.low <= before.low and before.high <= whole.high
        exact &= whole.low <= known.low and known.high <= whole.high
        if known.low < whole.low and not fits:
            return None
        # An assumption about a result says nothing about the exact number if the operation wraps.
        known = known.meet(bounds(op.operation.results[0])) if exact else known
    return exact if exact or fits or all(step.expands for _, step in steps) else None


def _step(op: ir.OpView, loop: ir.OpView) -> tuple[ir.Value, Step] | None:
    """The operand that depends on the counter, and the step from it to the result."""
    name = op.operation.name.removeprefix("cuda_tile.")
    if name in _IDENTITIES:
        return op.operation.operands[0], _identity(op, name)
    if name == "negi":
        return op.source, _from(_of(0))
    if name not in ("addi", "subi", "muli", "divi", "shli", "shri"):
        return None
    if is_invariant(op.rhs, loop):
        step = _by(op, name, _of(op.rhs))
        return None if step is None else (op.lhs, step)
    if name not in ("addi", "subi", "muli") or not is_invariant(op.lhs, loop):
        return None
    step = _from(_of(op.lhs)) if name == "subi" else _by(op, name, _of(op.lhs))
    return None if step is None else (op.rhs, step)


def _identity(op: ir.OpView, name: str) -> Step:
    unsigned = name == "exti" and op.signedness == "unsigned"
    return Step(lambda x: None if unsigned and x.low < 0 else x, lambda bound: bound, expands=True)


def _from(number: Term) -> Step:
    """number - x >= bound, where x <= number - bound."""
    return Step(
        lambda x: _corners("subi", number.interval, x),
        lambda bound: _term("addi", _term("subi", number, bound), _of(1)),
        falls=True,
    )


def _by(op: ir.OpView, name: str, number: Term) -> Step | None:
    """The step of an operation with the counter on its left side, or on either side of a sum or a product."""
    known = number.interval
    match name:
        case "addi":
            return Step(
                lambda x: _corners("addi", x, known), lambda bound: _term("subi", bound, number), False, known.low >= 0
            )
        case "subi":
            return Step(
                lambda x: _corners("subi", x, known), lambda bound: _term("addi", bound, number), False, known.high <= 0
            )
        case "shli" | "shri":
            shift = splat(op.rhs)
            if shift is None or not 0 <= shift < op.operation.results[0].type.element.width:
                return None
            return _times(_of(1 << shift)) if name == "shli" else _divided(_of(1 << shift), "negative_inf", op)
        case "muli":
            return _times(number)
    return _divided(number, op.rounding, op) if known.low > 0 else None


def _times(number: Term) -> Step | None:
    """x * number >= bound, where x >= bound / number; for a negative number, where x <= -bound / -number."""

    def result(x: Interval) -> Interval:
        return _corners("muli", x, number.interval)

    if number.interval.low > 0:
        return Step(result, lambda bound: _term("quotient_up", bound, number), expands=True)
    if number.interval.high >= 0:
        return None
    positive = _term("subi", _of(0), number)
    return Step(
        result,
        lambda bound: _term("addi", _term("quotient_down", _term("subi", _of(0), bound), positive), _of(1)),
        falls=True,
    )


def _divided(number: Term, rounding: str, op: ir.OpView) -> Step:
    """x / number >= bound, where x >= bound * number; rounded up, where x > (bound - 1) * number."""
    name = "quotient_up" if rounding == "positive_inf" else "quotient_down"

    def result(x: Interval) -> Interval | None:
        # Below zero, rounding to zero is not rounding down.
        is_known = x.low >= 0 or op.signedness == "signed" and rounding != "zero"
        return _corners(name, x, number.interval) if is_known else None

    def inverted(bound: Term) -> Term:
        if name == "quotient_down":
            return _term("muli", bound, number)
        return _term("addi", _term("muli", _term("subi", bound, _of(1)), number), _of(1))

    return Step(result, inverted)


def hoist(term: Term, loop: ir.OpView) -> None:
    """Moves the operations that compute the values of a term before the loop."""
    for each in term.operands:
        hoist(each, loop)
    if isinstance(term.leaf, ir.Value):
        _move_out(term.leaf, loop)


def _move_out(value: ir.Value, loop: ir.OpView) -> None:
    if is_within(value, loop):
        for operand in value.owner.operation.operands:
            _move_out(operand, loop)
        value.owner.operation.move_before(loop.operation)
