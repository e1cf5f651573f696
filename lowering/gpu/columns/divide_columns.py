"""Accumulators and operands in tensor memory are read, computed and stored in parts of their columns.

loads:    %x = load %s;  extract %x[0, 0] ..                  ->  load %s from 0 ..  where the columns are used
updates:  %o = load %s;  %n = mulf %o, %a;  store %n, %s      ->  load %s from 0;  mulf;  store from 0 pending;  ..
operands: %e = exp2 %x;  %h = truncf %e;  store %h, %s;  put  ->  extract %x[0, 0];  exp2;  truncf;  store from 0 ..

The registers of a part are free before those of the next one are used. The multiply of an operand over an accumulator
has two parts. The first one waits for its own columns alone, and ends about when threads have computed the other
columns of the operand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import GetOp, PutCommitOp, ReleaseOp, SlotOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.walk import operations_in, operations_inside, owner_of, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.columns.column_parts import (
    WARPS,
    has_column_parts,
    has_parts,
    joined,
    part_of,
    part_type,
    repeats_columns,
)
from tilec.lowering.gpu.columns.divided_loads import divide_loads
from tilec.lowering.gpu.columns.early_waits import wait_early
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.operation_work import multiply_of, work_of
from tilec.lowering.gpu.ir.build_channels import channel_like, give, take
from tilec.lowering.gpu.ir.enclosing import operations_after
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import handed_place, is_place, use_place
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.matrix_unit import STEP_BYTES
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import Step, pipe_use, unit_cycles

_SLOT = SlotOp.OPERATION_NAME
_COMMIT, _GET, _RELEASE = PutCommitOp.OPERATION_NAME, GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_MULTIPLY = Tcgen05MmaOp.OPERATION_NAME
# The number of the operand of a multiply that says whether the accumulator counts.
_ACCUMULATE = 3
_UPDATE_COLUMNS = 32
# With 32 columns in each part of exponentials, ptxas 13.5 spills a register of attention of 256 rows, with 16 none.
_OPERAND_COLUMNS = 16
_LOAD, _STORE = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME


@dataclass
class _Stored:
    """A tile that is computed and stored in parts.

    Attributes:
        arithmetic: the operations that compute it, in program order.
        store: the operation that stores it.
        columns: the columns of a part.
        load: the load of the tile that an update changes; operands are computed from tiles in registers.
        parts: the parts of the results so far.
    """

    arithmetic: Sequence[ir.Operation]
    store: ir.Operation
    columns: int
    load: ir.Operation | None = None
    parts: dict[ir.Operation, list[ir.Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.role = compute_role(self.store if self.load is None else self.load)
        self.divided = [*([] if self.load is None else [self.load]), *self.arithmetic]
        self.parts = {op: [] for op in self.divided}

    @property
    def buffer(self) -> ir.Value:
        """The place of the parts."""
        return self.store.operands[1] if self.load is None else self.load.operands[0]

    @property
    def location(self) -> ir.Location:
        return (self.store if self.load is None else self.load).location

    @property
    def ends(self) -> range:
        """The numbers of the columns after each part."""
        width = self.buffer.type.shape[1]
        return range(self.columns, width + self.columns, self.columns)


def divide_columns(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run after its channels are made, before it is split into roles."""
    divide_loads(kernel, context)
    if kernel.warps != WARPS:
        return
    operations = operations_inside(kernel)
    loads = [op for op in operations if op.name == _LOAD and has_column_parts(op, _UPDATE_COLUMNS)]
    for update in [update for op in loads if (update := _update(op)) is not None]:
        _divide(update)
    stores = [op for op in operations_inside(kernel) if op.name == _STORE and has_column_parts(op, _OPERAND_COLUMNS)]
    device, is_alone = device_of(context.target.name), blocks_of_hint(kernel) == 1
    for store in [op for op in stores if _is_converted(op)]:
        _divide_operand(store, device, is_alone)


# ---- updates


