"""Loads what all CTAs of a cluster need once: half in each CTA of a pair that multiplies together, or by multicast.

    tma_load %b[%n, %k] -> 64x256;  tcgen05_mma %a, %b into %d : 128x64, 64x256 -> 128x256
    ->  tma_load %b[%n + rank * 128, %k] -> 64x128;  tcgen05_mma pair %a, %b into %d : 128x64, 64x128 -> 128x256

Where the multiplies of a kernel cannot be those of pairs, each CTA loads a part of the rows of a tile for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import (
    CLUSTER,
    MMA,
    PAIR,
    THREADS,
    TMA,
    GetOp,
    MakeChannelOp,
    PutBeginOp,
    channel_of,
)
from tilec.dialect.tile_gpu.kernel import ClusterRankOp, KernelOp
from tilec.dialect.tile_gpu.matrix import Tcgen05MmaOp
from tilec.dialect.tile_gpu.memory import ViewBufferOp
from tilec.dialect.tile_gpu.tma import TmaLoadOp
from tilec.dialect.tile_gpu.types import SHARED, BufferType, ChannelType
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.channels.narrow_accumulators import NARROW_ROWS, movable_accesses, move_narrow_accumulators
from tilec.lowering.gpu.ir.equal_values import EqualValues
from tilec.lowering.gpu.ir.slots import GET, PUT, step_of_buffer, users_of_slot, without_views
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.shared_plan import CTAS_OF_A_PAIR, shared_layout
from tilec.lowering.layout.scale_layout import is_scale_layout
from tilec.lowering.target import TENSOR_LANES
from tilec.remarks import Remark

# The rows after which every swizzle repeats (PTX ISA 5.5.7).
_PATTERN_ROWS = 8
_MULTIPLY = Tcgen05MmaOp.OPERATION_NAME
# PTX ISA 9.7.16.2.1, table 39: what all kinds of pairs have.
_COLUMN_STEP, _MAXIMUM_COLUMNS = 32, 256
_JOINED_BY_PAIRS = ((TMA, [MMA]), (THREADS, [MMA]), (MMA, [THREADS]))


class _NotPairsError(Exception):
    """Why the multiplies of a kernel are not those of pairs."""


@dataclass(frozen=True)
class _Half:
    """A buffer of a channel of which each CTA of a pair gets half of the columns of rhs, along a dimension."""

    channel: MakeChannelOp
    number: int
    dimension: int


def share_loads(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run before slots are shared and the kernel is split into roles."""
    if kernel.ctas == 1:
        return
    equal = EqualValues(kernel)
    operations = list(operations_below(kernel))
    multiplies = [op for op in operations if op.operation.name == _MULTIPLY]
    channels = [op for op in operations if op.operation.name == MakeChannelOp.OPERATION_NAME and op.across is None]
    if multiplies:
        try:
            halves = _halves(multiplies, channels, equal)
        except _NotPairsError as error:
            message = f"the blocks of a cluster do not multiply in pairs: {error}"
            context.remarks.append(Remark("hint", message, source_location(multiplies[0].operation.location)))
        else:
            _make_pairs(kernel, multiplies, channels, halves)
            return
    for channel in channels:
        _multicast(kernel, channel, equal)


# ---- pairs


def _halves(multiplies: list[ir.OpView], channels: list[MakeChannelOp], equal: EqualValues) -> list[_Half]:
    """What a pair divides; raises _NotPairsError."""
    for channel in channels:
        consumers = [name.value for name in channel.consumers]
        if MMA in (channel.producer, *consumers):
            if (channel.producer, consumers) not in _JOINED_BY_PAIRS:
                raise _NotPairsError("threads read an operand of a multiply as well")
            if not all(equal.runs_alike(use.owner.operation) for use in channel.operation.results[0].uses):
                raise _NotPairsError("a loop or a branch around a multiply may differ between the blocks")
    found: list[_Half] = []
    for op in multiplies:
        rows, columns = op.accumulator.type.shape
        has_rows = rows % TENSOR_LANES == 0 or rows == NARROW_ROWS and op.lhs.type.memory == SHARED
        if op.pair or not has_rows or columns % _COLUMN_STEP or columns > _MAXIMUM_COLUMNS:
            raise _NotPairsError(f"a pair needs 64 or 128 rows per block and 32 to 256 columns, got {rows}x{columns}")
        half = _half_of(op, channels, equal)
        if half not in found:
            found.append(half)
    divided = [(half.channel, half.number) for half in found]
    if len(set(divided)) < len(divided):
        raise _NotPairsError("two multiplies read different halves of one right operand")
    if not movable_accesses(channels):
        raise _NotPairsError("threads read columns of 64 rows of an accumulator")
    if any(_buffer_of(op.lhs) in divided for op in multiplies):
        raise _NotPairsError("a right operand is the left one of another multiply")
    return found


