"""The multiply of an operand that threads store in parts has two, the first of which waits for its own columns alone.

before:   put;  get;  tcgen05_mma %slot, %v into %o
after:    put first;  ..;  put
          get first;  tcgen05_mma %slot, %v from 0 depth 80 into %o
          get;  tcgen05_mma %slot, %v from 80 depth 48 into %o

The first part has so many columns that it ends when threads have computed the rest of the operand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import GetOp, MakeChannelOp, PutCommitOp, ReleaseOp, SlotOp
from tilec.dialect.tile_gpu.matrix import Tcgen05MmaOp
from tilec.lowering import emitter
from tilec.lowering.gpu.columns.column_parts import WARPS, operations_in, owner
from tilec.lowering.gpu.cost.operation_work import VisitedTiles, multiply_of, work_of
from tilec.lowering.gpu.ir.hand_over import take
from tilec.lowering.matrix_unit import STEP_BYTES
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import Step, unit_cycles
from tilec.lowering.model.tensor_pipe import pipe_use

_SLOT, _CHANNEL = SlotOp.OPERATION_NAME, MakeChannelOp.OPERATION_NAME
_COMMIT, _GET, _RELEASE = PutCommitOp.OPERATION_NAME, GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_MULTIPLY = Tcgen05MmaOp.OPERATION_NAME
# The number of the operand of a multiply that says whether the accumulator counts.
_ACCUMULATE = 3


@dataclass(frozen=True)
class OperandUse:
    """The multiply that reads a stored operand, and the steps by which it gets the operand."""

    channel: ir.Value
    get: ir.Operation
    release: ir.Operation
    multiply: ir.Operation


def use_of(store: ir.Operation) -> OperandUse | None:
    """The only use of an operand that threads hand over in this place, in the same block; None for another use."""
    slot = owner(store.operands[1])
    if slot is None or slot.name != _SLOT or slot.operands[0].owner.opview.shares is None:
        return None
    channel = slot.operands[0]
    behind = list(itertools.dropwhile(lambda op: op != store, operations_in(store.block)))
    steps = [op for op in behind if op.name in (_COMMIT, _GET, _RELEASE) and op.operands[0] == channel]
    multiplies = [op for op in behind if op.name == _MULTIPLY and _is_slot(op.opview.lhs, channel)]
    if [op.name for op in steps] != [_COMMIT, _GET, _RELEASE] or len(multiplies) != 1:
        return None
    (multiply,) = multiplies
    is_whole = multiply.opview.depth is None and not multiply.opview.pair
    _, get, release = steps
    return OperandUse(channel, get, release, multiply) if is_whole and release.is_before_in_block(multiply) else None


def _is_slot(value: ir.Value, channel: ir.Value) -> bool:
    op = owner(value)
    return op is not None and op.name == _SLOT and op.operands[0] == channel


def columns_ahead(arithmetic: Sequence[ir.Operation], multiply: ir.Operation, part_columns: int, device: Device) -> int:
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


def divide_multiply(use: OperandUse, ahead: int) -> ir.Value:
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
