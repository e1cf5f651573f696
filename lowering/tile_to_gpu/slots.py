"""The slots that loads by TMA fill: got before the first operation that reads them, released after the last."""

from __future__ import annotations

from collections import defaultdict

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import slot_results
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.slot_use import HeldSlot


class Slots:
    """The slots that are held, and those to get or to release at an operation that is not converted yet."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[ir.Value, str], list[ir.Value]] = {}
        self._gets: dict[ir.Operation, list[HeldSlot]] = defaultdict(list)
        self._releases: dict[ir.Operation, list[HeldSlot]] = defaultdict(list)

    def get(self, slot: HeldSlot) -> list[ir.Value]:
        """Waits for a slot; `buffers` then returns its buffers."""
        index = slot.use.index
        held = emitter.gpu("get", [slot.channel], slot_results(slot.buffers), consumer=index).results
        self._buffers[slot.tile, slot.use.consumer] = list(held)
        return list(held)

    def release(self, slot: HeldSlot) -> None:
        with slot.location:
            emitter.gpu("release", [slot.channel], consumer=slot.use.index)

    def get_before(self, operation: ir.Operation, slot: HeldSlot) -> None:
        """Plans to get a slot just before an operation."""
        self._gets[operation].append(slot)

    def release_after(self, operation: ir.Operation, slot: HeldSlot) -> None:
        """Plans to release a slot just after an operation."""
        self._releases[operation].append(slot)

    def before(self, operation: ir.Operation) -> None:
        """Gets the slots planned before an operation."""
        for slot in self._gets.pop(operation, ()):
            self.get(slot)

    def after(self, operation: ir.Operation) -> None:
        """Releases the slots planned after an operation."""
        for slot in self._releases.pop(operation, ()):
            self.release(slot)

    def buffers(self, tile: ir.Value, consumer: str) -> list[ir.Value]:
        """The buffers of the slot with the tile of a load, for which the consumer has waited."""
        return self._buffers[tile, consumer]
