"""Threads update accumulators in tensor memory by parts of the columns, so that a part needs few registers.

before:   %o = load %slot;  %n = mulf %o, %a;  store %n, %slot
after:    %o0 = load %slot from 0;  %n0 = mulf %o0, %a0;  store %n0, %slot from 0 pending;  ..
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.columns.column_parts import WARPS, has_column_parts, part_of, part_type, repeats_columns
from tilec.lowering.gpu.ir.compute_roles import compute_role, set_compute_role
from tilec.lowering.gpu.ir.handed_place import handed_place, is_place, use_place
from tilec.lowering.gpu.kernel_pass import Context

# The columns of a part: its registers are free again before those of the next part are used.
PART_COLUMNS = 32
_LOAD, _STORE = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME


def divide_updates(kernel: KernelOp, _context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run after its channels are made, before it is split into roles."""
    if kernel.warps != WARPS:
        return
    operations = operations_inside(kernel)
    loads = [op for op in operations if op.name == _LOAD and has_column_parts(op, PART_COLUMNS)]
    for update in [update for op in loads if (update := _update(op)) is not None]:
        _divide_update(update)


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
        if not interface_of(user.name).is_elementwise or len(user.results) != 1:
            return None
        if not all(other == value or repeats_columns(other) for other in user.operands):
            return None
        arithmetic.append(user)
        value = user.results[0]


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
        for first in range(0, columns, PART_COLUMNS):
            _update_part(update, first, pending=first + PART_COLUMNS < columns)
    for op in (update.store, *reversed(update.arithmetic), update.load):
        op.erase()


def _update_part(update: _Update, first: int, pending: bool) -> None:
    """Loads, computes and stores the columns of a part, at the insertion point."""
    load, role = update.load, compute_role(update.load)
    buffer = load.operands[0]
    part = part_type(buffer.type, load.results[0].type, PART_COLUMNS)
    made = emitter.gpu(LoadTensorMemoryOp, [buffer], [part], first_column=first)
    values = {load.results[0]: made.results[0]}
    added = [made]
    for op in update.arithmetic:
        operands = [values[value] if value in values else _repeated(value, buffer, role) for value in op.operands]
        attributes = {name: op.attributes[name] for name in op.attributes}
        type = part_type(buffer.type, op.results[0].type, PART_COLUMNS)
        added.append(ir.Operation.create(op.name, [type], operands, attributes))
        values[op.results[0]] = added[-1].results[0]
    stored = values[update.store.operands[0]]
    added.append(emitter.gpu(StoreTensorMemoryOp, [stored, buffer], [], first_column=first, pending=pending))
    for op in added:
        set_compute_role(op.operation, role)


def _repeated(value: ir.Value, buffer: ir.Value, role: str) -> ir.Value:
    """The columns of a part of a tile whose columns are all equal."""
    return part_of(value, part_type(buffer.type, value.type, PART_COLUMNS), 0, role)


def _operations(block: ir.Block) -> Sequence[ir.Operation]:
    return [op.operation for op in block.operations]
