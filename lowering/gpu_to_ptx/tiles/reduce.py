"""Reduction along a dimension: in registers, across lanes by shuffles, across warps through shared memory; votes."""

from __future__ import annotations

import functools

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.operations.vote import DiffersFromOneOp
from tilec.lowering.gpu.ir.commutative import is_commutative
from tilec.lowering.gpu_to_ptx.arithmetic.arith import choose
from tilec.lowering.gpu_to_ptx.memory.shared_access import ScratchTile, scratch_tiles
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.linear_index import is_odd
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.shuffle import from_lane_xor
from tilec.lowering.gpu_to_ptx.tiles.convert_layout import converted
from tilec.lowering.gpu_to_ptx.tiles.reduction_body import ReductionBody
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.reduction_plan import ReductionPlan, in_order, ordered_plan, reduction_plan

Registers = list[list[ir.Value]]

# The cost of a barrier (about 30 cycles) in loads from shared memory.
BARRIER_LOADS = 8


@lowers(ReduceOp)
def reduce(lowering: Lowering, operation: ir.Operation) -> None:
    """Reduces all operands together: registers[i] are the registers of operand i."""
    op = operation.opview
    sources = list(op.sources)
    kinds = [element(source) for source in sources]
    tiles = [lowering.get(source) for source in sources]
    layout, body = layout_of(sources[0].type), ReductionBody(lowering, operation)
    if is_commutative(operation):
        plan = reduction_plan(layout, op.dimension)
    else:
        ordered = in_order(layout, op.dimension)
        tiles = [converted(lowering, kind, tile, layout, ordered) for kind, tile in zip(kinds, tiles, strict=True)]
        plan = ordered_plan(ordered, op.dimension)
    reduction = _Reduction(lowering, body, plan, kinds)
    partial = reduction.in_registers(tiles)
    partial = reduction.across_lanes(partial)
    partial = reduction.across_warps(partial)
    for result, values in zip(operation.results, partial, strict=True):
        lowering.set(result, values[: layout_of(result.type).register_count])


