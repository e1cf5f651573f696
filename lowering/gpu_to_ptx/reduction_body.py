"""The body region of a reduction or scan, applied to registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.lowering import Lowering, named_location
from tilec.lowering.gpu_to_ptx.register_reduction import Reduce, reduction_in_registers
from tilec.lowering.gpu_to_ptx.warp_reduction import reduction_of_warp
from tilec.lowering.layout.reduction_plan import ReductionPlan


class ReductionBody:
    """A body whose arguments are (element, accumulator) per operand and which yields the new accumulators."""

    def __init__(self, lowering: Lowering, operation: ir.Operation) -> None:
        self._lowering = lowering
        self._block = operation.regions[0].blocks[0]
        self._location = lowering.b.location

    def combine(self, elements: list[ir.Value], accumulators: list[ir.Value]) -> list[ir.Value]:
        """Lowers the body once and returns the new accumulators."""
        pairs = [register for pair in zip(elements, accumulators, strict=True) for register in pair]
        for argument, register in zip(self._block.arguments, pairs, strict=True):
            self._lowering.set(argument, [register])
        values = self._lowering.lower_block(self._block)
        self._lowering.b.location = self._location
        return [self._lowering.scalar(value) for value in values]

    def of_warp(self, kind: PtxElement, plan: ReductionPlan) -> Callable[[ir.Value], ir.Value] | None:
        """The reduction of a register over all lanes by one instruction; None if there is none."""
        return reduction_of_warp(self._lowering, kind, self._block, plan)

    def of_many(self, kind: PtxElement) -> Reduce | None:
        """The reduction of many registers of a thread in any order by fewer instructions; None if there is none."""
        reduce = reduction_in_registers(self._lowering, kind, self._block)
        return None if reduce is None else lambda registers: self._located(reduce, registers)

    def _located(self, reduce: Reduce, registers: Sequence[ir.Value]) -> ir.Value:
        self._lowering.b.location = named_location(self._block.operations[0].operation)
        value = reduce(registers)
        self._lowering.b.location = self._location
        return value
