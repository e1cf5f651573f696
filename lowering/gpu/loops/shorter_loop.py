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
        bound: the upper bound of the loop without its last iteration.
    """

    runs: ir.Value
    distance: ir.Value
    bound: ir.Value


def shorter_loop(loop: ir.Operation) -> ShorterLoop:
    """Computes the scalars at the insertion point."""
    lower, upper, step = list(loop.operands)[:3]
    runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
    # Without overflow: the difference of the bounds is exact as an unsigned number.
    distance = emitter.binary("arith.subi", upper, lower)
    several = emitter.less_than(step, distance, unsigned=True)
    before_last = emitter.binary("arith.subi", upper, step)
    return ShorterLoop(
        runs, distance, emitter.create("arith.select", [upper.type], [several, before_last, lower]).result
    )


def last_counter(lower: ir.Value, distance: ir.Value, step: ir.Value) -> ir.Value:
    """The counter of the last iteration of a loop that has one, computed at the insertion point."""
    whole = emitter.binary("arith.subi", distance, emitter.constant(distance.type, 1))
    steps = emitter.binary("arith.divui", whole, step)
    return emitter.binary("arith.addi", lower, emitter.binary("arith.muli", steps, step))
