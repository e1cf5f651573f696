"""Gives 64 rows of accumulators of pairs the lanes that tcgen05.mma of M = 128 with cta_group::2 writes.

    %x = load_tensor_memory %d : buffer<64x256xf32, tensor, lanes=64>;  %y = convert_layout %x
    ->  %y = load_tensor_memory %d : buffer<64x256xf32, tensor, lanes=128 halves>

The second half of the columns is in the upper 64 lanes (PTX ISA 9.7.16.10.5, layout B). Where a tile is used in the
register layout of `lanes=64`, it is converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp
from tilec.dialect.tile_gpu.types import HALVES, TENSOR, BufferType, ChannelType
from tilec.dialect.walk import owner_of, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import SLOT_STEPS
from tilec.lowering.gpu.memory.shared_plan import tensor_layout

NARROW_ROWS = 64
_LOAD, _STORE = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME
_CONVERT = ConvertLayoutOp.OPERATION_NAME


def is_narrow(buffer: BufferType) -> bool:
    """Whether a buffer has 64 rows of an accumulator."""
    return buffer.memory == TENSOR and buffer.shape[0] == NARROW_ROWS and not buffer.is_packed


def movable_accesses(channels: Iterable[MakeChannelOp]) -> bool:
    """Whether threads access 64 rows of accumulators only as a whole, so that these may have other lanes."""
    users = [user for buffer in _narrow_buffers(channels) for user in users_of(buffer)]
    accesses = [op for op in users if op.name in (_LOAD, _STORE)]
    others = {op.name for op in users if op not in accesses}
    return others <= {Tcgen05MmaOp.OPERATION_NAME} and all(op.opview.first_column is None for op in accesses)


def move_narrow_accumulators(kernel: KernelOp, channels: Iterable[MakeChannelOp]) -> None:
    """Changes the types of channels, buffers and register tiles; `movable_accesses` must be true of the channels."""
    for buffer in list(_narrow_buffers(channels)):
        buffer.set_type(_in_halves(buffer.type))
        for op in users_of(buffer):
            if op.name == _LOAD:
                _move_load(op, kernel.warps)
            elif op.name == _STORE:
                _move_store(op, kernel.warps)
    for channel in channels:
        result = channel.channel
        result.set_type(ChannelType.get([_in_halves(each) for each in result.type.buffers]))


def _narrow_buffers(channels: Iterable[MakeChannelOp]) -> Iterator[ir.Value]:
    steps = (user for op in channels for user in users_of(op.channel) if user.name in SLOT_STEPS)
    return (buffer for step in steps for buffer in step.results if is_narrow(buffer.type))


def _in_halves(buffer: BufferType) -> BufferType:
    return BufferType.get(buffer.shape, buffer.element, TENSOR, HALVES) if is_narrow(buffer) else buffer


def _move_load(load: ir.Operation, warps: int) -> None:
    result = load.results[0]
    before, users = result.type, users_of(result)
    result.set_type(emitter.with_encoding(before, tensor_layout(load.operands[0].type).registers(warps)))
    for op in users:
        if op.name == _CONVERT and op.results[0].type == result.type:
            op.results[0].replace_all_uses_with(result)
            op.erase()
        else:
            _convert_operand(op, result, before, after=load)


def _convert_operand(op: ir.Operation, tile: ir.Value, type: ir.Type, after: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        converted = build(_CONVERT, [tile], [type])
    set_compute_role(converted.operation, compute_role(after))
    for number, operand in enumerate(op.operands):
        if operand == tile:
            op.operands[number] = converted.result


def _move_store(store: ir.Operation, warps: int) -> None:
    value, buffer = store.operands
    type = emitter.with_encoding(value.type, tensor_layout(buffer.type).registers(warps))
    converted = owner_of(value)
    if converted is not None and converted.name == _CONVERT and converted.operands[0].type == type:
        store.operands[0] = converted.operands[0]
        if not list(converted.results[0].uses):
            converted.erase()
        return
    _convert_operand(store, value, type, after=store)
