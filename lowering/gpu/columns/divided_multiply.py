"""Operands that threads compute for multiplies in tensor memory are computed, stored and multiplied in parts.

before:   %e = exp2 %s;  %h = truncf %e;  store %h, %slot;  put;  get;  tcgen05_mma %slot, %v into %o
after:    %e0 = exp2 (extract %s[0, 0]);  %h0 = truncf %e0;  store %h0, %slot from 0 pending;  ..;  put first;  ..;  put
          get first;  tcgen05_mma %slot, %v from 0 depth 80 into %o
          get;  tcgen05_mma %slot, %v from 80 depth 48 into %o

The registers of a part are free before those of the next one are used. The first part of the multiply runs while
threads compute the rest of the operand: it has so many columns that it ends when the rest is there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import GetOp, MakeChannelOp, PutCommitOp, ReleaseOp, SlotOp
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.matrix import Tcgen05MmaOp
from tilec.dialect.tile_gpu.memory import StoreTensorMemoryOp
from tilec.dialect.tile_gpu.shape import CatOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.columns.column_parts import (
    WARPS,
    has_column_parts,
    owner,
    part_of,
    part_type,
    repeats_columns,
)
from tilec.lowering.gpu.cost.operation_work import VisitedTiles, multiply_of, work_of
from tilec.lowering.gpu.ir.compute_roles import compute_role, set_compute_role
from tilec.lowering.gpu.ir.hand_over import give, take
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.matrix_unit import STEP_BYTES
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import Step, unit_cycles
from tilec.lowering.model.tensor_pipe import pipe_use

# With 32 columns in each part of exponentials, ptxas 13.5 spills a register of attention of 256 rows, with 16 none.
PART_COLUMNS = 16
_STORE, _SLOT, _CHANNEL = StoreTensorMemoryOp.OPERATION_NAME, SlotOp.OPERATION_NAME, MakeChannelOp.OPERATION_NAME
_COMMIT, _GET, _RELEASE = PutCommitOp.OPERATION_NAME, GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_MULTIPLY = Tcgen05MmaOp.OPERATION_NAME
# The number of the operand of a multiply that says whether the accumulator counts.
_ACCUMULATE = 3


def divide_operands(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run after its channels are made, before it is split into roles."""
    if kernel.warps != WARPS:
        return
    operations = operations_inside(kernel)
    stores = [op for op in operations if op.name == _STORE and has_column_parts(op, PART_COLUMNS)]
    for store in [op for op in stores if _is_converted(op)]:
        use = _use(store)
        if use is None:
            # What threads compute in front of the wait for a slot stays there.
            _divide_store(store, [store.operands[0].owner.operation])
            continue
        arithmetic = _arithmetic(store)
        ahead = _columns_ahead(arithmetic, use.multiply, device_of(context.target.name))
        first = _divide_multiply(use, ahead) if ahead else None
        _divide_store(store, arithmetic, ahead, first)


# ---- what threads compute and store


def _is_converted(store: ir.Operation) -> bool:
    """Whether a store is the only use of a tile that is converted from one of the same layout."""
    value = store.operands[0]
    op = owner(value)
    if op is None or op.name != "arith.truncf" or len(list(value.uses)) != 1:
        return False
    return op.block == store.block and op.operands[0].type.encoding == value.type.encoding


def _arithmetic(store: ir.Operation) -> list[ir.Operation]:
    """The arithmetic behind the stored tile, in program order, as far as nothing in front of the store needs it."""
    found: list[ir.Operation] = []
    layout = store.operands[0].type.encoding
    for op in reversed(list(itertools.takewhile(lambda op: op != store, _operations(store.block)))):
        users = [use.owner.operation for result in op.results for use in result.uses]
        if not any(user == store or user in found for user in users) or not _has_parts(op, layout):
            continue
        if all(user in found or user.block == store.block and not user.is_before_in_block(store) for user in users):
            found.append(op)
    return found[::-1]


def _has_parts(op: ir.Operation, layout: ir.Attribute) -> bool:
    """Whether each part of the columns of a result needs the same part of the operands, or equal columns."""
    if not interface_of(op.name).is_elementwise or len(op.results) != 1 or op.name == "arith.constant":
        return False
    tiles = [op.results[0], *(value for value in op.operands if not repeats_columns(value))]
    return all(isinstance(tile.type, ir.RankedTensorType) and tile.type.encoding == layout for tile in tiles)


def _divide_store(
    store: ir.Operation, arithmetic: Sequence[ir.Operation], ahead: int = 0, first: ir.Value | None = None
) -> None:
    """Computes and stores parts; `first` is the channel that gives the columns `ahead` of the others."""
    columns, role = store.operands[1].type.shape[1], compute_role(store)
    parts: dict[ir.Operation, list[ir.Value]] = {op: [] for op in arithmetic}
    with store.location, ir.InsertionPoint(store):
        for end in range(PART_COLUMNS, columns + PART_COLUMNS, PART_COLUMNS):
            _store_part(store, arithmetic, parts, pending=end not in (ahead, columns))
            if end == ahead and first is not None:
                for step in give(first):
                    set_compute_role(step, role)
        for op in arithmetic:
            inside = [*arithmetic, store]
            others = [use for use in op.results[0].uses if use.owner.operation not in inside]
            whole = _joined(parts[op], store.operands[1].type, op.results[0].type, role) if others else None
            for use in others:
                use.owner.operation.operands[use.operand_number] = whole
    for op in (store, *reversed(arithmetic)):
        op.erase()


