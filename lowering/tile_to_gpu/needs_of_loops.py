"""What accumulators and operands need of tensor memory or of registers, where loops follow each other.

What an iteration multiplies and reads is not in use in another loop, unless one of them is inside the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.accumulator import Accumulator
from tilec.lowering.tile_to_gpu.unit_choice import loops_around


@dataclass
class NeedsOfLoops:
    """Columns, or registers, by the loops around what needs them, from the inside out.

    Attributes:
        shares: whether loops that follow each other have the same ones.
        always: those that several loops need.
    """

    shares: bool = True
    always: int = 0
    by_loops: dict[tuple[ir.Operation, ...], int] = field(default_factory=dict)

    def add_accumulators(self, accumulators: Iterable[Accumulator], needed: Callable[[ir.OpView], int]) -> None:
        """Adds accumulators, whose first multiplies tell what is `needed`."""
        for accumulator in accumulators:
            first = next(iter(accumulator.multiplies)).opview
            if accumulator.is_of_one_multiply:
                self.add(first, needed(first))
            else:
                self.always += needed(first)

    def add(self, op: ir.OpView, needed: int) -> None:
        """Adds what an operation needs in an iteration."""
        loops = tuple(loops_around(op))
        self.by_loops[loops] = self.by_loops.get(loops, 0) + needed

    def total(self) -> int:
        """All that is needed at once."""
        innermost = [loops[0] for loops in self.by_loops if loops]
        are_apart = len(innermost) == len(self.by_loops) and not any(
            loop in loops[1:] for loop in innermost for loops in self.by_loops
        )
        join = max if self.shares and are_apart and innermost else sum
        return self.always + join(self.by_loops.values())

    def total_with(self, op: ir.OpView, needed: int) -> int:
        """All that is needed with what one more operation needs."""
        more = NeedsOfLoops(self.shares, self.always, dict(self.by_loops))
        more.add(op, needed)
        return more.total()
