"""Builds channels and the steps on them; declares those of placed tiles before the code, in the order of the tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.namespace import PREFIX
from tilec.dialect.tile_gpu.operations.channel import (
    GetOp,
    MakeChannelOp,
    PutBeginOp,
    PutCommitOp,
    ReleaseOp,
    slot_results,
)
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import SharedOp
from tilec.dialect.tile_gpu.types import BufferType, ChannelType
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.enclosing import ancestor_in


def make_channel(
    buffers: Sequence[BufferType],
    producer: str,
    consumers: Sequence[str],
    *,
    is_ring: bool,
    slots: int = 1,
    shares: ir.Value | None = None,
) -> ir.Value:
    """A channel with the slots of the channel `shares` if it is given; the pipeline pass deepens rings."""
    reuse = "ring" if is_ring else "once"
    attributes = {"stages": slots, "producer": producer, "consumers": consumers, "reuse": reuse}
    return build(MakeChannelOp.OPERATION_NAME, [shares], [ChannelType.get(buffers)], attributes).results[0]


def channel_like(
    other: MakeChannelOp, buffers: Sequence[BufferType], shares: ir.Value | None = None, **attributes: object
) -> ir.Value:
    """A channel with the parties and the number of slots of another one, and with other buffers."""
    attributes = {name: other.attributes[name] for name in ("stages", "producer", "consumers", "reuse")} | attributes
    return build(MakeChannelOp.OPERATION_NAME, [shares], [ChannelType.get(buffers)], attributes).results[0]


def put_begin(channel: ir.Value) -> ir.Operation:
    """Waits for an empty slot of a channel, whose buffers are the results."""
    return build(PutBeginOp.OPERATION_NAME, [channel], slot_results(channel.type.buffers))


def put_commit(channel: ir.Value) -> ir.Operation:
    """Gives the slot of the last put to the consumers of a channel."""
    return build(PutCommitOp.OPERATION_NAME, [channel])


def get_slot(channel: ir.Value, consumer: int = 0) -> ir.Operation:
    """Waits for a full slot of a channel, whose buffers are the results."""
    return build(GetOp.OPERATION_NAME, [channel], slot_results(channel.type.buffers), {"consumer": consumer})


def release_slot(channel: ir.Value, consumer: int = 0, *, is_late: bool = False) -> ir.Operation:
    """Gives the slot of the last get back to the producer of a channel; if it is late, that of the first one."""
    return build(ReleaseOp.OPERATION_NAME, [channel], attributes={"consumer": consumer, "late": is_late})


def give(channel: ir.Value) -> list[ir.Operation]:
    """Puts a slot of a channel that has its contents already."""
    return [put_begin(channel), put_commit(channel)]


def take(channel: ir.Value) -> list[ir.Operation]:
    """Gets a slot of a channel and releases it at once."""
    return [get_slot(channel), release_slot(channel)]


@dataclass(frozen=True)
class Position:
    """Where a tile is placed: the number of the operation in program order, and its location."""

    number: int
    location: ir.Location


class ChannelDeclarations:
    """Declares before the first operation with placed tiles; `finish` puts the declarations into program order."""

    def __init__(self, kernel: KernelOp, operations: Sequence[ir.Operation]) -> None:
        """`operations` are all below the kernel."""
        block = kernel.body.blocks[0]
        self._before = next(ancestor_in(op, block) for op in operations if _has_placed_tile(op))
        # A mark that stays before the code while the code is rewritten.
        with self._before.location, ir.InsertionPoint(self._before):
            self._mark = emitter.boolean(False).owner.operation
        self._made: list[tuple[int, int, ir.Operation]] = []

    def point(self) -> ir.InsertionPoint:
        """Where declarations are inserted, before all code."""
        return ir.InsertionPoint(self._mark)

    def channel(
        self, first: Position, buffers: Sequence[BufferType], producer: str, consumers: Sequence[str], **others: Any
    ) -> ir.Value:
        """The channel of make_channel() for the tile that is first placed at `first`."""
        with first.location, self.point():
            return self._declared(first, make_channel(buffers, producer, consumers, **others))

    def shared(self, first: Position, buffer: BufferType, shares: ir.Value | None) -> ir.Value:
        """A staging buffer, for the tile that is first placed at `first`."""
        with first.location, self.point():
            return self._declared(first, build(SharedOp.OPERATION_NAME, [shares], [buffer]).results[0])

    def _declared(self, first: Position, value: ir.Value) -> ir.Value:
        self._made.append((first.number, len(self._made), value.owner.operation))
        return value

    def finish(self) -> None:
        for _, _, made in sorted(self._made, key=lambda entry: entry[:2]):
            made.move_before(self._mark)
        self._mark.erase()


def _has_placed_tile(op: ir.Operation) -> bool:
    return op.name.startswith(PREFIX) and any(isinstance(result.type, BufferType) for result in op.results)
