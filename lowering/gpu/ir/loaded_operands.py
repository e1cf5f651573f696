"""Operands of multiplies that threads load, perhaps convert, and store in a ring of shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.channel import MakeChannelOp
from tilec.dialect.tile_gpu.memory import LoadSharedOp, StoreSharedOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.shape import ConvertLayoutOp, MathOp, ReshapeOp, TransposeOp
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.ir.slots import PUT, users_of_slots

_LOADS = (*GLOBAL_LOADS, LoadSharedOp.OPERATION_NAME)
# Operations between a load and the store of its tile.
_CONVERSIONS = (
    *("arith.", "math."),
    *(op.OPERATION_NAME for op in (MathOp, ReshapeOp, TransposeOp, ConvertLayoutOp)),
)


def are_loaded_where_stored(ring: Sequence[MakeChannelOp]) -> bool:
    """Whether each tile that the channels of a ring get is loaded in the iteration of a loop that stores it."""
    users = [op for channel in ring for op in users_of_slots(channel.operation.results[0], (PUT,))]
    stores = [op for op in users if op.name == StoreSharedOp.OPERATION_NAME]
    return bool(stores) and all(_is_loaded(store.operands[0], store.block) for store in stores)


def _is_loaded(tile: ir.Value, body: ir.Block) -> bool:
    """Whether a tile derives from loads in the body of a loop, and from nothing else that changes in the loop."""
    if body.owner.name not in LOOPS:
        return False
    pending, seen, has_load = [tile], {tile}, False
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block):
            if owner == body:
                return False
        elif owner.operation.block != body:
            continue
        elif owner.name in _LOADS:
            has_load = True
        elif owner.name.startswith(_CONVERSIONS):
            pending += [value for value in owner.operands if is_register_tile(value.type) and value not in seen]
            seen.update(owner.operands)
        else:
            return False
    return has_load
