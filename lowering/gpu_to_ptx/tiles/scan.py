"""Inclusive scan: one step per bit of the coordinate, with the sibling block that differs in this bit."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.reduce import ScanOp
from tilec.lowering.gpu_to_ptx.arithmetic.arith import choose
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.shuffle import from_lane_xor
from tilec.lowering.gpu_to_ptx.tiles.convert_layout import converted
from tilec.lowering.gpu_to_ptx.tiles.reduction_body import ReductionBody
from tilec.lowering.layout.blocked import within_warp
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout

Registers = list[list[ir.Value]]


@lowers(ScanOp)
def scan(lowering: Lowering, operation: ir.Operation) -> None:
    """Converts the tiles to a layout that keeps the dimension within a warp, scans, and converts back."""
    op = operation.opview
    sources = list(op.sources)
    kinds = [element(source) for source in sources]
    own = layout_of(sources[0].type)
    layout = within_warp(own.shape, own.warps, op.dimension)
    tiles = [
        converted(lowering, kind, lowering.get(source), own, layout)
        for kind, source in zip(kinds, sources, strict=True)
    ]
    inclusive = _Scan(lowering, ReductionBody(lowering, operation), kinds, layout, op.dimension, op.reverse)
    for result, kind, tile in zip(operation.results, kinds, inclusive.result(tiles), strict=True):
        lowering.set(result, converted(lowering, kind, tile, layout, own))


@dataclass(frozen=True)
class _Scan:
    """`prefix[i][r]` is the scan up to register r within its block, `total[i][r]` the reduction of the block."""

    lowering: Lowering
    body: ReductionBody
    kinds: list[PtxElement]
    layout: LinearLayout
    dimension: int
    reverse: bool

    def result(self, tiles: Registers) -> Registers:
        prefix = total = tiles
        for bit in range(self.layout.shape[self.dimension].bit_length() - 1):
            prefix, total = self._step(1 << bit, prefix, total)
        return prefix

    def _step(self, bit: int, prefix: Registers, total: Registers) -> tuple[Registers, Registers]:
        """Merges blocks of `bit` elements into blocks of twice the size."""
        register_mask, lane_mask = self._sibling(bit)
        sibling = [
            self._moved(kind, column, register_mask, lane_mask) for kind, column in zip(self.kinds, total, strict=True)
        ]
        count = len(prefix[0])
        later = [self._is_later(register, bit) for register in range(count)]
        new_prefix: Registers = [[] for _ in self.kinds]
        new_total: Registers = [[] for _ in self.kinds]
        for register in range(count):
            own, other, before = ([column[register] for column in tile] for tile in (total, sibling, prefix))
            after = self.body.combine(before, other)
            whole_later, whole_first = self.body.combine(own, other), self.body.combine(other, own)
            for i, kind in enumerate(self.kinds):
                new_prefix[i].append(self._either(kind, later[register], after[i], before[i]))
                new_total[i].append(self._either(kind, later[register], whole_later[i], whole_first[i]))
        return new_prefix, new_total

    def _sibling(self, bit: int) -> tuple[int, int]:
        """The register mask and lane mask that flip the bit of the coordinate."""
        coordinates = [bit if d == self.dimension else 0 for d in range(len(self.layout.shape))]
        source = self.layout.holder(coordinates)
        registers = len(self.layout.register)
        return source & (1 << registers) - 1, source >> registers & (1 << LANE_BITS) - 1

    def _moved(self, kind: PtxElement, column: list[ir.Value], register_mask: int, lane_mask: int) -> list[ir.Value]:
        column = [column[register ^ register_mask] for register in range(len(column))]
        return from_lane_xor(self.lowering, kind, column, lane_mask) if lane_mask else column

    def _is_later(self, register: int, bit: int) -> bool | ir.Value:
        """Whether the sibling block precedes in scan order: a constant, or a predicate on the lane."""
        lanes = sum(1 << i for i, basis in enumerate(self.layout.lane) if basis[self.dimension] & bit)
        if not lanes:
            return bool(self.layout.apply(register, 0, 0)[self.dimension] & bit) != self.reverse
        masked = self.lowering.compute(f"and.b32 $0, $1, {lanes};", "i32", self.lowering.lane)
        return self.lowering.compute(f"setp.{'eq' if self.reverse else 'ne'}.s32 $0, $1, 0;", "i1", masked)

    def _either(self, kind: PtxElement, condition: bool | ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        if isinstance(condition, bool):
            return a if condition else b
        return choose(self.lowering, kind, condition, a, b)
