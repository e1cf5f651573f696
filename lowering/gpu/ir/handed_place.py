"""The slots in tensor memory that threads and multiplies pass to each other, after make-channels."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MakeChannelOp, SlotOp
from tilec.dialect.walk import operations_inside

_SLOT, _CHANNEL = SlotOp.OPERATION_NAME, MakeChannelOp.OPERATION_NAME


def handed_place(value: ir.Value) -> ir.Value | None:
    """The channel that has the memory of a slot, or of a channel that passes it; None for other values."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is not None and op.name == _SLOT:
        return handed_place(op.operands[0])
    if op is None or op.name != _CHANNEL:
        return None
    return op.opview.shares or value


def is_place(value: ir.Value, place: ir.Value) -> bool:
    """Whether a value is a slot of this channel, or a channel that passes its memory."""
    found = handed_place(value)
    return found is not None and found == place


def use_place(operations: Iterable[ir.Operation], place: ir.Value) -> bool:
    """Whether operations, or operations inside of them, access the memory of a channel or pass it."""
    inside = (each for op in operations for each in (op, *operations_inside(op)))
    return any(is_place(value, place) for op in inside if op.name != _SLOT for value in op.operands)