def _half_of(op: ir.OpView, channels: list[MakeChannelOp], equal: EqualValues) -> _Half:
    channel, number = _buffer_of(op.rhs)
    if channel not in channels or channel.producer != TMA:
        raise _NotPairsError("the right operand is not loaded by TMA")
    half = _Half(channel, number, _dimension_of_columns(op.rhs.type, without_views(op.rhs).type))
    for load in loads_into(channel, half.number):
        if not _is_equal(load, equal):
            raise _NotPairsError("the blocks may load different right operands")
        _divided_box(load, half)
    return half


def _buffer_of(operand: ir.Value) -> tuple[MakeChannelOp | None, int]:
    """The channel whose slot an operand is in, and the number of the buffer in it."""
    get = step_of_buffer(operand)
    if get is None or get.name != GET:
        return None, 0
    return channel_of(get.operands[0]), list(get.results).index(without_views(operand))


def _dimension_of_columns(rhs: BufferType, held: BufferType) -> int:
    """The dimension of a buffer that holds the columns of rhs, of which rhs is a view."""
    contiguous = shared_layout(held).contiguous
    columns = rhs.shape[1]
    if shared_layout(rhs).contiguous == 1:
        if columns // CTAS_OF_A_PAIR < shared_layout(held).panel_elements:
            raise _NotPairsError(f"half of {columns} columns of the right operand is less than a row of its swizzle")
        return contiguous
    others = [d for d, extent in enumerate(held.shape) if d != contiguous and extent > 1]
    if len(others) != 1 or held.shape[others[0]] != columns:
        raise _NotPairsError("the columns of the right operand have several dimensions")
    return others[0]


def loads_into(channel: MakeChannelOp, number: int) -> list[TmaLoadOp]:
    """The copies into a buffer of the slots of a channel."""
    puts = [use.owner.operation for use in channel.operation.results[0].uses]
    buffers = [put.results[number] for put in puts if put.name == PUT]
    return [user.opview for buffer in buffers for user in users_of_slot(buffer)]


def _is_equal(load: ir.OpView, equal: EqualValues) -> bool:
    if not isinstance(load, TmaLoadOp) or load.map.owner.kind is not None or load.multicast:
        return False
    return equal.runs_alike(load.operation) and all(map(equal.has, load.coordinates))


def _divided_box(load: TmaLoadOp, half: _Half) -> tuple[list[int], int]:
    """The box of half of the columns, and the coordinate along them; raises _NotPairsError."""
    box, columns = list(load.map.owner.box), load.buffer.type.shape[half.dimension]
    if half.dimension == shared_layout(load.buffer.type).contiguous:
        return box, 0
    wide = [number for number in range(1, len(box)) if box[number] > 1]
    if len(wide) != 1 or box[wide[0]] != columns:
        raise _NotPairsError("the columns of the right operand have several dimensions")
    box[wide[0]] //= CTAS_OF_A_PAIR
    return box, wide[0]


