"""Channels as mbarriers (dialect/tile_gpu/README.md, Channels; PTX ISA 9.7.13.15)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MMA, THREADS, TMA, WGMMA
from tilec.lowering.gpu.shared_plan import PRODUCER, ChannelPlan, Party
from tilec.lowering.gpu_to_ptx.channel_position import advance, barrier_address, slot_address, wait
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registry import lowers

FENCE_ASYNC = "fence.proxy.async.shared::cta;"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [$0];"
BEFORE_SYNC = "tcgen05.fence::before_thread_sync;"
FIRST_ROUND = "first_round"
AFTER_SYNC = "tcgen05.fence::after_thread_sync;"


@lowers("tile_gpu.make_channel", "tile_gpu.make_tensor_map")
def _declared(lowering: Lowering, operation: ir.Operation) -> None:
    """Emits nothing: the shared plan assigns the memory, and the kernel starts by initializing the barriers."""


@lowers("tile_gpu.put_begin")
def _put_begin(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    if channel.is_ring and FIRST_ROUND not in operation.attributes:
        wait(lowering, channel, channel.empty, PRODUCER)
        if channel.producer == MMA or channel.moves_tensor_memory(PRODUCER):
            # PTX ISA 9.7.16.6.2: the readers of tensor memory synchronised through the barrier.
            lowering.b.execute(AFTER_SYNC)
    if channel.producer == TMA:
        full = barrier_address(lowering, channel, channel.full, PRODUCER)
        text = f"@$0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], {channel.bytes_expected};"
        with lowering.issuing() as elected:
            lowering.b.execute(text, (), elected, full)
    _set_buffers(lowering, operation, channel, PRODUCER)


def _set_buffers(lowering: Lowering, operation: ir.Operation, channel: ChannelPlan, party: Party) -> None:
    for number, result in enumerate(operation.results):
        lowering.set(result, [slot_address(lowering, channel, number, party)])


@lowers("tile_gpu.put_commit")
def _put_commit(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    full = barrier_address(lowering, channel, channel.full, PRODUCER)
    if channel.producer == THREADS:
        if channel.moves_tensor_memory(PRODUCER):
            lowering.b.execute(BEFORE_SYNC)
        if channel.has_shared_memory and any(consumer in (MMA, WGMMA) for consumer in channel.consumers):
            # PTX ISA 9.7.9.25: tensor cores read shared memory through the async proxy.
            lowering.b.execute(FENCE_ASYNC)
        lowering.b.execute(ARRIVE, (), full)
    elif channel.producer == MMA:
        commit(lowering, full)
    advance(lowering, channel, PRODUCER, first_round=FIRST_ROUND in operation.attributes)


def commit(lowering: Lowering, barrier: ir.Value) -> None:
    """Arrives at a barrier when all tensor core operations of the elected thread are complete."""
    text = "@$0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$1];"
    with lowering.issuing() as elected:
        lowering.b.execute(text, (), elected, barrier)


def _consumer(operation: ir.Operation) -> int:
    return ir.IntegerAttr(operation.attributes["consumer"]).value


@lowers("tile_gpu.get")
def _get(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    number = _consumer(operation)
    party = Party(number)
    wait(lowering, channel, channel.full, party)
    if channel.has_tensor_memory:
        lowering.b.execute(AFTER_SYNC)
    _set_buffers(lowering, operation, channel, party)


@lowers("tile_gpu.release")
def _release(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    number = _consumer(operation)
    party = Party(number)
    if channel.is_ring:
        empty = barrier_address(lowering, channel, channel.empty, party)
        if channel.consumers[number] == MMA:
            commit(lowering, empty)
        elif channel.consumers[number] == TMA:
            with lowering.issuing() as elected:
                lowering.b.execute(f"@$1 {ARRIVE}", (), empty, elected)
        else:
            if channel.moves_tensor_memory(party):
                lowering.b.execute(BEFORE_SYNC)
            if channel.has_shared_memory and channel.producer == TMA and channel.consumers[number] == THREADS:
                # PTX ISA 9.7.9.25: the barrier alone does not order generic reads before the writes of TMA.
                lowering.b.execute(FENCE_ASYNC)
            lowering.b.execute(ARRIVE, (), empty)
    advance(lowering, channel, party)