def _update(load: ir.Operation) -> _Stored | None:
    """The update that begins with a load; None if its elements have other uses."""
    arithmetic, value = list[ir.Operation](), load.results[0]
    while True:
        users = users_of(value)
        if len(users) != 1 or users[0].block != load.block:
            return None
        (user,) = users
        if user.name == _STORE:
            found = _Stored(arithmetic, user, _UPDATE_COLUMNS, load)
            return found if arithmetic and _stays_in_place(load, user) else None
        if not interface_of(user.name).is_elementwise or len(user.results) != 1:
            return None
        if not all(other == value or repeats_columns(other) for other in user.operands):
            return None
        arithmetic.append(user)
        value = user.results[0]


def _stays_in_place(load: ir.Operation, store: ir.Operation) -> bool:
    """Whether the store has the place of the load, which nothing accesses or gives away in between.

    Elements of another type have other columns: their parts do not take the place of those that are loaded.
    """
    loaded, stored = load.operands[0], store.operands[1]
    place = handed_place(loaded)
    if place is None or not is_place(stored, place) or stored.type != loaded.type:
        return False
    return not use_place(itertools.takewhile(lambda op: op != store, operations_after(load)), place)


# ---- operands


def _is_converted(store: ir.Operation) -> bool:
    """Whether a store is the only use of a tile that is converted from one of the same layout."""
    value = store.operands[0]
    op = owner_of(value)
    if op is None or op.name != "arith.truncf" or len(list(value.uses)) != 1:
        return False
    return op.block == store.block and op.operands[0].type.encoding == value.type.encoding


def _divide_operand(store: ir.Operation, device: Device, is_alone: bool) -> None:
    """Divides the conversion and the store of an operand; `is_alone` is whether one block has the SM."""
    use = _use_of(store)
    if use is None:
        later = wait_early(store, device) if is_alone else []
        # Other arithmetic of threads before the wait for a slot stays there.
        last = _divide(_Stored([store.operands[0].owner.operation], store, _OPERAND_COLUMNS))
        for op in later:
            op.move_before(last)
        return
    operand = _Stored(_arithmetic(store), store, _OPERAND_COLUMNS)
    ahead = _columns_ahead(operand.arithmetic, use.multiply, _OPERAND_COLUMNS, device)
    _divide(operand, ahead, _divide_multiply(use, ahead) if ahead else None)


def _arithmetic(store: ir.Operation) -> list[ir.Operation]:
    """The arithmetic that computes the stored tile, in program order, without results that are used before it."""
    found: list[ir.Operation] = []
    layout = store.operands[0].type.encoding
    for op in reversed(list(itertools.takewhile(lambda op: op != store, operations_in(store.block)))):
        users = [use.owner.operation for result in op.results for use in result.uses]
        if not any(user == store or user in found for user in users) or not has_parts(op, layout):
            continue
        if all(user in found or user.block == store.block and not user.is_before_in_block(store) for user in users):
            found.append(op)
    return found[::-1]


# ---- parts


def _divide(stored: _Stored, ahead: int = 0, first: ir.Value | None = None) -> ir.Operation:
    """Computes and stores parts; `first` is the channel that gives the columns `ahead` of the others.

    Returns the store of the last part.
    """
    store, ends, parts = stored.store, stored.ends, stored.parts
    with stored.location, ir.InsertionPoint(store):
        for end in ends:
            last = _store_part(stored, pending=end not in (ahead, ends[-1]))
            if end == ahead and first is not None:
                for step in give(first):
                    set_compute_role(step, stored.role)
        for op in stored.arithmetic:
            others = [use for use in op.results[0].uses if use.owner.operation not in (*stored.arithmetic, store)]
            whole = joined(parts[op], op.results[0].type, stored.buffer.type, stored.role) if others else None
            for use in others:
                use.owner.operation.operands[use.operand_number] = whole
    for op in (store, *reversed(stored.divided)):
        op.erase()
    return last


