"""Loops that wait for the multiplies of warpgroups of the iteration before, and release its slots.

before:   get {schedule 1, 0};  wgmma {1, 1};  wait pending 0 {0, 2};  release {0, 3}
after:    get, wgmma, wait pending 1, release of the slot of the iteration before; after the loop the rest

Several multiplies are left in flight if each has an accumulator of its own, which the next iteration adds to.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import WGMMA, GetOp, PutBeginOp, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, operations_inside, terminator_of, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.ir.slots import has_own_slots
from tilec.lowering.gpu.loops.pending_multiplies import MOST_PENDING

_MULTIPLY, _WAIT = WgmmaOp.OPERATION_NAME, WgmmaWaitOp.OPERATION_NAME


@dataclass(frozen=True)
class LateWaits:
    """The waits for the multiplies of a loop that the next iteration may execute.

    Attributes:
        loop: the loop.
        accumulators: the numbers of the carried accumulators.
        waits: the wait for the multiply of each.
        releases: the releases of the slots of the multiplies.
    """

    loop: ir.Operation
    accumulators: list[int]
    waits: list[ir.Operation]
    releases: list[ir.Operation]

    def order(self) -> LoopOrder:
        """The body in program order, all but waits and releases an iteration ahead."""
        late = {*self.waits, *self.releases}
        *operations, _ = operations_in(self.loop.regions[0].blocks[0])
        return [(op, int(op not in late)) for op in operations if not is_rematerializable(op)]


def late_waits(loop: ir.Operation) -> LateWaits | None:
    """The waits of a loop that may be late; None if a multiply has to be awaited in its iteration."""
    body = loop.regions[0].blocks[0]
    inside = [op for op in operations_inside(loop) if op.name in (_MULTIPLY, _WAIT)]
    multiplies = [op for op in inside if op.name == _MULTIPLY]
    waits = [op for op in inside if op.name == _WAIT]
    if not 0 < len(multiplies) <= MOST_PENDING:
        return None
    operations = operations_in(body)
    if any(op not in operations for op in inside):
        return None
    accumulators = [_carried(multiply, body) for multiply in multiplies]
    if [wait.operands[0] for wait in waits] != [multiply.results[0] for multiply in multiplies]:
        return None
    releases = [op for op in operations[operations.index(waits[0]) :] if _is_release(op)]
    known = [index for index in accumulators if index is not None]
    if len(known) != len(accumulators) or not all(_is_only_release(op) for op in releases):
        return None
    return LateWaits(loop, known, waits, releases)


def _carried(multiply: ir.Operation, body: ir.Block) -> int | None:
    """The number of the carried value that only this multiply uses, and whose next value is its result; or None."""
    accumulator, arguments = multiply.operands[0], list(body.arguments)
    if accumulator not in arguments[1:] or not _may_be_in_flight(multiply.opview):
        return None
    users = users_of(multiply.results[0])
    index = arguments.index(accumulator) - 1
    yielded = terminator_of(body).operands[index]
    if [user.name for user in users] != [_WAIT] or yielded != users[0].results[0]:
        return None
    return index if all(len(list(value.uses)) == 1 for value in (accumulator, yielded)) else None


def _may_be_in_flight(op: ir.OpView) -> bool:
    """Whether nothing reads or writes the registers of a multiply between iterations.

    The next iteration computes an lhs, or metadata, in registers; f16 is packed for the multiply.
    """
    in_registers = is_register_tile(op.lhs.type) or op.metadata is not None
    return not (op.promote or in_registers or str(op.accumulator.type.element_type) == "f16")


def _is_release(op: ir.Operation) -> bool:
    if op.name != ReleaseOp.OPERATION_NAME:
        return False
    step = op.opview
    return bool(step.channel.owner.consumer_names[step.consumer] == WGMMA)


def _is_only_release(op: ir.Operation) -> bool:
    """Whether an iteration gets and releases one slot of a ring, and through no other channel.

    Wherever else the consumer has a slot, it gets and releases it too, so that it has none before the loop.
    """
    channel = op.operands[0]
    made = channel.owner.opview
    if made.reuse != "ring" or not has_own_slots(made):
        return False
    steps = [user for user in users_of(channel) if user.name in (GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME)]
    own = [user for user in steps if user.opview.consumer == op.opview.consumer]
    blocks = {user.block for user in own}
    return all(_has_one_slot(block, own) and blocks.isdisjoint(_around(block)) for block in blocks)


def _has_one_slot(block: ir.Block, users: Collection[ir.Operation]) -> bool:
    """Whether those of the users that are in a block are one get and then one release."""
    names = [op.operation.name for op in block.operations if op.operation in users]
    return names == [GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME]


def _around(block: ir.Block) -> Iterator[ir.Block]:
    """The blocks around a block, to that of the kernel."""
    while (owner := block.owner.operation).name != KernelOp.OPERATION_NAME:
        yield (block := owner.block)


def wait_late(found: LateWaits) -> None:
    """Rewrites a loop in place, which keeps its iterations."""
    loop = found.loop
    counter, (lower, upper) = loop.regions[0].blocks[0].arguments[0], list(loop.operands)[:2]
    for wait in found.waits:
        # Then those of the iteration before are complete, up to the multiply of this wait.
        wait.attributes["pending"] = ir.IntegerAttr.get(emitter.integer_type(32), len(found.waits))
    with loop.location:
        with ir.InsertionPoint(found.waits[0]):
            is_later = emitter.compare("ne", counter, lower)
        for release in found.releases:
            with release.location, ir.InsertionPoint(release), emitter.only_if(is_later):
                _release_late(release)
        results = [loop.results[index] for index in found.accumulators]
        uses = [list(result.uses) for result in results]
        with ir.InsertionPoint(loop):
            runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
        with ir.InsertionPoint.after(_last_signal(loop)):
            done = [emitter.gpu(WgmmaWaitOp, [result], [result.type], pending=0).result for result in results]
            for release in found.releases:
                with release.location, emitter.only_if(runs):
                    _release_late(release)
    for value, users in zip(done, uses, strict=True):
        for use in users:
            use.owner.operation.operands[use.operand_number] = value
    for release in found.releases:
        release.erase()


def _last_signal(loop: ir.Operation) -> ir.Operation:
    """The last of the branches that only signal other roles, directly after a loop; the loop if there are none."""
    following = itertools.dropwhile(lambda op: op != loop, (op.operation for op in loop.block.operations))
    last = loop
    for op in itertools.islice(following, 1, None):
        if op.name == "scf.if" and not list(op.results) and _only_signals(op):
            last = op
        elif not op.name.startswith("arith.") or any(operand in list(loop.results) for operand in op.operands):
            break
    return last


def _only_signals(branch: ir.Operation) -> bool:
    names = {op.name for op in operations_inside(branch)}
    return names <= {PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME, "scf.yield"}


def _release_late(release: ir.Operation) -> None:
    attributes = {"consumer": release.opview.consumer, "late": True}
    build(ReleaseOp.OPERATION_NAME, [release.operands[0]], attributes=attributes)
