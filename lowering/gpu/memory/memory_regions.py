"""The parts of shared and tensor memory of a kernel, and their contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import SharedOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType
from tilec.dialect.walk import operations_in
from tilec.errors import Note

if TYPE_CHECKING:
    from tilec.lowering.gpu.memory.shared_plan import SharedPlan

# The most parts that an error names.
_LARGEST = 5


@dataclass(frozen=True)
class MemoryRegion:
    """The slots of a ring in one memory, or the staging buffers.

    Attributes:
        memory: "shared" or "tensor".
        start: the first byte of shared memory, or the first column of tensor memory.
        size: its bytes or columns.
        contents: the number of slots, the parties and the tiles, as text.
        declarations: the operations that declare the channels or buffers in it.
    """

    memory: str
    start: int
    size: int
    contents: str
    declarations: tuple[ir.Operation, ...]

    def note(self) -> Note:
        """The contents of a region, at the line of the tile."""
        unit = "bytes" if self.memory == SHARED else "columns"
        return Note(f"{self.size} {unit}: {self.contents}", source_location(self.declarations[0].location))


def memory_regions(kernel: KernelOp, plan: SharedPlan) -> list[MemoryRegion]:
    """The regions of a kernel, in the order of their declarations."""
    declared = operations_in(kernel.body.blocks[0])
    found: list[MemoryRegion] = []
    for op in declared:
        if op.name == SharedOp.OPERATION_NAME and op.opview.shares is None:
            members = (op, *(other for other in declared if _shares(other, op)))
            buffer, contents = op.results[0], f"staging of stores, {_tiles(members, SHARED)}"
            found.append(MemoryRegion(SHARED, plan.buffers[buffer], plan.staging[buffer], contents, members))
        elif op.name == MakeChannelOp.OPERATION_NAME and op.opview.shares is None:
            members = (op, *(other for other in declared if _shares(other, op)))
            found += _slots(op, members, plan)
    return found


def largest_regions(kernel: KernelOp, plan: SharedPlan, memory: str) -> list[Note]:
    """Notes for an error that lists the regions, the largest first."""
    regions = [region for region in memory_regions(kernel, plan) if region.memory == memory]
    return [region.note() for region in sorted(regions, key=lambda region: -region.size)[:_LARGEST]]


def _slots(op: ir.Operation, members: tuple[ir.Operation, ...], plan: SharedPlan) -> Iterator[MemoryRegion]:
    channel = plan.channels[op.results[0]]
    parties = f"{channel.producer} to {', '.join(channel.consumers)}"
    count = "one slot" if channel.stages == 1 else f"{channel.stages} slots"
    if op.opview.wanted not in (None, channel.stages):
        count += f" ({op.opview.wanted} wanted)"
    sizes = (SHARED, channel.first_byte, channel.slot_bytes), (TENSOR, channel.first_column, channel.slot_columns)
    for memory, start, size in sizes:
        if size:
            contents = f"{count}, {parties}, {_tiles(members, memory)}"
            yield MemoryRegion(memory, start, size * channel.stages, contents, members)


def _shares(op: ir.Operation, owner: ir.Operation) -> bool:
    return op.name == owner.name and op.opview.shares is not None and op.opview.shares.owner == owner.opview


def _tiles(members: tuple[ir.Operation, ...], memory: str) -> str:
    """The tiles of each slot; those of other channels in the same slots follow `or`."""
    slots = [_buffers(op, memory) for op in members]
    return " or ".join(dict.fromkeys(" and ".join(map(_tile, slot)) for slot in slots if slot))


def _buffers(op: ir.Operation, memory: str) -> list[BufferType]:
    type = op.results[0].type
    return [buffer for buffer in getattr(type, "buffers", [type]) if buffer.memory == memory]


def _tile(buffer: BufferType) -> str:
    return "x".join(map(str, buffer.shape)) + f"x{buffer.element}"