def _make_pairs(
    kernel: KernelOp, multiplies: list[ir.OpView], channels: list[MakeChannelOp], halves: list[_Half]
) -> None:
    for half in halves:
        columns = half.channel.operation.results[0].type.buffers[half.number].shape[half.dimension]
        for load in loads_into(half.channel, half.number):
            box, coordinate = _divided_box(load, half)
            _move(kernel, load, box, coordinate, columns // CTAS_OF_A_PAIR, CTAS_OF_A_PAIR)
        _halve_buffers(half)
    move_narrow_accumulators(kernel, channels)
    for op in multiplies:
        op.operation.attributes["pair"] = ir.UnitAttr.get()
    for channel in channels:
        if MMA in (channel.producer, *(name.value for name in channel.consumers)):
            channel.operation.attributes["across"] = ir.StringAttr.get(PAIR)


def _halve_buffers(half: _Half) -> None:
    """Changes the types of a channel, of its buffers and of their views."""
    result = half.channel.operation.results[0]
    buffers = result.type.buffers
    buffers[half.number] = _half_type(buffers[half.number], half.dimension)
    users = [use.owner.operation for use in result.uses]
    result.set_type(ChannelType.get(buffers))
    for user in users:
        if user.name in (PutBeginOp.OPERATION_NAME, GetOp.OPERATION_NAME):
            user.results[half.number].set_type(buffers[half.number])
            _halve_views(user.results[half.number], half.dimension)


def _halve_views(buffer: ir.Value, dimension: int) -> None:
    for use in buffer.uses:
        op = use.owner.operation
        if op.name == ViewBufferOp.OPERATION_NAME:
            viewed = _dimension_in_view(buffer.type, dimension, op.results[0].type)
            op.results[0].set_type(_half_type(op.results[0].type, viewed))
            _halve_views(op.results[0], viewed)


def _dimension_in_view(source: BufferType, dimension: int, view: BufferType) -> int:
    contiguous = shared_layout(view).contiguous
    if dimension == shared_layout(source).contiguous:
        return contiguous
    return next(d for d, extent in enumerate(view.shape) if d != contiguous and extent > 1)


def _half_type(buffer: BufferType, dimension: int) -> BufferType:
    shape = [extent // CTAS_OF_A_PAIR if d == dimension else extent for d, extent in enumerate(buffer.shape)]
    return BufferType.get(shape, buffer.element, buffer.memory, buffer.layout)


# ---- multicast


def _multicast(kernel: KernelOp, channel: MakeChannelOp, equal: EqualValues) -> None:
    """Makes each CTA load a part of the buffers that all CTAs fill alike."""
    if channel.producer != TMA or TMA in [name.value for name in channel.consumers]:
        return
    buffers = channel.operation.results[0].type.buffers
    if any(is_scale_layout(buffer.layout) for buffer in buffers):
        return
    for number, buffer in enumerate(buffers):
        loads = loads_into(channel, number) if buffer.memory == SHARED else []
        parts = [part for load in loads if _is_equal(load, equal) and (part := part_box(load, kernel.ctas))]
        if not loads or len(parts) < len(loads):
            continue
        for load, (box, coordinate) in zip(loads, parts, strict=True):
            _move(kernel, load, box, coordinate, box[coordinate], kernel.ctas)
            load.operation.attributes["multicast"] = ir.UnitAttr.get()
        channel.operation.attributes["across"] = ir.StringAttr.get(CLUSTER)


def part_box(load: TmaLoadOp, ctas: int) -> tuple[list[int], int] | None:
    """The box of the rows of one CTA, and the outermost coordinate along them; None if they cannot be divided."""
    box = list(load.map.owner.box)
    wide = [number for number in range(1, len(box)) if box[number] > 1]
    if not wide or box[wide[-1]] % ctas or math.prod(box[1:]) // ctas % _PATTERN_ROWS:
        return None
    box[wide[-1]] //= ctas
    return box, wide[-1]


# ---- both


def _move(kernel: KernelOp, load: TmaLoadOp, box: list[int], coordinate: int, step: int, parts: int) -> None:
    """Loads a smaller box, `step` elements further along a coordinate for each CTA before this one."""
    operation = load.operation
    with operation.location, ir.InsertionPoint(operation):
        rank = build(ClusterRankOp.OPERATION_NAME, [], [_I32()]).result
        if kernel.ctas > parts:
            rank = _binary("arith.andi", rank, _constant(parts - 1))
        start = _binary("arith.addi", load.coordinates[coordinate], _binary("arith.muli", rank, _constant(step)))
    operation.operands[1 + coordinate] = start
    if box != list(load.map.owner.box):
        operation.operands[0] = with_box(load.map.owner.operation, box)


def with_box(made: ir.Operation, box: list[int]) -> ir.Value:
    """A map of the same tensor with another box."""
    copy = made.clone(ir.InsertionPoint.after(made))
    copy.operation.attributes["box"] = ir.DenseI32ArrayAttr.get(box)
    return copy.operation.results[0]


def _I32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def _constant(value: int) -> ir.Value:
    return ir.Operation.create(
        "arith.constant", [_I32()], attributes={"value": ir.IntegerAttr.get(_I32(), value)}
    ).result


def _binary(name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return ir.Operation.create(name, [_I32()], [lhs, rhs]).result