def _store_part(stored: _Stored, pending: bool) -> ir.Operation:
    """Computes and stores the next part at the insertion point; returns the store."""
    buffer, parts = stored.buffer, stored.parts
    number = len(parts[stored.arithmetic[-1]])
    first = number * stored.columns

    def part(tile: ir.Value) -> ir.RankedTensorType:
        return part_type(buffer.type, tile.type, stored.columns)

    def operand(tile: ir.Value) -> ir.Value:
        known = parts.get(owner_of(tile))
        return part_of(tile, part(tile), number, stored.role) if known is None else known[number]

    for op in stored.divided:
        if stored.load is not None and op == stored.load:
            made = emitter.gpu(LoadTensorMemoryOp, [buffer], [part(op.results[0])], first_column=first)
        else:
            attributes = {name: op.attributes[name] for name in op.attributes}
            made = ir.Operation.create(op.name, [part(op.results[0])], list(map(operand, op.operands)), attributes)
        set_compute_role(made.operation, stored.role)
        parts[op].append(made.results[0])
    value = parts[stored.arithmetic[-1]][number]
    made = emitter.gpu(StoreTensorMemoryOp, [value, buffer], [], first_column=first, pending=pending)
    set_compute_role(made.operation, stored.role)
    return made.operation


@dataclass(frozen=True)
class _OperandUse:
    """The multiply that reads a stored operand, and the steps by which it gets the operand."""

    channel: ir.Value
    get: ir.Operation
    release: ir.Operation
    multiply: ir.Operation


def _use_of(store: ir.Operation) -> _OperandUse | None:
    """The only use of an operand that threads hand over in this place, in the same block; None for another use."""
    slot = owner_of(store.operands[1])
    if slot is None or slot.name != _SLOT or slot.operands[0].owner.opview.shares is None:
        return None
    channel = slot.operands[0]
    following = operations_after(store)
    steps = [op for op in following if op.name in (_COMMIT, _GET, _RELEASE) and op.operands[0] == channel]
    multiplies = [op for op in following if op.name == _MULTIPLY and _is_slot(op.opview.lhs, channel)]
    if [op.name for op in steps] != [_COMMIT, _GET, _RELEASE] or len(multiplies) != 1:
        return None
    (multiply,) = multiplies
    is_whole = multiply.opview.depth is None and not multiply.opview.pair
    _, get, release = steps
    return _OperandUse(channel, get, release, multiply) if is_whole and release.is_before_in_block(multiply) else None


def _is_slot(value: ir.Value, channel: ir.Value) -> bool:
    op = owner_of(value)
    return op is not None and op.name == _SLOT and op.operands[0] == channel


def _columns_ahead(
    arithmetic: Sequence[ir.Operation], multiply: ir.Operation, part_columns: int, device: Device
) -> int:
    """The columns whose multiply ends when threads have computed the others; 0 if there are too few."""
    known, work = VisitedTiles(), Step()
    for op in arithmetic:
        work += work_of(op.opview, WARPS, device, known)
    computed = max(unit_cycles(work, device).values())
    whole = multiply_of(multiply.opview)
    assert whole is not None
    multiplied = pipe_use(whole, device).cycles
    unit = max(part_columns, STEP_BYTES * 8 // whole.element_bits)
    return int(whole.depth * computed / (computed + multiplied)) // unit * unit


def _divide_multiply(use: _OperandUse, ahead: int) -> ir.Value:
    """Multiplies the first columns of an operand, `ahead` of them, before the others; returns the channel of them.

    before:   put;  get;  tcgen05_mma %slot, %v into %o
    after:    put first;  ..;  put
              get first;  tcgen05_mma %slot, %v from 0 depth 80 into %o
              get;  tcgen05_mma %slot, %v from 80 depth 48 into %o
    """
    made = use.channel.owner
    with made.operation.location, ir.InsertionPoint.after(made.operation):
        first = channel_like(made, use.channel.type.buffers, made.shares)
    multiply, depth = use.multiply, use.multiply.opview.lhs.type.shape[1]
    with use.get.location, ir.InsertionPoint(use.get):
        take(first)
    with multiply.location, ir.InsertionPoint(multiply):
        earlier = multiply.clone()
        _set_part(earlier, 0, ahead)
        use.get.move_before(multiply)
        use.release.move_before(multiply)
        multiply.operands[_ACCUMULATE] = emitter.boolean(True)
        if "scale" in multiply.attributes:
            del multiply.attributes["scale"]
        _set_part(multiply, ahead, depth - ahead)
    return first


def _set_part(multiply: ir.Operation, first: int, depth: int) -> None:
    for name, value in (("first", first), ("depth", depth)):
        multiply.attributes[name] = ir.IntegerAttr.get(emitter.integer_type(32), value)
