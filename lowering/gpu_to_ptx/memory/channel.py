"""Channels as mbarriers (dialect/tile_gpu/README.md, Channels; PTX ISA 9.7.13.15)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import (
    CLAIMS,
    COPIES,
    MMA,
    PAIR,
    THREADS,
    TMA,
    WARP,
    WGMMA,
    GetOp,
    MakeChannelOp,
    PutBeginOp,
    PutCommitOp,
    ReleaseOp,
    SkipOp,
    SlotOp,
)
from tilec.dialect.tile_gpu.operations.tensor_map import MakeTensorMapOp
from tilec.lowering.gpu.memory.shared_plan import CTAS_OF_A_PAIR, PRODUCER, ChannelPlan, Party
from tilec.lowering.gpu_to_ptx.memory.channel_position import (
    advance,
    barrier_address,
    counts_releases,
    next_released,
    party_of,
    skip,
    slot_address,
    wait,
)
from tilec.lowering.gpu_to_ptx.registers.cluster import address_in_cta, mask_of_cluster, mask_of_pair, pair_leader
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

FENCE_ASYNC = "fence.proxy.async.shared::cta;"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [$0];"
# Without an increment of the pending count, which has an arrival for each thread (PTX ISA 9.7.13.15.16).
_ARRIVE_AFTER_COPIES = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];"
BEFORE_SYNC = "tcgen05.fence::before_thread_sync;"
FIRST_ROUND = "first_round"
AFTER_SYNC = "tcgen05.fence::after_thread_sync;"


@lowers(MakeChannelOp, MakeTensorMapOp)
def _declared(lowering: Lowering, operation: ir.Operation) -> None:
    """Emits nothing: the shared plan assigns the memory, and the kernel starts by initializing the barriers."""


@lowers(PutBeginOp)
def _put_begin(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    if channel.is_ring and FIRST_ROUND not in operation.attributes:
        wait(lowering, channel, channel.empty, PRODUCER)
        if channel.producer == MMA or channel.moves_tensor_memory(PRODUCER):
            # PTX ISA 9.7.16.6.2: the readers of tensor memory synchronised through the barrier.
            lowering.b.execute(AFTER_SYNC)
    if channel.counts_bytes:
        _expect_bytes(lowering, channel)
    _set_buffers(lowering, operation, channel, PRODUCER)


def _expect_bytes(lowering: Lowering, channel: ChannelPlan) -> None:
    """Expects the bytes of a slot; the barrier of the CTA that leads a pair counts those of both CTAs."""
    of_pair = channel.across == PAIR
    size_bytes = channel.bytes_expected * (CTAS_OF_A_PAIR if of_pair else 1)
    full = barrier_address(lowering, channel, channel.full, PRODUCER)
    text = f"@$0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], {size_bytes};"
    with lowering.issuing(leads_pair=of_pair) as elected:
        lowering.b.execute(text, (), elected, full)


def _set_buffers(lowering: Lowering, operation: ir.Operation, channel: ChannelPlan, party: Party) -> None:
    for number, result in enumerate(operation.results):
        lowering.set(result, [slot_address(lowering, channel, number, party)])


@lowers(PutCommitOp)
def _put_commit(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    full = barrier_address(lowering, channel, channel.full, PRODUCER)
    if channel.producer == THREADS:
        if channel.moves_tensor_memory(PRODUCER):
            lowering.b.execute(BEFORE_SYNC)
        if channel.has_shared_memory and any(consumer in (MMA, WGMMA) for consumer in channel.consumers):
            # PTX ISA 9.7.9.25: tensor cores read shared memory through the async proxy.
            lowering.b.execute(FENCE_ASYNC)
        _arrive(lowering, channel, channel.full, full)
    elif channel.producer == COPIES:
        lowering.b.execute(_ARRIVE_AFTER_COPIES, (), full)
    elif channel.producer == MMA:
        commit(lowering, channel, full)
    advance(lowering, channel, PRODUCER, first_round=FIRST_ROUND in operation.attributes)


def _arrive(lowering: Lowering, channel: ChannelPlan, first: int, barrier: ir.Value) -> None:
    """All threads of the role arrive at a barrier, one of those from barrier number `first` on.

    Across CTAs one lane of each warp arrives at the barrier of each CTA, in a pair at that of the CTA that leads it. A
    response to a claim is released to this CTA, and to the one that requests the next.
    """
    if channel.across is None:
        lowering.b.execute(ARRIVE, (), barrier)
        return
    lowering.b.execute("bar.warp.sync 0xffffffff;")
    if channel.across == PAIR:
        arrives = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.lane)
        rank = pair_leader(lowering)
    elif channel.producer == CLAIMS:
        # Nothing that this CTA waits for precedes the arrivals of the others: they could be in the phase after (PTX ISA
        # 9.7.13.15.4).
        own = lowering.cluster_rank
        others = lowering.compute("min.u32 $0, $1, 1;", "i32", own)
        arrives = lowering.compute("setp.le.s32 $0, $1, $2;", "i1", lowering.lane, others)
        is_first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.lane)
        rank = lowering.compute("selp.b32 $0, $1, 0, $2;", "i32", own, is_first)
    else:
        ctas = lowering.cluster_size if lowering.joins_programs else channel.ctas
        arrives = lowering.compute("setp.lt.s32 $0, $1, $2;", "i1", lowering.lane, ctas)
        last = lowering.compute("sub.s32 $0, $1, 1;", "i32", ctas) if lowering.joins_programs else channel.ctas - 1
        rank = lowering.compute("and.b32 $0, $1, $2;", "i32", lowering.lane, last)
    # A release with the scope of the cluster waits for all memory accesses of the thread (MEMBAR.ALL.GPU).
    order = ".release.cluster" if channel.orders_threads_of_cluster(first) else ""
    text = f"@$0 mbarrier.arrive{order}.shared::cluster.b64 _, [$1];"
    lowering.b.execute(text, (), arrives, address_in_cta(lowering, barrier, rank))


def commit(lowering: Lowering, channel: ChannelPlan, barrier: ir.Value) -> None:
    """Arrives at a barrier, across CTAs at that of each CTA, when the elected thread's multiplies are complete."""
    if channel.across is None:
        with lowering.issuing() as elected:
            lowering.b.execute(f"@$0 {_commit(1)} [$1];", (), elected, barrier)
        return
    of_pair = channel.across == PAIR
    mask = mask_of_pair(lowering) if of_pair else mask_of_cluster(lowering)
    text = f"@$0 {_commit(CTAS_OF_A_PAIR if of_pair else 1, '.multicast::cluster')} [$1], $2;"
    with lowering.issuing(leads_pair=of_pair) as elected:
        lowering.b.execute(text, (), elected, barrier, mask)


