"""The offsets of the buffers, barriers and scratch of a kernel in shared memory, and its columns of tensor memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilec.dialect.cache import cached
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.channel import (
    CLAIMS,
    CLUSTER,
    COPIES,
    MMA,
    PAIR,
    THREADS,
    TMA,
    WARP,
    MakeChannelOp,
    PutCommitOp,
)
from tilec.dialect.tile_gpu.operations.kernel import COPY_WARPS, KernelOp, kernel_around
from tilec.dialect.tile_gpu.operations.memory import SharedOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType
from tilec.dialect.walk import users_of, views_in
from tilec.element_types import element_type
from tilec.errors import Note, TensorMemoryError, UnsupportedError
from tilec.lowering.gpu.ir.enclosing import path_to
from tilec.lowering.gpu.memory.memory_regions import largest_regions
from tilec.lowering.kernel_hints import NUM_CTAS, kernel_hint
from tilec.lowering.layout.scale_layout import ScaleLayout, is_scale_layout, parse_scale_layout
from tilec.lowering.layout.shared_layout import BASE_ALIGNMENT_BYTES, SharedLayout, parse_shared_layout
from tilec.lowering.layout.tensor_layout import TensorLayout, parse_tensor_layout
from tilec.lowering.target import LANES, Target
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes

BARRIER_BYTES = 8
# PTX ISA 9.7.16.7.1: columns are allocated in powers of two from 32 on.
LEAST_TENSOR_COLUMNS = 32
CTAS_OF_A_PAIR = 2
# PTX ISA 9.7.13.17: the bytes and the alignment of a response to a claim.
RESPONSE_BYTES = 16

# Consumers whose operations one elected thread issues.
_SINGLE = (MMA, TMA)


@dataclass(frozen=True)
class Party:
    """One side of a channel: its producer, or the consumer of a number."""

    consumer: int | None = None

    @property
    def is_producer(self) -> bool:
        return self.consumer is None

    def __str__(self) -> str:
        return "put" if self.consumer is None else f"get{self.consumer}"


PRODUCER = Party()


@dataclass
class ChannelPlan:
    """One channel: buffer offsets of its first slot, bytes and columns to the next slot, and its barriers.

    Channels of one ring have one name; `ring` is the plan of the channel that the others continue.
    """

    name: str
    stages: int
    producer: str
    consumers: list[str]
    is_ring: bool
    buffers: list[BufferType]
    ring: ChannelPlan | None = None
    across: str | None = None
    # The CTAs whose slots are filled and emptied together.
    ctas: int = 1
    # The threads whose copies fill a slot, or 0.
    copying_threads: int = 0
    offsets: list[int] = field(default_factory=list)
    first_byte: int = 0
    first_column: int = 0
    slot_bytes: int = 0
    slot_columns: int = 0
    full: int = 0
    empty: int = 0

    def full_arrivals(self, threads: int) -> int:
        if self.producer == COPIES:
            return self.copying_threads
        return self._thread_arrivals(threads) if self.producer == THREADS else 1

    def empty_arrivals(self, threads: int) -> int:
        singles = sum(consumer in _SINGLE for consumer in self.consumers)
        warps, copies = self.consumers.count(WARP), self.consumers.count(COPIES)
        # A commit of a pair is one arrival in each of its CTAs, while all CTAs of a cluster commit.
        of_singles = singles * (self.ctas if self.across == CLUSTER else 1)
        of_warps = (warps + copies * COPY_WARPS) * (LANES if self.across is None else self.ctas)
        of_threads = (len(self.consumers) - singles - warps - copies) * self._thread_arrivals(threads)
        return of_singles + of_warps + of_threads

    def _thread_arrivals(self, threads: int) -> int:
        """The arrivals of the threads of a party: one per thread, but one per warp and CTA across CTAs."""
        return threads if self.across is None else threads // LANES * self.ctas

    def is_of_leader(self, party: Party) -> bool:
        """Whether only the CTA that leads a pair performs the operations of the party."""
        name = self.producer if party.consumer is None else self.consumers[party.consumer]
        return self.across == PAIR and name == MMA

    def is_single(self, party: Party) -> bool:
        """Whether a single thread performs the operations of the party."""
        if party.consumer is None:
            return self.producer not in (THREADS, COPIES)
        return self.consumers[party.consumer] in _SINGLE

    @property
    def counts_bytes(self) -> bool:
        """Whether the full barriers count bytes that arrive through the async proxy."""
        return self.producer in (TMA, CLAIMS)

    @property
    def bytes_expected(self) -> int:
        """The bytes that TMA, or a response, writes into one slot."""
        filled = (buffer for buffer in self.buffers if buffer.memory == SHARED and self.counts_bytes)
        return sum(stored_layout(buffer).loaded_bytes for buffer in filled)

    def orders_threads_of_cluster(self, first: int) -> bool:
        """Whether threads of other CTAs access shared memory before they arrive at the barriers from `first` on.

        Multiplies and copies do so asynchronously, and tensor memory has fences of its own.
        """
        by_threads = self.producer == THREADS if first == self.full else bool({THREADS, WARP} & set(self.consumers))
        return self.across is not None and by_threads and self.has_shared_memory

    @property
    def awaits_commits(self) -> bool:
        """Whether commits of other CTAs arrive at the empty barriers, at any time until all slots are empty."""
        return self.is_ring and self.across is not None and MMA in self.consumers

    @property
    def has_shared_memory(self) -> bool:
        return any(buffer.memory == SHARED for buffer in self.buffers)

    @property
    def has_tensor_memory(self) -> bool:
        return any(buffer.memory == TENSOR for buffer in self.buffers)

    def moves_tensor_memory(self, party: Party) -> bool:
        """Whether threads of the party load or store tensor memory of a slot: scale factors are copied by `mma`."""
        matrices = any(buffer.memory == TENSOR and not is_scale_layout(buffer.layout) for buffer in self.buffers)
        return matrices and not self.is_single(party)


@dataclass
class SharedPlan:
    """Offsets from the start of dynamic shared memory; the scratch of the compute role comes last."""

    channels: dict[ir.Value, ChannelPlan] = field(default_factory=dict)
    buffers: dict[ir.Value, int] = field(default_factory=dict)
    # The bytes of each staging buffer that has memory of its own.
    staging: dict[ir.Value, int] = field(default_factory=dict)
    barriers: int = 0
    barrier_count: int = 0
    columns_used: int = 0
    tensor_columns: int = 0
    tensor_address: int = 0
    # The bytes of the responses to claims, after the address of tensor memory.
    responses: int = 0
    scratch: int = 0

    @property
    def declared_bytes(self) -> int:
        """The bytes without scratch."""
        return self.tensor_address + (BARRIER_BYTES if self.tensor_columns else 0) + self.responses

    def bytes_with(self, scratch_bytes: int) -> int:
        """All bytes, if the roles that compute have `scratch_bytes` bytes of scratch in total."""
        return self.scratch + scratch_bytes if scratch_bytes else self.declared_bytes


def stored_layout(buffer: BufferType) -> SharedLayout | ScaleLayout:
    """The layout of a shared buffer that holds a matrix or scale factors."""
    if is_scale_layout(buffer.layout):
        return parse_scale_layout(buffer.layout, buffer.shape)
    return shared_layout(buffer)


def shared_layout(buffer: BufferType) -> SharedLayout:
    """The layout of a matrix in a shared buffer, or of its bytes if elements share them."""
    per_byte = element_type(spell(buffer.element)).per_byte
    return parse_shared_layout(buffer.layout, buffer.shape, element_bytes(buffer.element), per_byte)


def tensor_layout(buffer: BufferType) -> TensorLayout:
    """The layout of a matrix in tensor memory."""
    return parse_tensor_layout(buffer.layout, buffer.shape, element_bytes(buffer.element))


@cached
def tensor_columns(buffer: BufferType) -> int:
    """The columns of tensor memory under a buffer."""
    if is_scale_layout(buffer.layout):
        return parse_scale_layout(buffer.layout, buffer.shape).columns
    return tensor_layout(buffer).columns


def shared_plan(kernel: KernelOp, target: Target) -> SharedPlan:
    """Assigns memory to all declarations of a kernel; raises UnsupportedError if they do not fit the target."""
    plan = memory_plan(kernel)
    check_shared_bytes(kernel, plan, plan.declared_bytes, target)
    if plan.columns_used > target.tensor_memory_columns:
        raise TensorMemoryError(
            f"the accumulators need {plan.columns_used} columns of tensor memory, "
            f"{target.name} has {target.tensor_memory_columns}: use smaller tiles",
            source_location(kernel.operation.location),
            largest_regions(kernel, plan, TENSOR),
        )
    return plan


def memory_plan(kernel: KernelOp) -> SharedPlan:
    """Assigns memory to all declarations of a kernel, even if the target has less."""
    plan, at = SharedPlan(), 0
    declarations = views_in(kernel.body.blocks[0], (SharedOp.OPERATION_NAME, MakeChannelOp.OPERATION_NAME))
    sizes = _owned_sizes(declarations)
    for op in declarations:
        if isinstance(op, SharedOp):
            plan.buffers[op.buffer] = at if op.shares is None else plan.buffers[op.shares]
            if op.shares is None:
                plan.staging[op.buffer], _ = sizes[op.buffer]
                at += plan.staging[op.buffer]
        else:
            at = _allocate_channel(op, plan, at, sizes)
    plan.barriers = at
    _number_barriers(plan)
    plan.tensor_address = plan.barriers + BARRIER_BYTES * plan.barrier_count
    if plan.columns_used:
        plan.tensor_columns = max(LEAST_TENSOR_COLUMNS, 1 << (plan.columns_used - 1).bit_length())
    for channel in plan.channels.values():
        if channel.producer == CLAIMS:
            _allocate_responses(plan, channel)
    plan.scratch = _aligned(plan.declared_bytes)
    return plan


def _allocate_responses(plan: SharedPlan, channel: ChannelPlan) -> None:
    """Responses are beside the barriers: a slot of its own alignment would take the memory of a slot of loads."""
    end = plan.declared_bytes
    channel.first_byte = math.ceil(end / RESPONSE_BYTES) * RESPONSE_BYTES
    channel.offsets, channel.slot_bytes = [channel.first_byte] * len(channel.buffers), RESPONSE_BYTES
    plan.responses += channel.first_byte + RESPONSE_BYTES * channel.stages - end


def _owned_sizes(declarations: Sequence[SharedOp | MakeChannelOp]) -> dict[ir.Value, tuple[int, int]]:
    """The bytes and columns of each staging buffer, and of a slot of each channel, with memory of its own.

    They are those of the largest of all that share the memory.
    """
    sizes: dict[ir.Value, tuple[int, int]] = {}
    for op in declarations:
        value = op.operation.results[0]
        owner = value if op.shares is None else op.shares
        wanted = slot_size([value.type] if isinstance(op, SharedOp) else value.type.buffers)
        had = sizes.get(owner, (0, 0))
        sizes[owner] = max(wanted[0], had[0]), max(wanted[1], had[1])
    return sizes


@cached
def buffer_bytes(buffer: BufferType) -> int:
    """The bytes of shared memory under a buffer."""
    return _aligned(stored_layout(buffer).size_bytes)


def slot_size(buffers: list[BufferType]) -> tuple[int, int]:
    """The bytes of shared memory and the columns of tensor memory of a slot with these buffers."""
    size_bytes = sum(buffer_bytes(buffer) for buffer in buffers if buffer.memory == SHARED)
    return size_bytes, sum(tensor_columns(buffer) for buffer in buffers if buffer.memory == TENSOR)


def _allocate_channel(op: MakeChannelOp, plan: SharedPlan, at: int, slots: dict[ir.Value, tuple[int, int]]) -> int:
    """Adds the plan of a channel whose slots, if it owns them, start at a number of bytes; returns their end."""
    result = op.operation.results[0]
    lender = None if op.shares is None else plan.channels[op.shares]
    ring = lender if op.continues else None
    channel = ChannelPlan(
        f"channel{len(plan.channels)}" if ring is None else ring.name,
        op.stages,
        op.producer,
        op.consumer_names,
        op.reuse == "ring",
        result.type.buffers,
        ring,
        op.across,
        {None: 1, PAIR: CTAS_OF_A_PAIR, CLUSTER: kernel_around(op).cluster_ctas}[op.across],
        _copying_threads(op),
    )
    plan.channels[result] = channel
    channel.slot_bytes, channel.slot_columns = slots[result if lender is None else op.shares]
    first = (at, plan.columns_used) if lender is None else (lender.first_byte, lender.first_column)
    channel.first_byte, channel.first_column = first
    channel.offsets = _offsets(channel.buffers, *first)
    if lender is not None or channel.producer == CLAIMS:
        return at
    plan.columns_used += channel.slot_columns * channel.stages
    return at + channel.slot_bytes * channel.stages


def _copying_threads(op: ir.OpView) -> int:
    """The threads of the role whose copies fill a slot; 0 for other producers."""
    if op.producer != COPIES:
        return 0
    commits = [user for user in users_of(op.operation.results[0]) if user.name == PutCommitOp.OPERATION_NAME]
    return LANES * max(map(_warps_around, commits), default=0)


def _warps_around(op: ir.Operation) -> int:
    kernel, path = kernel_around(op.opview), path_to(op)
    if kernel.roles is None or path[0] != kernel.roles.operation:
        return kernel.warps
    blocks = [region.blocks[0] for region in kernel.roles.bodies.values()]
    return int(kernel.roles.warps[blocks.index(path[1].block)])


def _offsets(buffers: list[BufferType], at: int, column: int) -> list[int]:
    """The offsets of the buffers of a slot that starts at a byte of shared memory and a column of tensor memory."""
    offsets = []
    for buffer in buffers:
        if buffer.memory == SHARED:
            offsets.append(at)
            at += buffer_bytes(buffer)
        else:
            offsets.append(column)
            column += tensor_columns(buffer)
    return offsets


def _number_barriers(plan: SharedPlan) -> None:
    for channel in plan.channels.values():
        if channel.ring is not None:
            channel.full, channel.empty = channel.ring.full, channel.ring.empty
            continue
        channel.full = plan.barrier_count
        channel.empty = plan.barrier_count + channel.stages
        plan.barrier_count += channel.stages * (2 if channel.is_ring else 1)


def _aligned(size_bytes: int) -> int:
    return math.ceil(size_bytes / BASE_ALIGNMENT_BYTES) * BASE_ALIGNMENT_BYTES


def check_shared_bytes(kernel: KernelOp, plan: SharedPlan, size_bytes: int, target: Target) -> None:
    """Raises UnsupportedError if a kernel, with its scratch memory, needs more shared memory than the target has."""
    if size_bytes <= target.shared_bytes:
        return
    notes = largest_regions(kernel, plan, SHARED)
    if size_bytes > plan.scratch:
        notes.append(Note(f"{size_bytes - plan.scratch} bytes: scratch of reductions and layout conversions"))
    is_whole = kernel_hint(kernel, NUM_CTAS) == 1
    more = "fewer stages, or leave num_ctas=1 out: several CTAs may divide the tiles" if is_whole else "or fewer stages"
    raise UnsupportedError(
        f"the kernel needs {size_bytes} bytes of shared memory, {target.name} has {target.shared_bytes}: "
        f"use smaller tiles, {more}",
        source_location(kernel.operation.location),
        notes,
    )
