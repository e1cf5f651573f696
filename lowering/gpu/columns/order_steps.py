"""Steps of tensor memory stand where they hold up arithmetic least.

A wait and a signal end a run of instructions that the units of an SM overlap. A slot is therefore released after the
reduction that needs the whole tile, so that the first columns are reduced while others are loaded; and arithmetic that
needs no slot precedes the wait for it.

before:   load %s;  release;  max of %s;  exp2;  put_begin;  truncf;  store;  put_commit;  sum
after:    load %s;  max of %s;  release;  exp2;  sum;  put_begin;  truncf;  store;  put_commit

Threads read a tile that TMA has loaded where it meets another one, so that it has no registers before, and release its
slot as late as that of tensor memory: the assembler then loads elements when they are used.

before:   get %b;  load %b;  release %b;  get %s;  load %s;  addf %s, %b;  max
after:    get %s;  get %b;  load %s;  load %b;  addf %s, %b;  max;  release %s;  release %b

The tile that is stored in the slot is computed after the wait: ptxas would need registers for its elements before and
after it. Steps keep their order, and none moves over a step of its role, so that no role waits for its own later steps.

The assembler moves a signal to after arithmetic that follows it, as nothing in the role waits for the signal. If
threads store results of this arithmetic, a `schedule_barrier` keeps the signal before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence, Set

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import THREADS, TMA, PutBeginOp, PutCommitOp, ReleaseOp, SlotOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import (
    LoadSharedOp,
    LoadTensorMemoryOp,
    ScheduleBarrierOp,
    StoreTensorMemoryOp,
)
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, CatOp, ExtractOp, MathOp, ReshapeOp, SplatOp
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.dialect.walk import operations_in, operations_inside, owner_of, used_by, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.columns.promote_products import promote_products
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.ir.operation_role import LOAD, compute_role, role_of, set_compute_role
from tilec.lowering.gpu.ir.slots import GET
from tilec.lowering.gpu.kernel_pass import Context

_PUT, _COMMIT, _RELEASE = PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_LOAD, _STORE, _REDUCE = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME, ReduceOp.OPERATION_NAME
_LOAD_SHARED = LoadSharedOp.OPERATION_NAME
_SLOT = SlotOp.OPERATION_NAME
_RENAMING = tuple(op.OPERATION_NAME for op in (BroadcastOp, CatOp, ExtractOp, ReshapeOp, SplatOp))
_PURE = ("arith.", "math.", MathOp.OPERATION_NAME, *_RENAMING, _REDUCE)


def order_steps(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run before it is split into roles."""
    operations = operations_inside(kernel)
    order = _Order()
    releases = [op for op in operations if op.name == _RELEASE]
    for op in releases:
        _release_late(op, order)
    for op in [op for op in releases if _ends_read(op, order)]:
        _read_late(op, order)
    for op in [op for op in operations if op.name == _PUT and _waits(op)]:
        _compute_before(op, order)
    for op in [op for op in operations if op.name == _COMMIT and op.opview.channel.owner.opview.producer == THREADS]:
        _signal_first(op, order)
    # An operand is then computed after the wait for its slot, unlike others.
    promote_products(kernel, context)


