"""Loads of accumulators whose columns are extracted become loads of these columns, where they are used.

Before:  %x = load_tensor_memory %slot;  release;  %x0 = extract %x[0, 0] ..  %x1 = extract %x[0, 1] ..
after:   %x0 = load_tensor_memory %slot from 0 ..  %x1 = load_tensor_memory %slot from 64;  release ..
or:      %x0 = load_tensor_memory %slot from 0;  %x1 = load_tensor_memory %slot from 64;  release ..

The second form is for columns of more than four warps whose slot is needed before their use: the whole tile would have
them in other warps.
A branch that chooses several accumulators or constants at once is one branch for each before. In a cluster 64 rows are
read whole, because a pair has only some columns of them in the lanes of a warp (narrow_accumulators.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import PutBeginOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp, LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp, ExtractOp
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.dialect.walk import operations_in, operations_named, reached, terminator_of, users_of, with_inner
from tilec.lowering import emitter
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.channels.narrow_accumulators import is_narrow
from tilec.lowering.gpu.ir.enclosing import LOOPS, numbers_of, path_to
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import (
    GET,
    handed_place,
    is_constant,
    is_place,
    load_or_constant,
    step_of_buffer,
    use_place,
)
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.shared_plan import memory_plan, tensor_layout

# tcgen05.ld reads at least eight columns as .16x256b.
_LEAST_COLUMNS = 8
# Warp w of four accesses the lanes from 32*w.
_WARPS_OF_LANES = 4
_LOAD, _STORE = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME
_CONSTANT = "arith.constant"


@dataclass(frozen=True)
class _Read:
    """A load of an accumulator; if a branch chooses between it and a splat, that branch and the element."""

    load: ir.OpView
    branch: ir.OpView | None = None
    otherwise: ir.Attribute | None = None

    @property
    def outermost(self) -> ir.Operation:
        return (self.branch or self.load).operation

    @property
    def tile(self) -> ir.Value:
        return self.outermost.results[0]


def divide_loads(kernel: KernelOp, context: Context) -> None:
    """Rewrites the loads of accumulators whose columns alone are used, in a tile_gpu.kernel of one role."""
    is_short = cache(lambda: memory_plan(kernel).columns_used > context.target.tensor_memory_columns)
    for branch in [op for op in operations_named(kernel, ("scf.if",)) if _chooses_reads(op)]:
        _separate(branch)
    loads = operations_named(kernel, (_LOAD,))
    fills = [op.operation for op in operations_named(kernel, (_STORE,)) if not tensor_layout(op.buffer.type).packed]
    for load in loads:
        read = _read(load)
        type = load.buffer.type
        if read is not None and not type.is_transposed and not (kernel.ctas > 1 and is_narrow(type)):
            is_filled = _is_stored(read.tile) or any(_may_follow(fill, load.operation) for fill in fills)
            is_written = any(_is_written(load, fill) for fill in fills)
            _divide(read, kernel.warps, is_short, is_filled=is_filled, is_written=is_written)


# ---- branches


def _chooses_reads(op: ir.OpView) -> bool:
    """Whether a branch chooses between several loads of accumulators, each of one use, and constants."""
    if len(op.operation.results) < 2:
        return False
    (*loads, end), (*others, otherwise) = (operations_in(region.blocks[0]) for region in op.operation.regions)
    is_read = all(each.name == _LOAD for each in loads) and {value.owner for value in end.operands} == set(loads)
    return is_read and all(each.name == _CONSTANT for each in others) and all(map(is_constant, otherwise.operands))


def _separate(branch: ir.OpView) -> None:
    """Replaces a branch with several results by a branch for each."""
    operation = branch.operation
    ends = [terminator_of(region.blocks[0]).operands for region in operation.regions]
    for result, read, constant in zip(operation.results, *ends, strict=True):
        with ir.InsertionPoint(operation), operation.location:
            copies = [partial(_copy, value.owner.operation) for value in (read, constant)]
            result.replace_all_uses_with(emitter.choose(operation.operands[0], result.type, *copies))
    operation.erase()


def _copy(op: ir.Operation) -> ir.Value:
    """The result of a copy of an operation at the insertion point."""
    return op.clone().results[0]


# ---- reads


def _read(load: ir.OpView) -> _Read | None:
    """The read of which a load is part; None if its tile goes elsewhere too."""
    uses = users_of(load.result)
    if len(uses) != 1 or uses[0].name != "scf.yield" or len(uses[0].operands) != 1:
        return _Read(load)
    branch = uses[0].parent.opview
    chosen = load_or_constant(branch.operation)
    if chosen is None or chosen[0] != load.operation:
        return None
    elements = ir.DenseElementsAttr(chosen[1].owner.operation.attributes["value"])
    return _Read(load, branch, elements.get_splat_value()) if elements.is_splat else None


def _is_stored(tile: ir.Value) -> bool:
    """Whether threads store in tensor memory what they compute from a tile: perhaps in its columns."""
    return any(user.name == _STORE for value in reached(tile, _results_of_users) for user in users_of(value))


def _results_of_users(value: ir.Value) -> list[ir.Value]:
    return [result for user in users_of(value) for result in user.results]


def _may_follow(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether an operation may be executed after another one: it is in a loop with that, or after it."""
    path, others = path_to(op), path_to(other)
    number = next(number for number, pair in enumerate(zip(path, others, strict=False)) if pair[0] != pair[1])
    if any(outer.name in LOOPS for outer in path[:number]):
        return True
    # Of the regions of a branch, one is executed.
    return path[number].block == others[number].block and not path[number].is_before_in_block(others[number])