def _joined(parts: Sequence[ir.Value], buffer: BufferType, whole: ir.RankedTensorType, role: str) -> ir.Value:
    """The tile of all parts, a power of two of them, at the insertion point."""
    while len(parts) > 1:
        columns = 2 * parts[0].type.shape[1]
        type = whole if len(parts) == 2 else part_type(buffer, whole, columns)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        made = [emitter.gpu(CatOp, pair, [type], dimension=1).operation for pair in pairs]
        for op in made:
            set_compute_role(op, role)
        parts = [op.results[0] for op in made]
    return parts[0]


def _store_part(
    store: ir.Operation, arithmetic: Sequence[ir.Operation], parts: dict[ir.Operation, list[ir.Value]], pending: bool
) -> None:
    """Computes and stores the next part at the insertion point, and adds its values to `parts`."""
    buffer, role = store.operands[1], compute_role(store)
    number = len(parts[arithmetic[-1]])
    for op in arithmetic:
        operands = []
        for value in op.operands:
            type = part_type(buffer.type, value.type, PART_COLUMNS)
            made = parts.get(owner(value))
            operands.append(part_of(value, type, number, role) if made is None else made[number])
        attributes = {name: op.attributes[name] for name in op.attributes}
        type = part_type(buffer.type, op.results[0].type, PART_COLUMNS)
        made = ir.Operation.create(op.name, [type], operands, attributes)
        set_compute_role(made, role)
        parts[op].append(made.results[0])
    stored = parts[arithmetic[-1]][number]
    first = number * PART_COLUMNS
    made = emitter.gpu(StoreTensorMemoryOp, [stored, buffer], [], first_column=first, pending=pending)
    set_compute_role(made.operation, role)


# ---- the multiply


@dataclass(frozen=True)
class _Use:
    """The multiply that reads a stored operand, and the steps by which it gets the operand."""

    channel: ir.Value
    get: ir.Operation
    release: ir.Operation
    multiply: ir.Operation


def _use(store: ir.Operation) -> _Use | None:
    """The only use of an operand that threads hand over in this place, in the same block; None for another use."""
    slot = owner(store.operands[1])
    if slot is None or slot.name != _SLOT or slot.operands[0].owner.opview.shares is None:
        return None
    channel = slot.operands[0]
    behind = list(itertools.dropwhile(lambda op: op != store, _operations(store.block)))
    steps = [op for op in behind if op.name in (_COMMIT, _GET, _RELEASE) and op.operands[0] == channel]
    multiplies = [op for op in behind if op.name == _MULTIPLY and _is_slot(op.opview.lhs, channel)]
    if [op.name for op in steps] != [_COMMIT, _GET, _RELEASE] or len(multiplies) != 1:
        return None
    (multiply,) = multiplies
    is_whole = multiply.opview.depth is None and not multiply.opview.pair
    _, get, release = steps
    return _Use(channel, get, release, multiply) if is_whole and release.is_before_in_block(multiply) else None


def _is_slot(value: ir.Value, channel: ir.Value) -> bool:
    op = owner(value)
    return op is not None and op.name == _SLOT and op.operands[0] == channel


def _columns_ahead(arithmetic: Sequence[ir.Operation], multiply: ir.Operation, device: Device) -> int:
    """The columns whose multiply ends when threads have computed the others; 0 if there are too few."""
    known, work = VisitedTiles(), Step()
    for op in arithmetic:
        work += work_of(op.opview, WARPS, device, known)
    computed = max(unit_cycles(work, device).values())
    whole = multiply_of(multiply.opview)
    assert whole is not None
    multiplied = pipe_use(whole, device).cycles
    unit = max(PART_COLUMNS, STEP_BYTES * 8 // whole.element_bits)
    return int(whole.depth * computed / (computed + multiplied)) // unit * unit


def _divide_multiply(use: _Use, ahead: int) -> ir.Value:
    """Multiplies so many columns before the others; returns the channel that gives them."""
    made = use.channel.owner.operation
    shares = made.opview.shares
    with made.location, ir.InsertionPoint.after(made):
        attributes = {name: made.attributes[name] for name in ("stages", "producer", "consumers", "reuse")}
        first = build(_CHANNEL, [shares], [use.channel.type], attributes).results[0]
    multiply, depth = use.multiply, use.multiply.opview.lhs.type.shape[1]
    with use.get.location, ir.InsertionPoint(use.get):
        take(first)
    with multiply.location, ir.InsertionPoint(multiply):
        earlier = multiply.clone()
        _set_part(earlier, 0, ahead)
        use.get.move_before(multiply)
        use.release.move_before(multiply)
        multiply.operands[_ACCUMULATE] = emitter.boolean(True)
        _set_part(multiply, ahead, depth - ahead)
    return first


def _set_part(multiply: ir.Operation, first: int, depth: int) -> None:
    multiply.attributes["first"], multiply.attributes["depth"] = _i32(first), _i32(depth)


def _i32(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def _operations(block: ir.Block) -> list[ir.Operation]:
    return [op.operation for op in block.operations]