def _commit(ctas: int, multicast: str = "") -> str:
    return f"tcgen05.commit.cta_group::{ctas}.mbarrier::arrive::one.shared::cluster{multicast}.b64"


@lowers(GetOp)
def _get(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    party = party_of(operation)
    wait(lowering, channel, channel.full, party)
    if channel.has_tensor_memory:
        lowering.b.execute(AFTER_SYNC)
    if channel.producer == COPIES:
        # PTX ISA 9.7.9.25: copies write through the generic proxy, and tensor cores read through the async proxy. The
        # threads that copy would wait for their copies at the fence.
        lowering.b.execute(FENCE_ASYNC)
    _set_buffers(lowering, operation, channel, party)
    if counts_releases(lowering, channel, party):
        advance(lowering, channel, party)


@lowers(ReleaseOp)
def _release(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    party = party_of(operation)
    consumer = channel.consumers[operation.opview.consumer]
    is_apart = counts_releases(lowering, channel, party)
    if channel.is_ring:
        if is_apart:
            empty = next_released(lowering, channel, party)
        else:
            empty = barrier_address(lowering, channel, channel.empty, party)
        if consumer == MMA:
            commit(lowering, channel, empty)
        elif consumer == TMA:
            with lowering.issuing() as elected:
                lowering.b.execute(f"@$1 {ARRIVE}", (), empty, elected)
        else:
            if channel.moves_tensor_memory(party):
                lowering.b.execute(BEFORE_SYNC)
            if channel.has_shared_memory and channel.counts_bytes and consumer in (THREADS, WARP, COPIES):
                # PTX ISA 9.7.9.25: the barrier alone does not order generic reads before writes of the async proxy.
                lowering.b.execute(FENCE_ASYNC)
            _arrive(lowering, channel, channel.empty, empty)
    if not is_apart:
        advance(lowering, channel, party)


@lowers(SkipOp)
def _skip(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.operands[0]]
    skip(lowering, channel, party_of(operation), lowering.scalar(operation.operands[1]))


@lowers(SlotOp)
def _slot(lowering: Lowering, operation: ir.Operation) -> None:
    _set_buffers(lowering, operation, lowering.plan.channels[operation.operands[0]], PRODUCER)
