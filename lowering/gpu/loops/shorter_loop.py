"""The bounds of a loop with one iteration less, and the counter of the last one."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering import emitter


@dataclass(frozen=True)
class ShorterLoop:
    """Scalars in front of a loop.

    Attributes:
        runs: whether the loop has an iteration.
        distance: the upper less the lower bound, exact as an unsigned number if the loop has one.
        lower: the lower bound of the loop without an iteration.
        upper: its upper bound.
    """

    runs: ir.Value
    distance: ir.Value
    lower: ir.Value
    upper: ir.Value


def without_last(loop: ir.Operation) -> ShorterLoop:
    """The loop without its last iteration; computes the scalars at the insertion point."""
    lower, upper, step = list(loop.operands)[:3]
    runs = _runs(loop)
    distance, several = _distance(loop)
    before_last = emitter.binary("arith.subi", upper, step)
    bound = emitter.create("arith.select", [upper.type], [several, before_last, lower]).result
    return ShorterLoop(runs, distance, lower, bound)


def without_first(loop: ir.Operation) -> ShorterLoop:
    """The loop without its first iteration; computes the scalars at the insertion point."""
    lower, upper, step = list(loop.operands)[:3]
    distance, several = _distance(loop)
    second = emitter.binary("arith.addi", lower, step)
    start = emitter.create("arith.select", [upper.type], [several, second, upper]).result
    return ShorterLoop(_runs(loop), distance, start, upper)


def _runs(loop: ir.Operation) -> ir.Value:
    lower, upper = list(loop.operands)[:2]
    return emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)


def _distance(loop: ir.Operation) -> tuple[ir.Value, ir.Value]:
    """The upper less the lower bound, and whether it is more than a step, if the loop has an iteration."""
    lower, upper, step = list(loop.operands)[:3]
    # Without overflow: the difference of the bounds is exact as an unsigned number.
    distance = emitter.binary("arith.subi", upper, lower)
    return distance, emitter.less_than(step, distance, unsigned=True)


def last_counter(lower: ir.Value, distance: ir.Value, step: ir.Value) -> ir.Value:
    """The counter of the last iteration of a loop that has one, computed at the insertion point."""
    whole = emitter.binary("arith.subi", distance, emitter.constant(distance.type, 1))
    steps = emitter.binary("arith.divui", whole, step)
    return emitter.binary("arith.addi", lower, emitter.binary("arith.muli", steps, step))
