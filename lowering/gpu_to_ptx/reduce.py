"""Folds along a dimension: in the registers of a thread, across lanes by shuffles, across warps through shared memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import Element
from tilec.lowering.gpu_to_ptx.exchange import read, row_major, write
from tilec.lowering.gpu_to_ptx.lowers import Lowering, element, layout_of
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.gpu_to_ptx.shuffle import from_lane_xor
from tilec.lowering.layout.folds import FoldPlan, fold_plan

Registers = list[list[ir.Value]]


@lowers("tile_gpu.reduce")
def reduce(lowering: Lowering, operation: ir.Operation) -> None:
    """Several operands fold together: registers[i] are the registers of operand i."""
    op = operation.opview
    sources = list(op.sources)
    plan = fold_plan(layout_of(sources[0].type), op.dimension)
    fold = _Fold(lowering, operation, [element(source) for source in sources])
    registers = [lowering.get(source) for source in sources]
    partial = fold.in_registers(plan, registers)
    partial = fold.across_lanes(plan, partial)
    partial = fold.across_warps(plan, partial)
    for result, values in zip(operation.results, partial, strict=True):
        lowering.set(result, values if layout_of(result.type) else values[:1])


class _Fold:
    """The body of one reduction, and the three ways to apply it."""

    def __init__(self, lowering: Lowering, operation: ir.Operation, kinds: list[Element]) -> None:
        self.lowering = lowering
        self.body = operation.regions[0].blocks[0]
        self.kinds = kinds
        self.location = lowering.b.location

    def combine(self, elements: list[ir.Value], accumulators: list[ir.Value]) -> list[ir.Value]:
        """One application of the body: arguments are (element, accumulator) for each operand."""
        pairs = [register for pair in zip(elements, accumulators, strict=True) for register in pair]
        for argument, register in zip(self.body.arguments, pairs, strict=True):
            self.lowering.set(argument, [register])
        last = self.lowering.lower_block(self.body)
        self.lowering.b.location = self.location
        return [self.lowering.scalar(value) for value in last.operands]

    def in_registers(self, plan: FoldPlan, registers: Registers) -> Registers:
        """A tree over the registers that hold elements of one row; every register of the row gets the result."""
        results: Registers = [list(column) for column in registers]
        for first, members in plan.register_rows:
            level = [[column[member] for column in registers] for member in members]
            while len(level) > 1:
                pairs = zip(level[0::2], level[1::2], strict=True)
                level = [self.combine(right, left) for left, right in pairs]
            for column, value in zip(results, level[0], strict=True):
                column[first] = value
        return [[column[first] for first in plan.row_of_register] for column in results]

    def across_lanes(self, plan: FoldPlan, partial: Registers) -> Registers:
        """Butterfly: every lane of the row ends with the result."""
        for lane_mask, register_mask in plan.lane_folds:
            other = [
                from_lane_xor(self.lowering, kind, self._permuted(column, register_mask), lane_mask)
                for kind, column in zip(self.kinds, partial, strict=True)
            ]
            partial = self._each_row(plan, other, partial)
        return partial

    def across_warps(self, plan: FoldPlan, partial: Registers) -> Registers:
        """Each warp writes its part, all meet, each thread reads and folds the parts of its rows."""
        if plan.warp_parts == 1:
            return partial
        parts = [self._all_parts(plan, kind, column) for kind, column in zip(self.kinds, partial, strict=True)]
        total = [column[0] for column in parts]
        for number in range(1, plan.warp_parts):
            total = self._each_row(plan, [column[number] for column in parts], total)
        return total

    def _all_parts(self, plan: FoldPlan, kind: Element, column: list[ir.Value]) -> Registers:
        """The registers of each warp's part, by part."""
        lowering = self.lowering
        places = row_major(plan.written.size, kind)
        base = lowering.scratch(plan.written.size * kind.bytes)
        lowering.barrier()
        write(lowering, kind, base, plan.written, column, places)
        lowering.barrier()
        found = read(lowering, kind, base, plan.read, places)
        count = len(column)
        return [[found[part * count + r] for r in range(count)] for part in range(plan.warp_parts)]

    def _each_row(self, plan: FoldPlan, elements: Registers, accumulators: Registers) -> Registers:
        """combine() once for each row a thread holds."""
        done: dict[int, list[ir.Value]] = {}
        for row in plan.row_of_register:
            if row not in done:
                done[row] = self.combine([c[row] for c in elements], [c[row] for c in accumulators])
        return [[done[row][i] for row in plan.row_of_register] for i in range(len(self.kinds))]

    def _permuted(self, column: list[ir.Value], mask: int) -> list[ir.Value]:
        return [column[register ^ mask] for register in range(len(column))] if mask else column
