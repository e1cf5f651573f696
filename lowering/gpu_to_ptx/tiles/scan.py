"""Inclusive scan: a thread reduces adjacent elements, lanes and warps scan the results, then threads scan theirs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.reduce import ScanOp
from tilec.lowering.gpu_to_ptx.arithmetic.arith import choose
from tilec.lowering.gpu_to_ptx.memory.shared_access import scratch_tiles
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.shuffle import from_lane, from_lane_xor
from tilec.lowering.gpu_to_ptx.tiles.convert_layout import converted
from tilec.lowering.gpu_to_ptx.tiles.reduction_body import ReductionBody
from tilec.lowering.layout.blocked import for_scan
from tilec.lowering.layout.linear_layout import LANE_BITS, Basis, LinearLayout

# One register per operand.
Elements = list[ir.Value]
# Whether other threads have earlier elements of a row, and the scan up to these; None if no thread has.
Carry = tuple[ir.Value, Elements] | None
Move = Callable[[PtxElement, list[ir.Value]], list[ir.Value]]


@lowers(ScanOp)
def scan(lowering: Lowering, operation: ir.Operation) -> None:
    """Converts the tiles to a layout in which threads have adjacent elements, scans, and converts back."""
    op = operation.opview
    sources = list(op.sources)
    kinds = [element(source) for source in sources]
    own = layout_of(sources[0].type)
    layout = for_scan(own.shape, own.warps, op.dimension)
    tiles = [
        converted(lowering, kind, lowering.get(source), own, layout)
        for kind, source in zip(kinds, sources, strict=True)
    ]
    scanned = _Scan(lowering, operation, kinds, layout).result(tiles)
    for result, kind, tile in zip(operation.results, kinds, scanned, strict=True):
        lowering.set(result, converted(lowering, kind, tile, layout, own))


class _Scan:
    """The steps of a scan in a layout made by for_scan(); earlier and later are those of the direction of the scan."""

    def __init__(
        self, lowering: Lowering, operation: ir.Operation, kinds: list[PtxElement], layout: LinearLayout
    ) -> None:
        op = operation.opview
        self.lowering, self.kinds, self.layout = lowering, kinds, layout
        self.body = ReductionBody(lowering, operation)
        self.dimension: int = op.dimension
        self.reverse: bool = op.reverse
        # The reductions of the rows over all lanes that have been joined.
        self._totals: list[Elements] = []
        self.registers, self.lanes, self.warps = (
            sum(1 for basis in bases if basis[op.dimension]) for bases in (layout.register, layout.lane, layout.warp)
        )

    def result(self, tiles: list[list[ir.Value]]) -> list[list[ir.Value]]:
        """The scan of the registers of each operand."""
        count = 1 << self.registers
        order = range(count)[:: -1 if self.reverse else 1]
        rows = [
            [[tile[first + at] for tile in tiles] for at in order]
            for first in range(0, self.layout.register_count, count)
        ]
        totals = [self._reduced(row) for row in rows]
        scanned = self._across_lanes(totals)
        carries = self._before_lanes(scanned)
        if self.warps:
            carries = self._across_warps(carries)
        results: list[list[ir.Value]] = [list(tile) for tile in tiles]
        for number, (row, carry) in enumerate(zip(rows, carries, strict=True)):
            for at, value in zip(order, self._scanned(row, carry), strict=True):
                for column, register in zip(results, value, strict=True):
                    column[number * count + at] = register
        return results

    # ---- in a thread

    def _reduced(self, row: list[Elements]) -> Elements:
        """The reduction of adjacent elements, as a tree."""
        while len(row) > 1:
            row = [self._joined(*pair) for pair in zip(row[0::2], row[1::2], strict=True)]
        return row[0]

    def _scanned(self, row: list[Elements], carry: Carry) -> list[Elements]:
        """The scan of the elements of a thread after those of other threads, if the predicate of the carry holds."""
        first = row[0]
        if carry is not None:
            holds, before = carry
            first = self._either(holds, self._joined(before, first), first)
        found = [first]
        for value in row[1:]:
            found.append(self._joined(found[-1], value))
        return found

    def _joined(self, earlier: Elements, later: Elements) -> Elements:
        return self.body.combine(later, earlier)

    def _either(self, condition: ir.Value, a: Elements, b: Elements) -> Elements:
        return [choose(self.lowering, kind, condition, x, y) for kind, x, y in zip(self.kinds, a, b, strict=True)]

    # ---- in a warp

    def _across_lanes(self, totals: list[Elements]) -> list[Elements]:
        """The scan of the results of lanes with the same rows; after the last step _totals has those of the warp."""
        scanned = self._totals = totals
        for bit in range(self.lanes):
            siblings = self._moved(self._totals, partial(self._of_sibling, 1 << bit))
            is_later = self._is_set(self.lowering.lane, 1 << bit, not self.reverse)
            scanned = [
                self._either(is_later, self._joined(sibling, own), own)
                for sibling, own in zip(siblings, scanned, strict=True)
            ]
            if bit == self.lanes - 1 and not self.warps:
                break
            self._totals = [
                self._joined(self._either(is_later, sibling, own), self._either(is_later, own, sibling))
                for sibling, own in zip(siblings, self._totals, strict=True)
            ]
        return scanned

    def _before_lanes(self, scanned: list[Elements]) -> list[Carry]:
        """For each row whether an earlier lane has elements of it, and the scan up to that lane."""
        if not self.lanes:
            return [None] * len(scanned)
        step = 1 if self.reverse else -1
        lane = self.lowering.compute(f"add.s32 $0, $1, {step};", "i32", self.lowering.lane)
        before = self._moved(scanned, lambda kind, column: from_lane(self.lowering, kind, column, lane))
        mask = (1 << self.lanes) - 1
        masked = self.lowering.compute(f"and.b32 $0, $1, {mask};", "i32", self.lowering.lane)
        holds = self.lowering.compute(f"setp.ne.s32 $0, $1, {mask if self.reverse else 0};", "i1", masked)
        return [(holds, each) for each in before]

    def _of_sibling(self, mask: int, kind: PtxElement, column: list[ir.Value]) -> list[ir.Value]:
        return from_lane_xor(self.lowering, kind, column, mask)

    def _moved(self, rows: list[Elements], move: Move) -> list[Elements]:
        columns = [move(kind, list(column)) for kind, column in zip(self.kinds, zip(*rows, strict=True), strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _is_set(self, index: ir.Value, mask: int, wanted: bool) -> ir.Value:
        masked = self.lowering.compute(f"and.b32 $0, $1, {mask};", "i32", index)
        return self.lowering.compute(f"setp.{'ne' if wanted else 'eq'}.s32 $0, $1, 0;", "i1", masked)

    # ---- among warps

    def _across_warps(self, carries: list[Carry]) -> list[Carry]:
        """The carries with the results of earlier warps, which all warps store."""
        parts = 1 << self.warps
        of_parts = self._parts_of_warps(parts)
        warp = self.lowering.compute(f"shr.u32 $0, $1, {LANE_BITS};", "i32", self.lowering.thread)
        number = self.lowering.compute(f"and.b32 $0, $1, {parts - 1};", "i32", warp)
        if self.reverse:
            number = self.lowering.compute(f"xor.b32 $0, $1, {parts - 1};", "i32", number)
        after = [self.lowering.compute(f"setp.ge.s32 $0, $1, {part};", "i1", number) for part in range(1, parts)]
        found: list[Carry] = []
        for carry, row in zip(carries, of_parts, strict=True):
            assert carry is not None
            in_order = row[::-1] if self.reverse else row
            chosen = total = in_order[0]
            for part, is_after in zip(in_order[1:-1], after[1:], strict=True):
                total = self._joined(total, part)
                chosen = self._either(is_after, total, chosen)
            holds, before = carry
            both = self._either(after[0], self._joined(chosen, before), before)
            any_holds = self.lowering.compute("or.pred $0, $1, $2;", "i1", holds, after[0])
            found.append((any_holds, self._either(holds, both, chosen)))
        return found

    def _parts_of_warps(self, parts: int) -> list[list[Elements]]:
        """For each row of a thread the results of all warps that have elements of it."""
        rows = self.layout.drop(self.dimension)
        flat = rows.reshape((rows.size,))
        own = tuple((0, *basis) for basis in flat.register[self.registers :])
        lane = tuple((0, *basis) for basis in flat.lane)
        of_rows = tuple((0, *basis) for basis in flat.warp)
        of_parts: tuple[Basis, ...] = tuple((1 << bit, 0) for bit in range(self.warps))
        shape = (parts, rows.size)
        written = LinearLayout(own, lane, of_parts + of_rows[self.warps :], shape)
        read = LinearLayout(own + of_parts, lane, of_rows, shape)
        tiles = scratch_tiles(self.lowering, self.kinds, shape)
        for tile, column in zip(tiles, zip(*self._totals, strict=True), strict=True):
            tile.write(written, list(column))
        self.lowering.barrier()
        columns = [tile.read(read) for tile in tiles]
        count = len(self._totals)
        return [[[column[part * count + row] for column in columns] for part in range(parts)] for row in range(count)]
