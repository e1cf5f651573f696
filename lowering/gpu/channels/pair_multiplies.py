"""The multiplies of pairs of CTAs: each CTA loads half of the columns of rhs, and one multiply reads both halves.

tma_load %b[%n, %k] -> 64x256;  tcgen05_mma %a, %b into %d : 128x64, 64x256 -> 128x256
->  tma_load %b[%n + rank * 128, %k] -> 64x128;  tcgen05_mma pair %a, %b into %d : 128x64, 64x128 -> 128x256
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix_rules import WORDS_OF_PAIR
from tilec.dialect.tile_gpu.operations.channel import MMA, PAIR, THREADS, TMA, MakeChannelOp, channel_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp, Tcgen05MmaSparseOp
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05CopyScalesOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType, ChannelType
from tilec.dialect.walk import operations_named, users_of
from tilec.lowering.gpu.channels.narrow_accumulators import NARROW_ROWS, movable_accesses, move_narrow_accumulators
from tilec.lowering.gpu.channels.parts_of_loads import load_part, loads_alike, loads_into, part_box
from tilec.lowering.gpu.ir.equal_values import EqualValues
from tilec.lowering.gpu.ir.slots import GET, PUT, VIEW, step_of_buffer, without_views
from tilec.lowering.gpu.memory.shared_plan import CTAS_OF_A_PAIR, shared_layout
from tilec.lowering.layout.scale_layout import is_scale_layout
from tilec.lowering.target import TENSOR_LANES

# PTX ISA 9.7.16.2.1, table 39: the shapes of all kinds of pairs.
_COLUMN_STEP, _MAXIMUM_COLUMNS = 32, 256
# The bytes of a row, by the swizzles of 16-byte atoms (PTX ISA 5.5.7).
_SPANS = {32: "32B", 64: "64B", 128: "128B"}
_JOINED_BY_PAIRS = ((TMA, [MMA]), (THREADS, [MMA]), (MMA, [THREADS]))


class NotPairsError(Exception):
    """Why the multiplies of a kernel are not those of pairs."""


@dataclass(frozen=True)
class _Half:
    """A buffer of a channel of which each CTA of a pair gets half of the columns of rhs, along a dimension.

    `swizzle` is that of rows of half of the columns, if the swizzle of the buffer spans more.
    """

    channel: MakeChannelOp
    number: int
    dimension: int
    swizzle: str | None = None


def make_pairs(
    kernel: KernelOp, multiplies: list[ir.OpView], channels: list[MakeChannelOp], equal: EqualValues
) -> None:
    """Makes the multiplies of a kernel those of pairs; raises NotPairsError before anything is changed."""
    halves = _halves(multiplies, channels, equal)
    for half in halves:
        columns = half.channel.channel.type.buffers[half.number].shape[half.dimension]
        for load in loads_into(half.channel, half.number):
            box, coordinate = _divided_box(load, half)
            load_part(kernel, load, box, coordinate, columns // CTAS_OF_A_PAIR, CTAS_OF_A_PAIR)
            if half.swizzle is not None:
                # The map has another box than before, so that no other load uses it.
                load.map.owner.operation.attributes["swizzle"] = ir.StringAttr.get(half.swizzle)
        _halve_buffers(half)
    _multicast_factors(kernel, channels, equal)
    move_narrow_accumulators(kernel, channels)
    for op in (*multiplies, *operations_named(kernel, (Tcgen05CopyScalesOp.OPERATION_NAME,))):
        op.operation.attributes["pair"] = ir.UnitAttr.get()
    for channel in channels:
        if MMA in (channel.producer, *channel.consumer_names):
            channel.operation.attributes["across"] = ir.StringAttr.get(PAIR)


def _multicast_factors(kernel: KernelOp, channels: list[MakeChannelOp], equal: EqualValues) -> None:
    """Each CTA of a pair loads half of the scale factors that both have, those of rhs."""
    for channel in channels:
        if channel.producer != TMA or not is_scale_layout(channel.channel.type.buffers[0].layout):
            continue
        loads = loads_into(channel, 0)
        parts = [part_box(load, CTAS_OF_A_PAIR) if loads_alike(load, equal) else None for load in loads]
        for load, part in zip(loads, parts, strict=True):
            if part is not None and None not in parts:
                box, coordinate, rows = part
                load_part(kernel, load, box, coordinate, rows, CTAS_OF_A_PAIR)
                load.operation.attributes["multicast"] = ir.UnitAttr.get()


def _halves(multiplies: list[ir.OpView], channels: list[MakeChannelOp], equal: EqualValues) -> list[_Half]:
    """The buffers that a pair divides; raises NotPairsError."""
    for channel in channels:
        if MMA in (channel.producer, *channel.consumer_names):
            if (channel.producer, channel.consumer_names) not in _JOINED_BY_PAIRS:
                raise NotPairsError("threads read an operand of a multiply as well")
            if not all(map(equal.runs_alike, users_of(channel.channel))):
                raise NotPairsError("a loop or a branch around a multiply may differ between the blocks")
    found: list[_Half] = []
    for op in multiplies:
        if isinstance(op, Tcgen05MmaSparseOp):
            raise NotPairsError("pairs multiply no sparse operands")
        if op.accumulator.type.is_transposed:
            raise NotPairsError("filters are the first operand, which is multiplied in each block")
        rows, columns = op.accumulator.type.shape
        may_be_narrow = isinstance(op, Tcgen05MmaOp) and op.lhs.type.memory == SHARED
        has_rows = rows % TENSOR_LANES == 0 or rows == NARROW_ROWS and may_be_narrow
        if op.pair or not has_rows or columns % _COLUMN_STEP or columns > _MAXIMUM_COLUMNS:
            raise NotPairsError(f"a pair needs 64 or 128 rows per block and 32 to 256 columns, got {rows}x{columns}")
        if _is_copied(op.lhs):
            raise NotPairsError("the rows of a left operand move in tensor memory, which is done in each block")
        words = len(op.skipped) if isinstance(op, Tcgen05MmaOp) else 0
        if words and (words != WORDS_OF_PAIR or rows != TENSOR_LANES):
            expected = f"{WORDS_OF_PAIR} words for {TENSOR_LANES} rows per block"
            raise NotPairsError(f"rows are skipped, which a pair does by {expected}, got {words} for {rows}")
        half = _half_of(op, channels, equal)
        if half not in found:
            found.append(half)
    divided = [(half.channel, half.number) for half in found]
    if len(set(divided)) < len(divided):
        raise NotPairsError("two multiplies read different halves of one right operand")
    if not movable_accesses(channels):
        raise NotPairsError("threads read columns of 64 rows of an accumulator")
    buffers = (_buffer_of(op.lhs) for op in multiplies)
    if any(channel is not None and (channel, number) in divided for channel, number in buffers):
        raise NotPairsError("a right operand is the left one of another multiply")
    return found


def _is_copied(lhs: ir.Value) -> bool:
    """Whether an operand is copied from shared to tensor memory."""
    channel, _ = _buffer_of(lhs)
    return lhs.type.memory == TENSOR and channel is not None and channel.producer == TMA


def _half_of(op: ir.OpView, channels: list[MakeChannelOp], equal: EqualValues) -> _Half:
    channel, number = _buffer_of(op.rhs)
    if channel not in channels or channel.producer != TMA:
        raise NotPairsError("the right operand is not loaded by TMA")
    held = without_views(op.rhs).type
    half = _Half(channel, number, _dimension_of_columns(op.rhs.type, held), _narrower_swizzle(op.rhs.type, held))
    for load in loads_into(channel, half.number):
        if not loads_alike(load, equal):
            raise NotPairsError("the blocks may load different right operands")
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
        is_narrow = columns // CTAS_OF_A_PAIR < shared_layout(held).panel_elements
        if is_narrow and _narrower_swizzle(rhs, held) is None:
            raise NotPairsError(f"half of {columns} columns of the right operand is less than a row of its swizzle")
        return contiguous
    others = [d for d, extent in enumerate(held.shape) if d != contiguous and extent > 1]
    if len(others) != 1 or held.shape[others[0]] != columns:
        raise NotPairsError("the columns of the right operand have several dimensions")
    return others[0]


def _narrower_swizzle(rhs: BufferType, held: BufferType) -> str | None:
    """The swizzle whose span is half of the columns, where they are contiguous and that of the buffer spans more."""
    layout, half = shared_layout(held), rhs.shape[1] // CTAS_OF_A_PAIR
    if shared_layout(rhs).contiguous != 1 or layout.swizzle not in _SPANS.values() or half >= layout.panel_elements:
        return None
    return _SPANS.get(half * layout.element_bytes)


def _divided_box(load: TmaLoadOp, half: _Half) -> tuple[list[int], int]:
    """The box of half of the columns, and the coordinate along them; raises NotPairsError."""
    box, columns = list(load.map.owner.box), load.buffer.type.shape[half.dimension]
    if half.dimension == shared_layout(load.buffer.type).contiguous:
        if half.swizzle is not None:
            box[0] = columns // CTAS_OF_A_PAIR
        return box, 0
    wide = [number for number in range(1, len(box)) if box[number] > 1]
    if len(wide) != 1 or box[wide[0]] != columns:
        raise NotPairsError("the columns of the right operand have several dimensions")
    box[wide[0]] //= CTAS_OF_A_PAIR
    return box, wide[0]


def _halve_buffers(half: _Half) -> None:
    """Changes the types of a channel, of its buffers and of their views."""
    channel, buffers = half.channel.channel, half.channel.channel.type.buffers
    buffers[half.number] = _half_type(buffers[half.number], half.dimension, half.swizzle)
    channel.set_type(ChannelType.get(buffers))
    for user in users_of(channel):
        if user.name in (PUT, GET):
            _halve(user.results[half.number], half.dimension, half.swizzle)


def _halve(buffer: ir.Value, dimension: int, swizzle: str | None) -> None:
    """Changes the types of a buffer and of its views."""
    buffer.set_type(_half_type(buffer.type, dimension, swizzle))
    for op in users_of(buffer):
        if op.name == VIEW:
            _halve(op.results[0], _dimension_in_view(buffer.type, dimension, op.results[0].type), swizzle)


def _dimension_in_view(source: BufferType, dimension: int, view: BufferType) -> int:
    contiguous = shared_layout(view).contiguous
    if dimension == shared_layout(source).contiguous:
        return contiguous
    return next(d for d, extent in enumerate(view.shape) if d != contiguous and extent > 1)


def _half_type(buffer: BufferType, dimension: int, swizzle: str | None) -> BufferType:
    shape = [extent // CTAS_OF_A_PAIR if d == dimension else extent for d, extent in enumerate(buffer.shape)]
    layout = buffer.layout if swizzle is None else str(replace(shared_layout(buffer), swizzle=swizzle))
    return BufferType.get(shape, buffer.element, buffer.memory, layout)