class _Reduction:
    """The three steps of one reduction."""

    def __init__(self, lowering: Lowering, body: ReductionBody, plan: ReductionPlan, kinds: list[PtxElement]) -> None:
        self.lowering = lowering
        self.body = body
        self.plan = plan
        self.kinds = kinds
        in_any_order = plan.order is None and len(kinds) == 1
        self.of_many = body.of_many(kinds[0]) if in_any_order else None
        self.of_warp = body.of_warp(kinds[0], plan) if in_any_order else None

    def in_registers(self, registers: Registers) -> Registers:
        """Reduces the registers of each row as a tree; every register of the row holds the result.

        Sums and extrema of f32 in any order take fewer instructions.
        """
        results: Registers = [list(column) for column in registers]
        for first, members in self.plan.register_rows:
            if self.of_many is not None:
                results[0][first] = self.of_many([registers[0][member] for member in members])
                continue
            level = [[column[member] for column in registers] for member in members]
            for step in range(self.plan.register_steps):
                pairs = zip(level[0::2], level[1::2], strict=True)
                level = [self._joined(step, first, right, left) for left, right in pairs]
            for column, value in zip(results, level[0], strict=True):
                column[first] = value
        return [[column[first] for first in self.plan.row_of_register] for column in results]

    def across_lanes(self, partial: Registers) -> Registers:
        """Butterfly shuffles, or one instruction: every lane of the row holds the result."""
        if self.of_warp is not None:
            reduced = {register: self.of_warp(register) for register in dict.fromkeys(partial[0])}
            return [[reduced[register] for register in partial[0]]]
        for step, (lane_mask, register_mask) in enumerate(self.plan.lane_steps, self.plan.register_steps):
            other = [
                from_lane_xor(self.lowering, kind, [column[r ^ register_mask] for r in range(len(column))], lane_mask)
                for kind, column in zip(self.kinds, partial, strict=True)
            ]
            partial = self._each(self.plan.result, other, partial, step)
        return partial

    def across_warps(self, partial: Registers) -> Registers:
        """Each warp stores its part; a thread reduces all parts of its own rows, or of an equal share of the rows."""
        plan = self.plan
        if plan.warp_parts == 1:
            return partial
        own = plan.result.reshape((plan.result.size,))
        distributed = blocked((plan.result.size,), self.lowering.warps, 0)
        if self._loads(own) <= self._loads(distributed) + len(plan.register_rows) + BARRIER_LOADS:
            return self._reduced(partial, own)[0]
        total, tiles = self._reduced(partial, distributed)
        return self._spread(total, tiles, distributed)

    def _loads(self, rows: LinearLayout) -> int:
        """The loads of a thread that reduces the parts of these rows."""
        return self.plan.warp_parts * (1 << rows.register_matrix.rank)

    def _reduced(self, partial: Registers, rows: LinearLayout) -> tuple[Registers, list[ScratchTile]]:
        """The reduction of all parts in the registers of a layout of the rows, and the parts in scratch memory."""
        tiles = scratch_tiles(self.lowering, self.kinds, self.plan.written.shape)
        every, count = self.plan.every_part(rows), rows.register_count
        found = self._exchanged(tiles, partial, self.plan.written, every)
        parts = [
            [column[part * count : (part + 1) * count] for column in found] for part in range(self.plan.warp_parts)
        ]
        return self._total(rows, parts), tiles

    def _exchanged(
        self, tiles: list[ScratchTile], registers: Registers, written: LinearLayout, read: LinearLayout
    ) -> Registers:
        """The registers of each operand in the layout `read`, through scratch memory."""
        for tile, column in zip(tiles, registers, strict=True):
            tile.write(written, column)
        self.lowering.barrier()
        return [tile.read(read) for tile in tiles]

    def _total(self, rows: LinearLayout, parts: list[Registers]) -> Registers:
        """The reduction of the parts: one by one, or as a tree of neighbours like every ordered step."""
        if self.plan.order is None:
            return functools.reduce(lambda total, part: self._each(rows, part, total), parts)
        while len(parts) > 1:
            parts = [self._each(rows, right, left) for left, right in zip(parts[0::2], parts[1::2], strict=True)]
        return parts[0]

    def _spread(self, total: Registers, tiles: list[ScratchTile], rows: LinearLayout) -> Registers:
        """Distributes the rows from the threads that reduced them to the threads that hold them.

        The rows overwrite part 0 if a single thread has read each row, else other scratch memory.
        """
        result = self.plan.result
        flat = result.reshape((result.size,))
        if rows.free_thread_mask:
            tiles = scratch_tiles(self.lowering, self.kinds, flat.shape)
        else:
            tiles = [tile.part(tile.base, (1, *flat.shape)) for tile in tiles]
            self.lowering.scratch_slots.overwrite()
        return self._exchanged(tiles, total, rows, flat)

    def _each(
        self, rows: LinearLayout, elements: Registers, accumulators: Registers, step: int | None = None
    ) -> Registers:
        """Applies the body once per row of a thread; `step` as in _joined()."""
        done: dict[int, list[ir.Value]] = {}
        firsts = rows.representatives
        for row in sorted(set(firsts)):
            done[row] = self._joined(step, row, [c[row] for c in elements], [c[row] for c in accumulators])
        return [[done[row][i] for row in firsts] for i in range(len(self.kinds))]

    def _joined(
        self, step: int | None, register: int, elements: list[ir.Value], accumulators: list[ir.Value]
    ) -> list[ir.Value]:
        """The body applied to two blocks of a step; that of this register, the accumulators, may be the later one."""
        later = self._is_later(step, register)
        if isinstance(later, bool):
            return self.body.combine(*((accumulators, elements) if later else (elements, accumulators)))
        columns = list(zip(self.kinds, elements, accumulators, strict=True))
        return self.body.combine(
            [choose(self.lowering, kind, later, own, other) for kind, other, own in columns],
            [choose(self.lowering, kind, later, other, own) for kind, other, own in columns],
        )

    def _is_later(self, step: int | None, register: int) -> bool | ir.Value:
        """Whether the block of a register is the later one of both that a step joins."""
        if step is None or self.plan.order is None:
            return False
        registers = len(self.plan.result.register)
        mask = self.plan.order[step]
        flipped = (mask & register).bit_count() % 2 == 1
        threads = mask >> registers
        if not threads:
            return flipped
        odd = is_odd(self.lowering, threads, self.lowering.thread)
        return self.lowering.compute("not.pred $0, $1;", "i1", odd) if flipped else odd


@lowers(DiffersFromOneOp)
def _differs_from_one(lowering: Lowering, operation: ir.Operation) -> None:
    """The vote of a warp (PTX ISA 9.7.13.11)."""
    first, *others = dict.fromkeys(lowering.get(operation.operands[0]))
    # A comparison with NaN is true.
    differs = lowering.compute("setp.neu.f32 $0, $1, 1.0;", "i1", first)
    for register in others:
        differs = lowering.compute("setp.neu.or.f32 $0, $1, 1.0, $2;", "i1", register, differs)
    text = "vote.sync.any.pred $0, $1, 0xffffffff;"
    lowering.set(operation.results[0], [lowering.b.execute(text, lowering.type("i1"), differs)])