def _is_written(load: ir.OpView, fill: ir.Operation) -> bool:
    """Whether threads may store in the place of a load before it: between both, a loop may have no iteration."""
    place = handed_place(load.buffer)
    return place is not None and is_place(fill.opview.buffer, place) and _may_follow(load.operation, fill)


def _divide(read: _Read, warps: int, is_short: Callable[[], bool], *, is_filled: bool, is_written: bool) -> None:
    converted = [user for user in users_of(read.tile) if user.name == ConvertLayoutOp.OPERATION_NAME]
    users = [user for user in users_of(read.tile) if user not in converted]
    pieces = [user.opview for user in (*users, *(user for op in converted for user in users_of(op.result)))]
    if not pieces or not all(_is_columns(piece, warps) for piece in pieces):
        return
    last = _last(read, pieces)
    is_late = last is not None and (_keep_place(read, last, warps, is_short) or _move_release(read, last))
    # Columns of a whole tile may be those of other warps, which get them through shared memory.
    if not is_late and not converted:
        return
    if not is_late and is_written:
        # Without a barrier a warp may read only columns that it has written itself.
        _insert_barrier(read)
    for piece in pieces:
        with ir.InsertionPoint(piece.operation if is_late else read.outermost), piece.location:
            piece.result.replace_all_uses_with(_columns(read, piece, warps))
        piece.operation.erase()
    if not is_late and is_filled:
        # Without a barrier a warp may write only columns that it has read itself.
        _insert_barrier(read)
    for op in (*converted, read.outermost):
        op.erase()


def _insert_barrier(read: _Read) -> None:
    """Inserts a barrier of the threads of tensor memory before a read."""
    with ir.InsertionPoint(read.outermost), read.outermost.location:
        set_compute_role(emitter.gpu(BarrierOp, [], [], tensor=True).operation, compute_role(read.load.operation))


