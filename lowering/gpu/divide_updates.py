"""Threads access columns of a tile in tensor memory in parts, so that a part needs few registers.

An accumulator that they update:   %o = load %slot;  %n = mulf %o, %a;  store %n, %slot
in parts:                          %o0 = load %slot from 0;  %n0 = mulf %o0, %a0;  store %n0, %slot from 0 pending;  ..

A tile that they convert:          %h = truncf %p;  store %h, %slot
in parts:                          %h0 = truncf (extract %p[0, 0]);  store %h0, %slot from 0 pending;  ..
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.compute_roles import compute_role, set_compute_role
from tilec.lowering.gpu.handed_place import handed_place, is_place, use_place
from tilec.lowering.gpu.shared_plan import tensor_layout
from tilec.lowering.tile_to_gpu import emitter

# The columns of a part: its registers are free again before those of the next part are used. With 32 columns in each
# part of exponentials, ptxas 13.5 spills a register of attention of 256 rows, with 16 none.
UPDATED_COLUMNS = 32
CONVERTED_COLUMNS = 16
# Each of four warps accesses lanes of its own, and a thread all columns of its rows.
_WARPS, _LANES = 4, 128
_LOAD, _STORE = "tile_gpu.load_tensor_memory", "tile_gpu.store_tensor_memory"
_ELEMENTWISE = ("arith.", "math.", "tile_gpu.math")


def divide_updates(kernel: KernelOp) -> None:
    """Rewrites a tile_gpu.kernel in place; run after its channels are made, before it is split into roles."""
    if kernel.warps != _WARPS:
        return
    operations = [op.operation for op in operations_below(kernel)]
    loads = [op for op in operations if op.name == _LOAD and _has_parts(op, UPDATED_COLUMNS)]
    updates = [update for op in loads if (update := _update(op)) is not None]
    updated = [update.store for update in updates]
    others = [op for op in operations if op.name == _STORE and op not in updated]
    stores = [op for op in others if _has_parts(op, CONVERTED_COLUMNS) and _is_converted(op)]
    for update in updates:
        _divide_update(update)
    for store in stores:
        _divide_store(store)


def _has_parts(access: ir.Operation, part: int) -> bool:
    """Whether an operation accesses all columns of a tile, and those are several parts."""
    buffer = access.operands[len(access.operands) - 1].type
    columns = buffer.shape[1]
    if access.opview.first_column is not None or tensor_layout(buffer).lanes != _LANES:
        return False
    return columns > part and columns % part == 0


# ---- accumulators that are updated


@dataclass(frozen=True)
class _Update:
    """A load of an accumulator, the arithmetic on its elements, and the store of the result in its place."""

    load: ir.Operation
    arithmetic: list[ir.Operation]
    store: ir.Operation


def _update(load: ir.Operation) -> _Update | None:
    """The update that begins with a load; None if its elements have other uses."""
    arithmetic, value = list[ir.Operation](), load.results[0]
    while True:
        users = [use.owner.operation for use in value.uses]
        if len(users) != 1 or users[0].block != load.block:
            return None
        (user,) = users
        if user.name == _STORE:
            found = _Update(load, arithmetic, user)
            return found if arithmetic and _stays_in_place(found) else None
        if not user.name.startswith(_ELEMENTWISE) or len(user.results) != 1:
            return None
        if not all(other == value or _repeats_columns(other) for other in user.operands):
            return None
        arithmetic.append(user)
        value = user.results[0]


def _repeats_columns(value: ir.Value) -> bool:
    """Whether all columns of a tile are equal: one column that is repeated, or a constant."""
    op = _owner(value)
    if op is not None and op.name == "tile_gpu.broadcast":
        return op.operands[0].type.shape[1] == 1
    return op is not None and op.name == "arith.constant" and ir.DenseElementsAttr(op.attributes["value"]).is_splat


def _stays_in_place(update: _Update) -> bool:
    """Whether the store has the place of the load, which nothing accesses or gives away in between.

    Elements of another type have other columns: their parts do not take the place of those that are loaded.
    """
    if update.store.operands[1].type != update.load.operands[0].type:
        return False
    behind = itertools.dropwhile(lambda op: op != update.load, _operations(update.load.block))
    between = list(itertools.takewhile(lambda op: op != update.store, behind))[1:]
    place = handed_place(update.load.operands[0])
    buffer = update.store.operands[1]
    if place is None or not is_place(buffer, place) or buffer.type != update.load.operands[0].type:
        return False
    return not use_place(between, place)


def _divide_update(update: _Update) -> None:
    columns = update.load.operands[0].type.shape[1]
    with update.load.location, ir.InsertionPoint(update.store):
        for first in range(0, columns, UPDATED_COLUMNS):
            _update_part(update, first, pending=first + UPDATED_COLUMNS < columns)
    for op in (update.store, *reversed(update.arithmetic), update.load):
        op.erase()


def _update_part(update: _Update, first: int, pending: bool) -> None:
    """Loads, computes and stores the columns of a part, at the insertion point."""
    load, role = update.load, compute_role(update.load)
    buffer = load.operands[0]
    part = _part_type(buffer.type, load.results[0].type, UPDATED_COLUMNS)
    made = emitter.gpu("load_tensor_memory", [buffer], [part], first_column=first)
    values = {load.results[0]: made.results[0]}
    added = [made]
    for op in update.arithmetic:
        operands = [values[value] if value in values else _repeated(value, buffer.type, role) for value in op.operands]
        attributes = {name: op.attributes[name] for name in op.attributes}
        type = _part_type(buffer.type, op.results[0].type, UPDATED_COLUMNS)
        added.append(ir.Operation.create(op.name, [type], operands, attributes))
        values[op.results[0]] = added[-1].results[0]
    stored = values[update.store.operands[0]]
    added.append(emitter.gpu("store_tensor_memory", [stored, buffer], [], first_column=first, pending=pending))
    for op in added:
        set_compute_role(op.operation, role)


def _repeated(value: ir.Value, buffer: BufferType, role: str) -> ir.Value:
    """The columns of a part of a tile whose columns are all equal."""
    type = _part_type(buffer, value.type, UPDATED_COLUMNS)
    op = _owner(value)
    if op is not None and op.name == "arith.constant":
        made = emitter.constant_tile(type, ir.DenseElementsAttr(op.attributes["value"])).owner.operation
    else:
        # The first part stands for all.
        first = emitter.i32(0)
        made = emitter.gpu("extract", [value, [first, first]], [type]).operation
    set_compute_role(made, role)
    return made.results[0]


# ---- tiles that are converted


def _is_converted(store: ir.Operation) -> bool:
    """Whether a store is the only use of a tile that is converted from one of the same layout."""
    value = store.operands[0]
    op = _owner(value)
    if op is None or op.name != "arith.truncf" or len(list(value.uses)) != 1:
        return False
    return op.block == store.block and op.operands[0].type.encoding == value.type.encoding


def _divide_store(store: ir.Operation) -> None:
    value, buffer = store.operands
    converted = value.owner.operation
    source, columns = converted.operands[0], buffer.type.shape[1]
    wide, narrow = (_part_type(buffer.type, each.type, CONVERTED_COLUMNS) for each in (source, value))
    attributes = {name: converted.attributes[name] for name in converted.attributes}
    with store.location, ir.InsertionPoint(store):
        row = emitter.i32(0)
        for first in range(0, columns, CONVERTED_COLUMNS):
            extracted = emitter.gpu("extract", [source, [row, emitter.i32(first // CONVERTED_COLUMNS)]], [wide])
            part = ir.Operation.create("arith.truncf", [narrow], [extracted.results[0]], attributes)
            pending = first + CONVERTED_COLUMNS < columns
            operands = [part.results[0], buffer]
            stored = emitter.gpu("store_tensor_memory", operands, [], first_column=first, pending=pending)
            for op in (extracted, part, stored):
                set_compute_role(op.operation, compute_role(store))
    store.erase()
    converted.erase()


def _part_type(buffer: BufferType, tile: ir.RankedTensorType, columns: int) -> ir.Type:
    """The type of so many columns of a tile in a buffer of tensor memory."""
    shape = (tile.shape[0], columns)
    layout = replace(tensor_layout(buffer), shape=shape).registers(_WARPS)
    return emitter.tile_type(shape, tile.element_type, layout)


def _owner(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _operations(block: ir.Block) -> Sequence[ir.Operation]:
    return [op.operation for op in block.operations]
