"""Folds along a dimension: in registers, then across lanes by shuffles, then across warps through shared memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.exchange import read, row_major, write
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.reduction_body import ReductionBody
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.gpu_to_ptx.shared_address import SharedAddress, writable_scratch
from tilec.lowering.gpu_to_ptx.shuffle import from_lane_xor
from tilec.lowering.gpu_to_ptx.value_types import element, layout_of
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.reduction_plan import ReductionPlan, reduction_plan
from tilec.lowering.layout.vector_width import MAXIMUM_VECTOR_BYTES

Registers = list[list[ir.Value]]

# What a meeting of all warps costs, in loads from shared memory (about 30 cycles).
BARRIER_LOADS = 8


@lowers("tile_gpu.reduce")
def reduce(lowering: Lowering, operation: ir.Operation) -> None:
    """Several operands fold together: registers[i] are the registers of operand i."""
    op = operation.opview
    sources = list(op.sources)
    plan = reduction_plan(layout_of(sources[0].type), op.dimension)
    fold = _Fold(lowering, operation, plan, [element(source) for source in sources])
    partial = fold.in_registers([lowering.get(source) for source in sources])
    partial = fold.across_lanes(partial)
    partial = fold.across_warps(partial)
    for result, values in zip(operation.results, partial, strict=True):
        lowering.set(result, values[: layout_of(result.type).register_count])


class _Fold:
    """One reduction and the three places where it folds."""

    def __init__(
        self, lowering: Lowering, operation: ir.Operation, plan: ReductionPlan, kinds: list[PtxElement]
    ) -> None:
        self.lowering = lowering
        self.body = ReductionBody(lowering, operation)
        self.plan = plan
        self.kinds = kinds

    def in_registers(self, registers: Registers) -> Registers:
        """A tree over the registers that hold elements of one row; every register of the row gets the result."""
        results: Registers = [list(column) for column in registers]
        for first, members in self.plan.register_rows:
            level = [[column[member] for column in registers] for member in members]
            while len(level) > 1:
                pairs = zip(level[0::2], level[1::2], strict=True)
                level = [self.body.combine(right, left) for left, right in pairs]
            for column, value in zip(results, level[0], strict=True):
                column[first] = value
        return [[column[first] for first in self.plan.row_of_register] for column in results]

    def across_lanes(self, partial: Registers) -> Registers:
        """Butterfly: every lane of the row ends with the result."""
        for lane_mask, register_mask in self.plan.lane_steps:
            other = [
                from_lane_xor(self.lowering, kind, [column[r ^ register_mask] for r in range(len(column))], lane_mask)
                for kind, column in zip(self.kinds, partial, strict=True)
            ]
            partial = self._each(self.plan.result, other, partial)
        return partial

    def across_warps(self, partial: Registers) -> Registers:
        """Each warp writes its part; a thread folds all parts of what it holds, or the threads share out the rows."""
        plan = self.plan
        if plan.warp_parts == 1:
            return partial
        own = plan.result.reshape((plan.result.size,))
        shared_out = blocked((plan.result.size,), self.lowering.warps, 0)
        if self._loads(own) <= self._loads(shared_out) + len(plan.register_rows) + BARRIER_LOADS:
            return self._folded(partial, own)[0]
        total, bases = self._folded(partial, shared_out)
        return self._spread(total, bases, shared_out)

    def _loads(self, rows: LinearLayout) -> int:
        """Of a thread that folds the parts of these rows."""
        return self.plan.warp_parts * (1 << rows.register_matrix.rank)

    def _folded(self, partial: Registers, rows: LinearLayout) -> tuple[Registers, list[SharedAddress]]:
        """The fold of all parts, by the registers of a layout of the rows; and where the parts lie."""
        lowering, written = self.lowering, self.plan.written
        places = [row_major(written.size, kind) for kind in self.kinds]
        bases = self._scratch(places)
        for kind, base, column, matrix in zip(self.kinds, bases, partial, places, strict=True):
            write(lowering, kind, base, written, column, matrix)
        lowering.barrier()
        every = self.plan.every_part(rows)
        found = [
            read(lowering, kind, base, every, matrix)
            for kind, base, matrix in zip(self.kinds, bases, places, strict=True)
        ]
        count = rows.register_count
        total = [[column[register] for register in range(count)] for column in found]
        for part in range(1, self.plan.warp_parts):
            total = self._each(rows, [[c[part * count + r] for r in range(count)] for c in found], total)
        return total, bases

    def _scratch(self, places: list[BitMatrix]) -> list[SharedAddress]:
        """Room for all operands, one after the other, each aligned for the widest access."""
        sizes = [max(1 << matrix.rows, MAXIMUM_VECTOR_BYTES) for matrix in places]
        bases = [writable_scratch(self.lowering, sum(sizes))]
        for size in sizes[:-1]:
            bases.append(bases[-1].plus(self.lowering, size))
        return bases

    def _spread(self, total: Registers, bases: list[SharedAddress], rows: LinearLayout) -> Registers:
        """The rows that each thread holds, from the threads that folded them.

        They write over part 0, where each row was read by one thread alone; else into other scratch.
        """
        lowering, result = self.lowering, self.plan.result
        flat = result.reshape((result.size,))
        places = [row_major(result.size, kind) for kind in self.kinds]
        if rows.free_thread_mask:
            bases = self._scratch(places)
        else:
            lowering.scratch_slots.overwrite()
        for kind, base, column, matrix in zip(self.kinds, bases, total, places, strict=True):
            write(lowering, kind, base, rows, column, matrix)
        lowering.barrier()
        return [
            read(lowering, kind, base, flat, matrix)
            for kind, base, matrix in zip(self.kinds, bases, places, strict=True)
        ]

    def _each(self, rows: LinearLayout, elements: Registers, accumulators: Registers) -> Registers:
        """combine() once for each row a thread holds."""
        done: dict[int, list[ir.Value]] = {}
        firsts = rows.representatives
        for row in sorted(set(firsts)):
            done[row] = self.body.combine([c[row] for c in elements], [c[row] for c in accumulators])
        return [[done[row][i] for row in firsts] for i in range(len(self.kinds))]
