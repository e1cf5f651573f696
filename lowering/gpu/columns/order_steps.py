"""Steps of tensor memory stand where they hold up arithmetic least.

A wait and a signal end a run of instructions that the units of an SM overlap. A slot is therefore released behind the
reduction that needs the whole tile, so that the first columns are reduced while others are loaded; and what is computed
without a slot precedes the wait for it.

before:   load %s;  release;  max of %s;  exp2;  put_begin;  truncf;  store;  put_commit;  sum
after:    load %s;  max of %s;  release;  exp2;  sum;  put_begin;  truncf;  store;  put_commit

What is stored in the slot stays behind the wait: ptxas would need registers for the elements before and after it.

Steps keep their order, and none moves over a step of its role, so that no role waits for what it has not done.

The assembler puts a signal behind arithmetic that follows it, as nothing in the role waits for the signal. If threads
store what they compute after a signal, a `schedule_barrier` keeps the signal in front.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import THREADS, PutBeginOp, PutCommitOp, ReleaseOp, SlotOp
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.memory import LoadTensorMemoryOp, ScheduleBarrierOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.reduce import ReduceOp
from tilec.dialect.tile_gpu.shape import BroadcastOp, CatOp, ExtractOp, MathOp, ReshapeOp, SplatOp
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.dialect.walk import operations_inside, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.ir.operation_role import compute_role, role_of, set_compute_role
from tilec.lowering.gpu.kernel_pass import Context

_PUT, _COMMIT, _RELEASE = PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_LOAD, _STORE, _REDUCE = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME, ReduceOp.OPERATION_NAME
_SLOT = SlotOp.OPERATION_NAME
_RENAMING = tuple(op.OPERATION_NAME for op in (BroadcastOp, CatOp, ExtractOp, ReshapeOp, SplatOp))
_PURE = ("arith.", "math.", MathOp.OPERATION_NAME, *_RENAMING, _REDUCE)


def order_steps(kernel: KernelOp, _context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run before it is split into roles."""
    operations = operations_inside(kernel)
    order = _Order()
    for op in [op for op in operations if op.name == _RELEASE]:
        _release_late(op, order)
    for op in [op for op in operations if op.name == _PUT and _waits(op)]:
        _compute_before(op, order)
    for op in [op for op in operations if op.name == _COMMIT and op.opview.channel.owner.opview.producer == THREADS]:
        _signal_first(op, order)


class _Order:
    """The operations of blocks, which are read again only where one has moved."""

    def __init__(self) -> None:
        self._known: dict[ir.Block, list[ir.Operation]] = {}

    def around(self, op: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
        """The operations of the block of an operation in front of it, and those behind it."""
        block = op.block
        if block not in self._known:
            self._known[block] = [each.operation for each in block.operations]
        operations = self._known[block]
        at = operations.index(op)
        return operations[:at], operations[at + 1 :]

    def forget(self, op: ir.Operation) -> None:
        """Must be called where operations of the block of an operation have moved."""
        self._known.pop(op.block, None)


def _signal_first(commit: ir.Operation, order: _Order) -> None:
    """Inserts a barrier for the assembler behind a signal in a loop, if threads store what they compute behind it."""
    if not is_repeated(commit):
        return
    role = role_of(commit)
    _, behind = order.around(commit)
    own = (op for op in behind if role_of(op) in (role, None))
    computed = itertools.takewhile(lambda op: op.name == _STORE or _is_pure(op) or op.name == _SLOT, own)
    if any(op.name == _STORE for op in computed):
        with commit.location, ir.InsertionPoint.after(commit):
            made = emitter.gpu(ScheduleBarrierOp, [], [])
        order.forget(commit)
        set_compute_role(made.operation, compute_role(commit))


def _waits(put: ir.Operation) -> bool:
    """Whether threads wait for a slot of tensor memory."""
    channel = put.opview.channel.owner.opview
    in_tensor_memory = any(result.type.memory == TENSOR for result in put.results)
    return channel.producer == THREADS and channel.reuse == "ring" and in_tensor_memory


def _release_late(release: ir.Operation, order: _Order) -> None:
    """Moves the release of a slot behind the reduction of the tile that was loaded from it."""
    role = compute_role(release)
    before, behind = order.around(release)
    if not before or before[-1].name != _LOAD or compute_role(before[-1]) != role:
        return
    reduced = _reduction(before[-1].results[0])
    if reduced is None:
        return
    passed = list(itertools.takewhile(lambda op: op != reduced, behind))
    if len(passed) < len(behind) and all(_is_pure(op) for op in passed):
        release.move_after(reduced)
        order.forget(release)


def _reduction(tile: ir.Value) -> ir.Operation | None:
    """The first reduction of a tile, or of what is computed from its elements one by one."""
    users = users_of(tile)
    found = [user for user in users if user.name == _REDUCE]
    is_followed = len(users) == 1 and interface_of(users[0].name).is_elementwise
    inner = [_reduction(users[0].results[0])] if is_followed else []
    return next((each for each in (*found, *inner) if each is not None), None)


def _compute_before(put: ir.Operation, order: _Order) -> None:
    """Moves what is computed without a slot in front of the wait for it."""
    _, behind = order.around(put)
    following = list(itertools.takewhile(lambda op: not _is_other_step(op, put), behind))
    stored = _stored(following)
    moved = list[ir.Operation]()
    for op in following:
        owners = [value.owner.operation for value in op.operands if not isinstance(value.owner, ir.Block)]
        if _is_pure(op) and op not in stored and all(owner in moved or owner not in behind for owner in owners):
            moved.append(op)
    for op in moved:
        op.move_before(put)
        order.forget(put)


def _stored(operations: Sequence[ir.Operation]) -> set[ir.Operation]:
    """Those of some operations that compute what others of them store in tensor memory."""
    found = set[ir.Operation]()
    for op in reversed(operations):
        if op.name == _STORE or any(use.owner.operation in found for result in op.results for use in result.uses):
            found.add(op)
    return found


def _is_other_step(op: ir.Operation, put: ir.Operation) -> bool:
    """Whether an operation of the role ends the code around a put."""
    if op.name in (_STORE, _COMMIT) or compute_role(op) != compute_role(put):
        return False
    return not _is_pure(op)


def _is_pure(op: ir.Operation) -> bool:
    return op.name.startswith(_PURE)
