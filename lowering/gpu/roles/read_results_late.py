"""Products that a loop only stores are read where they are stored, after later multiplies have been issued.

before:   %s = multiply ..;  %x = read %s;  %o = multiply ..;  %y = read %o;  store (addf %x, %y)
after:    %s = multiply ..;  %o = multiply ..;  %x = read %s;  %y = read %o;  store (addf %x, %y)

Threads do not wait for a product before they compute operands of other multiplies, and have its registers for a
shorter time. All accumulators are then in use at once, so that each needs columns of its own.

Several accumulators that a loop returns are read one after the other, each where it is used first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import PLACED_MULTIPLIES
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.placed import PlaceOp, PlaceScalesOp, ReadOp, StoreTileOp, UndefinedOp
from tilec.dialect.tile_gpu.operations.shifted_rows import PlaceRowsOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.dialect.walk import operations_in, operations_inside, owner_of, users_of, with_inner
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.memory.shared_plan import tensor_columns
from tilec.lowering.target import Target

_READ, _PLACE, _STORE = ReadOp.OPERATION_NAME, PlaceOp.OPERATION_NAME, StoreTileOp.OPERATION_NAME
# The operations that take columns.
_MADE = (_PLACE, *(op.OPERATION_NAME for op in (UndefinedOp, PlaceScalesOp, PlaceRowsOp)))
_LOOP = "scf.for"


def read_results_late(kernel: KernelOp, target: Target) -> None:
    """Moves reads in loops of a tile_gpu.kernel with placed tiles, in place."""
    operations = operations_inside(kernel)
    for op in operations:
        if op.name == _READ and _is_in_tensor_memory(op.operands[0]) and _is_returned(op.operands[0]):
            _read_where_used(op)
    stores = [op for op in operations if op.name == _STORE and op.parent.name == _LOOP]
    if not stores or not 0 < _columns(operations) <= target.tensor_memory_columns:
        return
    for block in dict.fromkeys(op.block for op in stores):
        _read_late(operations_in(block))


def _columns(operations: Sequence[ir.Operation]) -> int:
    """The columns of tensor memory that all accumulators and operands need, if no two of them have the same ones."""
    values = [value for op in operations if op.name == _LOOP for value in op.regions[0].blocks[0].arguments]
    for op in operations:
        # An operand that threads store over an accumulator has its columns.
        if op.name in _MADE and len(op.operands) <= 1 and not _is_carried(op.results[0]):
            values.append(op.results[0])
    return sum(tensor_columns(value.type) for value in values if _is_in_tensor_memory(value))


def _is_carried(value: ir.Value) -> bool:
    """Whether an accumulator is one that a loop carries: it has the columns of the argument of the loop."""
    users = users_of(value)
    if any(user.name in (_LOOP, "scf.yield") for user in users):
        return True
    multiplies = (user for user in users if user.name in PLACED_MULTIPLIES and user.opview.accumulator == value)
    return any(_is_carried(user.results[0]) for user in multiplies)


def _is_in_tensor_memory(value: ir.Value) -> bool:
    return isinstance(value.type, BufferType) and value.type.memory == TENSOR


def _read_late(operations: Sequence[ir.Operation]) -> None:
    """Moves the reads of the body of a loop whose tiles are only stored to their first uses."""
    stored = set[ir.Operation]()
    for op in reversed(operations):
        users = [user for result in op.results for user in users_of(result)]
        if op.name == _STORE or users and _is_movable(op) and all(user in stored for user in users):
            stored.add(op)
    for op in (op for op in operations if op in stored and op.name == _READ):
        users = users_of(op.results[0])
        op.move_before(next(other for other in operations if other in users))


def _is_returned(accumulator: ir.Value) -> bool:
    owner = owner_of(accumulator)
    return owner is not None and owner.name == _LOOP


def _read_where_used(read: ir.Operation) -> None:
    """Moves a read to its first use in its block, if that precedes loops and multiplies, which may need its columns."""
    operations, users = operations_in(read.block), users_of(read.results[0])
    for op in operations[operations.index(read) + 1 :]:
        inner = with_inner(op)
        if any(each in users for each in inner):
            read.move_before(op)
        if any(each in users or each.name in (*LOOPS, *PLACED_MULTIPLIES) for each in inner):
            return


def _is_movable(op: ir.Operation) -> bool:
    """Whether an operation computes a tile, reads an accumulator that nothing else needs, or places a tile."""
    if op.name == _READ:
        return _is_in_tensor_memory(op.operands[0]) and len(list(op.operands[0].uses)) == 1
    return op.name == _PLACE or interface_of(op.name).is_pure and is_register_tile(op.results[0].type)