def _is_columns(op: ir.OpView, warps: int) -> bool:
    """Whether an operation extracts columns at known indices, enough of them for every warp."""
    if op.operation.name != ExtractOp.OPERATION_NAME or not isinstance(op.result.type, ir.RankedTensorType):
        return False
    (rows, columns), indices = op.result.type.shape, [constant_of(index) for index in op.indices]
    return rows == op.source.type.shape[0] and None not in indices and columns >= _LEAST_COLUMNS * (warps // 4)


# ---- how long the place is needed


def _last(read: _Read, pieces: Sequence[ir.OpView]) -> ir.Operation | None:
    """The last operation in the block of the read that has a piece; None if a piece is elsewhere."""
    order = numbers_of(read.outermost.block)
    paths = [path_to(piece.operation) for piece in pieces]
    ancestors = [outer for path in paths for outer in path if outer in order]
    return max(ancestors, key=order.__getitem__) if len(ancestors) == len(pieces) else None


def _keep_place(read: _Read, last: ir.Operation, warps: int, is_short: Callable[[], bool]) -> bool:
    """Whether threads keep a place that multiplies hand over to them until the last piece is read.

    They write it next without a wait, so that each thread reads only elements that it writes. Of more than four warps,
    those of the same lanes divide the columns, of a piece otherwise than of the whole. If columns are short,
    accumulators that are filled in between share the place, which is free once it is read.
    """
    place = handed_place(read.load.buffer)
    if place is None or warps > _WARPS_OF_LANES:
        return False
    order = numbers_of(read.outermost.block)
    between = [op for op, number in order.items() if order[read.outermost] < number <= order[last]]
    return not use_place(between, place) and not (_fill_tensor_memory(between) and is_short())


def _move_release(read: _Read, last: ir.Operation) -> bool:
    """Moves the release of the slot to after the last piece; False if there is none, or it may not move."""
    step, block = step_of_buffer(read.load.buffer), read.outermost.block
    if step is None or step.name != GET or step.block != block:
        return False
    get = step.opview
    order = numbers_of(block)
    releases = [
        user
        for user in users_of(get.channel)
        if user.name == ReleaseOp.OPERATION_NAME
        and user.opview.consumer == get.consumer
        and order.get(user, 0) > order[read.outermost]
    ]
    if not releases:
        return False
    release = min(releases, key=order.__getitem__)
    between = [op for op, number in order.items() if order[release] < number <= order[last]]
    # An accumulator that is filled in between would deadlock, as it waits for the slot, or could not share its columns.
    if _fill_tensor_memory(between):
        return False
    release.move_after(last)
    return True


def _fill_tensor_memory(operations: Iterable[ir.Operation]) -> bool:
    """Whether operations, or those inside of them, fill an accumulator."""
    inside = (each for op in operations for each in with_inner(op))
    puts = (op for op in inside if op.name == PutBeginOp.OPERATION_NAME)
    return any(result.type.memory == TENSOR for op in puts for result in op.results)


# ---- the loads


def _columns(read: _Read, piece: ir.OpView, warps: int) -> ir.Value:
    """The columns that a piece extracts, in its layout."""
    shape = tuple(piece.result.type.shape)
    layout = replace(tensor_layout(read.load.buffer.type), shape=shape).registers(warps)
    type = emitter.tile_type(shape, piece.result.type.element_type, layout)
    first = (constant_of(list(piece.indices)[1]) or 0) * shape[1]
    role = compute_role(read.load.operation)

    def load() -> ir.Value:
        loaded = emitter.gpu(LoadTensorMemoryOp, [read.load.buffer], [type], first_column=first)
        set_compute_role(loaded.operation, role)
        return loaded.result

    def otherwise() -> ir.Value:
        made = emitter.constant_tile(type, ir.DenseElementsAttr.get_splat(type, read.otherwise))
        set_compute_role(made.owner.operation, role)
        return made

    tile = load() if read.branch is None else emitter.choose(read.branch.operation.operands[0], type, load, otherwise)
    if tile.type == piece.result.type:
        return tile
    converted = emitter.gpu(ConvertLayoutOp, [tile], [piece.result.type])
    set_compute_role(converted.operation, role)
    return converted.result
