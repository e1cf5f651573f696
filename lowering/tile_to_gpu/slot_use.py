"""The consumers of the slot that a TMA load fills, and the operations between which they hold it."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import THREADS
from tilec.dialect.tile_gpu.types import BufferType
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, Multiply


@dataclass(frozen=True)
class SlotUse:
    """One consumer's hold of a slot: from before `first` to after `last`, operations of the load's block.

    With `in_registers` the tile is read right after the load; `last` is None if nothing else reads it.
    """

    consumer: str
    index: int
    first: ir.Operation | None
    last: ir.Operation | None
    in_registers: bool

    def __str__(self) -> str:
        start = "the load" if self.in_registers else _spelled(self.first)
        return f"{self.index} {self.consumer}: {start} to {_spelled(self.last)}"


@dataclass(frozen=True)
class HeldSlot:
    """A use of the slot of an emitted channel; its release has the location of the load."""

    tile: ir.Value
    channel: ir.Value
    buffers: list[BufferType]
    use: SlotUse
    location: ir.Location


def slot_uses(load: ir.OpView, plan: MatrixPlan) -> list[SlotUse]:
    """The consumers of the slot in the order of the channel."""
    tile = load.operation.results[0]
    multiplies = plan.loads[tile]
    in_registers = tile not in plan.folded
    consumers = list(dict.fromkeys(multiply.unit.consumer for multiply in multiplies))
    if in_registers and THREADS not in consumers:
        consumers.append(THREADS)
    return [
        _use(load, index, consumer, multiplies, in_registers and consumer == THREADS)
        for index, consumer in enumerate(consumers)
    ]


def _use(load: ir.OpView, index: int, consumer: str, multiplies: list[Multiply], in_registers: bool) -> SlotUse:
    block = load.operation.block
    users = [
        _ancestor_in_block(multiply.op.operation, block)
        for multiply in multiplies
        if multiply.unit.consumer == consumer
    ]
    order = {operation.operation: number for number, operation in enumerate(block.operations)}
    first, last = (choose(users, key=order.__getitem__, default=None) for choose in (min, max))
    return SlotUse(consumer, index, None if in_registers else first, last, in_registers)


def _ancestor_in_block(operation: ir.Operation, block: ir.Block) -> ir.Operation:
    """The operation of `block` that contains, or is, an operation further in."""
    while operation.block != block:
        operation = operation.parent.operation
    return operation


def _spelled(operation: ir.Operation | None) -> str:
    return "the load" if operation is None else operation.name.removeprefix("cuda_tile.")
