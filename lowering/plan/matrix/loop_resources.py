"""The columns of tensor memory, or the registers, that accumulators and operands of a kernel need at once.

The sums and operands of an iteration are not in use in another loop, unless one of the loops is inside the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.lowering.plan.matrix.accumulator import Accumulator
from tilec.lowering.tile.analysis.tile_operations import loops_around


@dataclass
class LoopResources:
    """Columns or registers of one kernel.

    Attributes:
        shares: whether loops that follow each other use the same columns or registers.
        always: the number in use in all loops.
        by_loops: the number in use in an iteration, by the loops around the multiply, from the inside out.
    """

    shares: bool = True
    always: int = 0
    by_loops: dict[tuple[ir.Operation, ...], int] = field(default_factory=dict)

    def add_accumulators(self, accumulators: Iterable[Accumulator], needed: Callable[[ir.OpView], int]) -> None:
        """Adds accumulators; `needed` is a function of a multiply of each."""
        for accumulator in accumulators:
            first = next(iter(accumulator.multiplies)).opview
            if accumulator.is_of_one_block:
                self.add(first, needed(first))
            else:
                self.always += needed(first)

    def add(self, op: ir.OpView, needed: int) -> None:
        """Adds the columns or registers that an operation needs in an iteration."""
        loops = tuple(loops_around(op))
        self.by_loops[loops] = self.by_loops.get(loops, 0) + needed

    def total(self) -> int:
        """The number in use at once, at most."""
        innermost = [loops[0] for loops in self.by_loops if loops]
        are_apart = len(innermost) == len(self.by_loops) and not any(
            loop in loops[1:] for loop in innermost for loops in self.by_loops
        )
        join = max if self.shares and are_apart and innermost else sum
        return self.always + join(self.by_loops.values())

    def total_with(self, op: ir.OpView, needed: int) -> int:
        """The total with the columns or registers of another operation."""
        more = LoopResources(self.shares, self.always, dict(self.by_loops))
        more.add(op, needed)
        return more.total()
