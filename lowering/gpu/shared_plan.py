"""The offsets of the buffers, barriers and scratch of a kernel in shared memory, and its columns of tensor memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.channel import MMA, THREADS, TMA
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType
from tilec.element_types import element_type
from tilec.errors import UnsupportedError
from tilec.lowering.layout.layout_text import parse_shared_layout
from tilec.lowering.layout.scale_layout import ScaleLayout, is_scale_layout, parse_scale_layout
from tilec.lowering.layout.shared_layout import BASE_ALIGNMENT_BYTES, SharedLayout
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile_to_gpu.alignment import element_bytes

BARRIER_BYTES = 8
# PTX ISA 9.7.16.7.1: columns are allocated in powers of two from 32 on.
LEAST_TENSOR_COLUMNS = 32
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
    """One channel: buffer offsets of its first slot, bytes and columns to the next slot, and its barriers."""

    name: str
    stages: int
    producer: str
    consumers: list[str]
    is_ring: bool
    buffers: list[BufferType]
    offsets: list[int] = field(default_factory=list)
    slot_bytes: int = 0
    slot_columns: int = 0
    full: int = 0
    empty: int = 0

    def full_arrivals(self, threads: int) -> int:
        return threads if self.producer == THREADS else 1

    def empty_arrivals(self, threads: int) -> int:
        return sum(1 if consumer in _SINGLE else threads for consumer in self.consumers)

    def is_single(self, party: Party) -> bool:
        """Whether a single thread performs the operations of the party."""
        return self.producer != THREADS if party.consumer is None else self.consumers[party.consumer] in _SINGLE

    @property
    def bytes_expected(self) -> int:
        """The bytes that TMA writes into one slot."""
        filled = (buffer for buffer in self.buffers if buffer.memory == SHARED and self.producer == TMA)
        return sum(stored_layout(buffer).size_bytes for buffer in filled)

    @property
    def has_tensor_memory(self) -> bool:
        return any(buffer.memory == TENSOR for buffer in self.buffers)


@dataclass
class SharedPlan:
    """Offsets from the start of dynamic shared memory; the scratch of the compute role comes last."""

    channels: dict[ir.Value, ChannelPlan] = field(default_factory=dict)
    buffers: dict[ir.Value, int] = field(default_factory=dict)
    barriers: int = 0
    barrier_count: int = 0
    tensor_columns: int = 0
    tensor_address: int = 0
    scratch: int = 0

    @property
    def declared_bytes(self) -> int:
        """The bytes without scratch."""
        return self.tensor_address + (BARRIER_BYTES if self.tensor_columns else 0)


def stored_layout(buffer: BufferType) -> SharedLayout | ScaleLayout:
    """The layout of a shared buffer that holds a matrix or scale factors."""
    if is_scale_layout(buffer.layout):
        return parse_scale_layout(buffer.layout, buffer.shape)
    return shared_layout(buffer)


def shared_layout(buffer: BufferType) -> SharedLayout:
    """The layout of a matrix in a shared buffer, or of its bytes if elements share them."""
    per_byte = element_type(spell(buffer.element)).per_byte
    return parse_shared_layout(buffer.layout, buffer.shape, element_bytes(buffer.element), per_byte)


def tensor_columns(buffer: BufferType) -> int:
    """The columns of tensor memory under a buffer."""
    if is_scale_layout(buffer.layout):
        return parse_scale_layout(buffer.layout, buffer.shape).columns
    return buffer.shape[1] * max(1, buffer.shape[0] // TENSOR_LANES)


def shared_plan(kernel: KernelOp, target: Target) -> SharedPlan:
    """Assigns memory to all declarations of a kernel; raises UnsupportedError if they do not fit the target."""
    plan = SharedPlan()
    at = columns = 0
    for op in _declarations(kernel):
        if op.operation.name == "tile_gpu.shared":
            buffer = op.operation.results[0]
            plan.buffers[buffer] = at
            at += _aligned(stored_layout(buffer.type).size_bytes)
        elif op.operation.name == "tile_gpu.make_channel":
            at, columns = _allocate_channel(op, plan, at, columns)
    plan.barriers = at
    for channel in plan.channels.values():
        channel.full = plan.barrier_count
        channel.empty = plan.barrier_count + channel.stages
        plan.barrier_count += channel.stages * (2 if channel.is_ring else 1)
    plan.tensor_address = plan.barriers + BARRIER_BYTES * plan.barrier_count
    if columns:
        plan.tensor_columns = max(LEAST_TENSOR_COLUMNS, 1 << (columns - 1).bit_length())
    plan.scratch = _aligned(plan.declared_bytes)
    _check(kernel, plan, columns, target)
    return plan


def _declarations(kernel: KernelOp) -> Iterator[ir.OpView]:
    yield from kernel.operation.regions[0].blocks[0].operations


def _allocate_channel(op: ir.OpView, plan: SharedPlan, at: int, columns: int) -> tuple[int, int]:
    result = op.operation.results[0]
    channel = ChannelPlan(
        f"channel{len(plan.channels)}",
        op.stages,
        op.producer,
        [entry.value for entry in op.operation.attributes["consumers"]],
        op.reuse == "ring",
        result.type.buffers,
    )
    plan.channels[result] = channel
    if op.shares is not None:
        lender = plan.channels[op.shares]
        channel.offsets, channel.slot_bytes = lender.offsets, lender.slot_bytes
        channel.slot_columns = lender.slot_columns
        return at, columns
    for buffer in channel.buffers:
        if buffer.memory == SHARED:
            channel.offsets.append(at + channel.slot_bytes)
            channel.slot_bytes += _aligned(stored_layout(buffer).size_bytes)
        else:
            channel.offsets.append(columns + channel.slot_columns)
            channel.slot_columns += tensor_columns(buffer)
    return at + channel.slot_bytes * channel.stages, columns + channel.slot_columns * channel.stages


def _aligned(size_bytes: int) -> int:
    return math.ceil(size_bytes / BASE_ALIGNMENT_BYTES) * BASE_ALIGNMENT_BYTES


def _check(kernel: KernelOp, plan: SharedPlan, columns: int, target: Target) -> None:
    check_shared_bytes(kernel, plan.declared_bytes, target)
    if columns > target.tensor_memory_columns:
        raise UnsupportedError(
            f"the accumulators need {columns} columns of tensor memory, "
            f"{target.name} has {target.tensor_memory_columns}: use smaller tiles",
            source_location(kernel.operation.location),
        )


def check_shared_bytes(kernel: KernelOp, size_bytes: int, target: Target) -> None:
    """Raises UnsupportedError if a kernel needs more shared memory than the target has."""
    if size_bytes > target.shared_bytes:
        raise UnsupportedError(
            f"the kernel needs {size_bytes} bytes of shared memory, {target.name} has {target.shared_bytes}: "
            "use smaller tiles, or fewer stages",
            source_location(kernel.operation.location),
        )
