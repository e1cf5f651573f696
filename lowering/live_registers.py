"""The registers of a thread that values occupy at once: the largest sum over all points of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below

LOOPS = ("scf.for", "scf.while", "cuda_tile.for", "cuda_tile.loop")


@dataclass(frozen=True)
class RegisterPeak:
    """The most registers that are live at once, and the operation there; None if no value occupies registers."""

    registers: int = 0
    operation: ir.Operation | None = None


def register_peak(
    block: ir.Block, registers: Callable[[ir.Value], int], source: Callable[[ir.Value], ir.Value | None]
) -> RegisterPeak:
    """The largest sum of the registers of live values in a block and in the regions of its operations.

    A value is live from its definition to its last use, and one that is defined outside of a loop and used in it during
    the whole loop. Values with a `source` are in the registers of that value.
    """
    walk = _Walk(registers, source)
    walk.live_before(block, set())
    return walk.peak


class _Walk:
    """The walk over blocks, from the last operation to the first; `peak` is the largest sum so far."""

    def __init__(self, registers: Callable[[ir.Value], int], source: Callable[[ir.Value], ir.Value | None]) -> None:
        self._registers, self._source = registers, source
        self.peak = RegisterPeak()

    def live_before(self, block: ir.Block, live: set[ir.Value]) -> set[ir.Value]:
        """The values that are live at the start of a block after whose end `live` are."""
        for op in reversed([op.operation for op in block.operations]):
            self._record(op, live)
            live = live.difference(op.results)
            inside = live | self._used_inside(op) if op.name in LOOPS else live
            for inner in _blocks(op):
                live = live | self.live_before(inner, inside).difference(inner.arguments)
            live = live.union(self._sources(op.operands))
            self._record(op, live)
        return live

    def _record(self, op: ir.Operation, live: set[ir.Value]) -> None:
        total = sum(map(self._registers, live))
        if total > self.peak.registers:
            self.peak = RegisterPeak(total, op)

    def _used_inside(self, op: ir.Operation) -> set[ir.Value]:
        """The values that the regions of an operation use and do not define."""
        used: set[ir.Value] = set()
        defined: set[ir.Value] = set()
        for inner in operations_below(op.opview):
            used.update(self._sources(inner.operation.operands))
            defined.update(inner.operation.results)
            defined.update(argument for block in _blocks(inner.operation) for argument in block.arguments)
        return used.difference(defined, *(block.arguments for block in _blocks(op)))

    def _sources(self, values: Iterable[ir.Value]) -> Iterator[ir.Value]:
        for value in values:
            source: ir.Value | None = value
            while source is not None:
                value, source = source, self._source(source)
            yield value


def _blocks(op: ir.Operation) -> list[ir.Block]:
    return [block for region in op.regions for block in region.blocks]