class _Order(dict[ir.Block, list[ir.Operation]]):
    """The operations of blocks; a block whose operations have moved must be removed, and is then read again."""

    def __init__(self) -> None:
        # Whether the role `load` runs an operation, and the numbers of those in a block, about which many steps ask.
        self._is_load: dict[ir.Operation, bool] = {}
        self._loads: dict[ir.Block, set[int]] = {}

    def __missing__(self, block: ir.Block) -> list[ir.Operation]:
        operations = self[block] = operations_in(block)
        for op in operations:
            if op not in self._is_load:
                self._is_load[op] = role_of(op) == LOAD
        self._loads[block] = {number for number, op in enumerate(operations) if self._is_load[op]}
        return operations

    def around(self, op: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
        """The operations of the block of an operation before it, and those after it."""
        operations = self[op.block]
        at = operations.index(op)
        return operations[:at], operations[at + 1 :]

    def of_threads(self, step: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
        """The same without the loads of the role `load` into other channels, which run beside a step of threads."""
        operations, slot = self[step.block], step.operands[0]
        loads = {number for number in self._loads[step.block] if slot not in operations[number].operands}
        others = [op for number, op in enumerate(operations) if number not in loads]
        at = others.index(step)
        return others[:at], others[at + 1 :]


def _signal_first(commit: ir.Operation, order: _Order) -> None:
    """Inserts a barrier for the assembler after a signal in a loop, if threads compute and store a tile after it."""
    if not is_repeated(commit):
        return
    role = role_of(commit)
    _, following = order.around(commit)
    own = (op for op in following if role_of(op) in (role, None))
    computed = itertools.takewhile(lambda op: op.name == _STORE or _is_pure(op) or op.name == _SLOT, own)
    if any(op.name == _STORE for op in computed):
        with commit.location, ir.InsertionPoint.after(commit):
            made = emitter.gpu(ScheduleBarrierOp, [], [])
        del order[commit.block]
        set_compute_role(made.operation, compute_role(commit))


def _waits(put: ir.Operation) -> bool:
    """Whether threads wait for a slot of tensor memory."""
    channel = put.opview.channel.owner.opview
    in_tensor_memory = any(result.type.memory == TENSOR for result in put.results)
    return channel.producer == THREADS and channel.reuse == "ring" and in_tensor_memory


def _release_late(release: ir.Operation, order: _Order) -> None:
    """Moves the release of a slot to after the reduction of the tile that was loaded from it."""
    before, following = order.of_threads(release)
    if not before or before[-1].name != _LOAD or compute_role(before[-1]) != compute_role(release):
        return
    reduced = _reduction(before[-1].results[0])
    if reduced is None or reduced not in following:
        return
    if all(_is_pure(op) or _is_of_read(op) for op in following[: following.index(reduced)]):
        release.move_after(reduced)
        del order[release.block]


def _reduction(tile: ir.Value) -> ir.Operation | None:
    """The first reduction of a tile, or of a tile that is computed from its elements one by one."""
    users = users_of(tile)
    if len(users) == 1 and (interface_of(users[0].name).is_elementwise or users[0].name in _RENAMING):
        return _reduction(users[0].results[0])
    return next((user for user in users if user.name == _REDUCE), None)


def _is_of_read(op: ir.Operation) -> bool:
    """Whether a step gets, reads or releases a tile that TMA has loaded for threads."""
    if op.name in (GET, _RELEASE):
        return op.operands[0].owner.opview.producer == TMA
    return op.name == _LOAD_SHARED


def _ends_read(release: ir.Operation, order: _Order) -> bool:
    """Whether a release in a loop follows the only read of a tile that TMA has loaded for threads."""
    before, _ = order.of_threads(release)
    if not is_repeated(release) or not _is_of_read(release) or [op.name for op in before[-2:]] != [GET, _LOAD_SHARED]:
        return False
    get, load = before[-2:]
    return get.operands[0] == release.operands[0] and load.operands[0] in get.results


def _read_late(release: ir.Operation, order: _Order) -> None:
    """Moves the read before a release, and arithmetic on its tile alone, to before the first use beside another tile.

    The wait is then beside the one before it, and the release after the reduction of the tile, or before the next step,
    as both end a run of instructions.
    """
    before, following = order.of_threads(release)
    if not any(op.name in (_LOAD, WgmmaWaitOp.OPERATION_NAME) for op in (*before, *following)):
        return
    moved, values = [*before[-2:], release], set(before[-1].results)
    for op in following:
        if values.isdisjoint(used_by([op])):
            continue
        if not _is_pure(op) or _needs_others(op, values):
            break
        moved.append(op)
        values.update(op.results)
    else:
        return
    if not _is_pure(op):
        return
    get, load, _, *arithmetic = moved
    steps = [each for each in following[: following.index(op)] if not _is_pure(each) and each.name != _LOAD]
    if steps:
        get.move_after(steps[-1])
    for each in (load, *arithmetic):
        each.move_before(op)
    del order[release.block]
    _, later = order.of_threads(op)
    run = list(itertools.takewhile(_is_pure, later))
    reduced = _reduction(load.results[0])
    release.move_after(reduced if reduced is not None and reduced in run else (op, *run)[-1])
    del order[release.block]


def _needs_others(op: ir.Operation, values: Set[ir.Value]) -> bool:
    """Whether an operation needs tiles of its block besides `values`."""
    others = (owner_of(value) for value in op.operands if value not in values)
    return any(owner is not None and owner.block == op.block for owner in others)


def _compute_before(put: ir.Operation, order: _Order) -> None:
    """Moves arithmetic that needs no slot to before the wait for the slot."""
    _, following = order.around(put)
    own = list(itertools.takewhile(lambda op: not _is_other_step(op, put), following))
    stored = _stored(own)
    moved = list[ir.Operation]()
    for op in own:
        owners = [owner for value in op.operands if (owner := owner_of(value)) is not None]
        if _is_pure(op) and op not in stored and all(owner in moved or owner not in following for owner in owners):
            moved.append(op)
    for op in moved:
        op.move_before(put)
    if moved:
        del order[put.block]


def _stored(operations: Sequence[ir.Operation]) -> set[ir.Operation]:
    """The stores in tensor memory among some operations, and those that compute the stored tiles."""
    found = set[ir.Operation]()
    for op in reversed(operations):
        if op.name == _STORE or any(user in found for result in op.results for user in users_of(result)):
            found.add(op)
    return found


def _is_other_step(op: ir.Operation, put: ir.Operation) -> bool:
    """Whether an operation of the role ends the code around a put."""
    return op.name not in (_STORE, _COMMIT) and compute_role(op) == compute_role(put) and not _is_pure(op)


def _is_pure(op: ir.Operation) -> bool:
    return op.name.startswith(_PURE)
