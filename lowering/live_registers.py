"""The registers of a thread that values occupy at once: the largest sum over all points of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_in, operations_inside

LOOPS = ("scf.for", "scf.while", "cuda_tile.for", "cuda_tile.loop")
# Addresses, predicates and barriers beside the values: ptxas 13.5 uses 154 registers where 128 hold accumulators.
OTHER_REGISTERS = 26


@dataclass(frozen=True)
class RegisterPeak:
    """The most registers that are live at once, those of the largest value of them, and the operation there.

    `values` are the live values with registers, each with the number of them.
    """

    registers: int = 0
    largest: int = 0
    operation: ir.Operation | None = None
    values: tuple[tuple[ir.Value, int], ...] = ()

    @property
    def needed(self) -> int:
        """The registers with which ptxas spills nothing.

        It computes several elements of a tile at a time, so that results are live before operands are dead. The
        margin is fitted to ptxas 13.5: attention of 128x128 keys with 64 columns takes more than 255 registers of
        128 threads for sums of 128 and 64 registers; a product of 128x128 takes 134 to 154.
        """
        margin = min((self.registers - self.largest) // 2, self.largest // 4)
        return self.registers + margin + OTHER_REGISTERS


@dataclass(frozen=True)
class ValueRegisters:
    """How values are held.

    Attributes:
        registers: the registers of a thread that hold a value; 0 if it is in none, or computed again for each use.
        sources: the values whose registers are live in place of those of a value, because it has the same registers,
            or is computed element by element where it is used; None for a value with registers of its own.
        loads: the values of another memory that are loaded into registers before an operation.
        operands: the values that an operation reads from registers.
        beside: the registers of each operand that an operation reads until its results are complete.
    """

    registers: Callable[[ir.Value], int]
    sources: Callable[[ir.Value], Sequence[ir.Value] | None]
    loads: Callable[[ir.Operation], Sequence[ir.Value]] = lambda op: ()
    operands: Callable[[ir.Operation], Iterable[ir.Value]] = lambda op: op.operands
    beside: Callable[[ir.Operation], Sequence[tuple[ir.Value, int]]] = lambda op: ()


def register_peak(block: ir.Block, rules: ValueRegisters) -> RegisterPeak:
    """The largest sum of the registers of live values in a block and in the regions of its operations.

    A value is live from its definition to its last use, and one that is defined outside of a loop and used in it during
    the whole loop.
    """
    walk = _Walk(rules)
    walk.live_before(block, set())
    return walk.peak


class _Walk:
    """The walk over blocks, from the last operation to the first; `peak` is the largest sum so far."""

    def __init__(self, rules: ValueRegisters) -> None:
        self._rules = rules
        self._registers: dict[ir.Value, int] = {}
        self._sources: dict[ir.Value, frozenset[ir.Value]] = {}
        # The values with registers from which the operands of each operation come; loops around it look them up again.
        self._read: dict[ir.Operation, list[ir.Value]] = {}
        self.peak = RegisterPeak()

    def live_before(self, block: ir.Block, after: set[ir.Value]) -> set[ir.Value]:
        """The values that are live at the start of a block if those are live `after` its end."""
        live, registers = set(after), self._registers
        total = sum(map(registers.__getitem__, live))
        for op in reversed(operations_in(block)):
            if beside := [each for each in self._rules.beside(op) if each[0] not in live]:
                self._record(op, live, total + sum(count for _, count in beside), beside)
            elif total > self.peak.registers:
                self._record(op, live, total)
            for result in op.results:
                if result in live:
                    live.remove(result)
                    total -= registers[result]
            if op.regions and (blocks := _blocks(op)):
                inside = live | self._used_inside(op) if op.name in LOOPS else live
                for inner in blocks:
                    live = live | self.live_before(inner, inside).difference(inner.arguments)
                total = sum(map(registers.__getitem__, live))
            for value in self._read_by(op):
                if value not in live:
                    live.add(value)
                    total += registers[value]
            if total > self.peak.registers:
                self._record(op, live, total)
            for value in self._rules.loads(op):
                if value in live:
                    live.remove(value)
                    total -= registers[value]
        return live

    def _record(
        self, op: ir.Operation, live: set[ir.Value], total: int, beside: Sequence[tuple[ir.Value, int]] = ()
    ) -> None:
        """Notes the sum at an operation if it is the largest; it includes the registers `beside` the live values."""
        if total > self.peak.registers:
            values = [*((value, self._registers[value]) for value in live), *beside]
            self.peak = RegisterPeak(total, max(registers for _, registers in values), op, tuple(values))

    def _registers_of(self, value: ir.Value) -> int:
        found = self._registers.get(value)
        if found is None:
            found = self._registers[value] = self._rules.registers(value)
        return found

    def _used_inside(self, op: ir.Operation) -> set[ir.Value]:
        """The values that the regions of an operation use and do not define."""
        used: set[ir.Value] = set()
        defined: set[ir.Value] = {argument for block in _blocks(op) for argument in block.arguments}
        for inner in operations_inside(op):
            used.update(self._read_by(inner))
            defined.update(inner.results)
            if inner.regions:
                defined.update(argument for block in _blocks(inner) for argument in block.arguments)
        return used - defined

    def _read_by(self, op: ir.Operation) -> list[ir.Value]:
        """The values with registers from which the operands of an operation come."""
        found = self._read.get(op)
        if found is None:
            found = self._read[op] = [each for value in self._rules.operands(op) for each in self._held(value)]
        return found

    def _held(self, value: ir.Value) -> frozenset[ir.Value]:
        """The values with registers from which a value comes."""
        found = self._sources.get(value)
        if found is None:
            sources = self._rules.sources(value)
            held = [value] if sources is None else [each for source in sources for each in self._held(source)]
            found = self._sources[value] = frozenset([each for each in held if self._registers_of(each)])
        return found


def _blocks(op: ir.Operation) -> list[ir.Block]:
    return [block for region in op.regions for block in region.blocks]
