"""Loops that wait for the multiplies of warpgroups after the next multiplies, and release their slots then.

before:   get {schedule 1, 0};  wgmma {1, 1};  wait pending 0 {0, 2};  release {0, 3}
after:    get, wgmma, wait pending 1, release of the slot of the iteration before; after the loop the rest

The last multiplies of an iteration are left in flight, one for each accumulator that the loop carries. Of an unrolled
body with one accumulator the wait of each multiply is then for the one before it, the first of the iteration before.
"""

from __future__ import annotations

import itertools
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
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
    """The waits for the multiplies of a loop that come after later multiplies.

    Attributes:
        loop: the loop.
        accumulators: the numbers of the carried accumulators.
        waits: the wait for each multiply, in the order of the multiplies.
        pending: the multiplies in flight after each wait.
        releases: the releases of the slots of the multiplies, by channel.
    """

    loop: ir.Operation
    accumulators: list[int]
    waits: list[ir.Operation]
    pending: int
    releases: dict[ir.Value, list[ir.Operation]]

    def held(self, channel: ir.Value) -> int:
        """The slots of a channel that multiplies in flight read: the releases by which each is later."""
        operations, count = operations_in(self.loop.regions[0].blocks[0]), len(self.waits)
        places = [operations.index(wait) for wait in self.waits]
        # The multiplies that are complete at each release, without late waits, and in the iteration before.
        complete = [bisect(places, operations.index(release)) for release in self.releases[channel]]
        earlier = [number - count for number in complete] + complete
        return max(
            len(complete) + number - bisect(earlier, last - self.pending) + 1 for number, last in enumerate(complete)
        )

    def order(self) -> LoopOrder:
        """The body in program order, all but the last waits and releases an iteration ahead."""
        late = {*self.waits[-self.pending :]}
        late.update(op for channel, releases in self.releases.items() for op in releases[-self.held(channel) :])
        *operations, _ = operations_in(self.loop.regions[0].blocks[0])
        return [(op, int(op not in late)) for op in operations if not is_rematerializable(op)]


def late_waits(loop: ir.Operation) -> LateWaits | None:
    """The waits of a loop that may be late; None if a multiply has to be awaited before the next one."""
    body = loop.regions[0].blocks[0]
    inside = [op for op in operations_inside(loop) if op.name in (_MULTIPLY, _WAIT)]
    multiplies = [op for op in inside if op.name == _MULTIPLY]
    waits = [op for op in inside if op.name == _WAIT]
    operations = operations_in(body)
    if not multiplies or any(op not in operations for op in inside):
        return None
    if [wait.operands[0] for wait in waits] != [multiply.results[0] for multiply in multiplies]:
        return None
    chains = [_chain(number, body) for number in range(len(loop.results))]
    accumulators = [number for number, chain in enumerate(chains) if chain]
    if sum(map(len, chains)) != len(multiplies):
        return None
    ends = {chain[-1] for chain in chains if chain}
    pending = len(list(itertools.takewhile(ends.__contains__, reversed(multiplies))))
    if pending > MOST_PENDING:
        return None
    releases = defaultdict[ir.Value, list[ir.Operation]](list)
    for op in operations[operations.index(waits[0]) :]:
        if _is_release(op):
            releases[op.operands[0]].append(op)
    if not all(_are_only_releases(found, body) for found in releases.values()):
        return None
    return LateWaits(loop, accumulators, waits, pending, dict(releases))


def _chain(number: int, body: ir.Block) -> list[ir.Operation]:
    """The multiplies that add to a carried value, each to the sums of the one before, which nothing else uses.

    Empty if the loop does not carry the sums of the last one as the next value.
    """
    value, chain = list(body.arguments)[1 + number], list[ir.Operation]()
    while len(uses := list(value.uses)) == 1:
        user = uses[0].owner.operation
        if user == terminator_of(body):
            return chain if uses[0].operand_number == number else []
        if user.name != _MULTIPLY or user.operands[0] != value or not _may_be_in_flight(user.opview):
            return []
        waits = users_of(user.results[0])
        if [wait.name for wait in waits] != [_WAIT]:
            return []
        chain.append(user)
        value = waits[0].results[0]
    return []


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


def _are_only_releases(releases: Sequence[ir.Operation], body: ir.Block) -> bool:
    """Whether a body releases slots of a ring one after the other, and through no other channel.

    Wherever else the consumer has a slot, it gets and releases it too, so that it has none before the loop.
    """
    channel, consumer = releases[0].operands[0], releases[0].opview.consumer
    made = channel.owner.opview
    if made.reuse != "ring" or not has_own_slots(made):
        return False
    steps = [user for user in users_of(channel) if user.name in (GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME)]
    own = [user for user in steps if user.opview.consumer == consumer]
    blocks = {user.block for user in own}
    if len(releases) != sum(user.block == body and _is_release(user) for user in own):
        return False
    return all(_has_slots_in_turn(block, own) and blocks.isdisjoint(_around(block)) for block in blocks)


def _has_slots_in_turn(block: ir.Block, users: Collection[ir.Operation]) -> bool:
    """Whether those of the users that are in a block are a get, then a release, as often as there are gets."""
    names = [op.operation.name for op in block.operations if op.operation in users]
    return names == [GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME] * (len(names) // 2)


def _around(block: ir.Block) -> Iterator[ir.Block]:
    """The blocks around a block, to that of the kernel."""
    while (owner := block.owner.operation).name != KernelOp.OPERATION_NAME:
        yield (block := owner.block)


def wait_late(found: LateWaits) -> None:
    """Rewrites a loop in place, which keeps its iterations."""
    loop = found.loop
    counter, (lower, upper) = loop.regions[0].blocks[0].arguments[0], list(loop.operands)[:2]
    held = {channel: found.held(channel) for channel in found.releases}
    for wait in found.waits:
        wait.attributes["pending"] = ir.IntegerAttr.get(emitter.integer_type(32), found.pending)
    with loop.location:
        with ir.InsertionPoint(found.waits[0]):
            is_later = emitter.compare("ne", counter, lower)
        for channel, releases in found.releases.items():
            for number, release in enumerate(releases):
                with release.location, ir.InsertionPoint(release):
                    if number < held[channel]:
                        with emitter.only_if(is_later):
                            _release_late(release)
                    else:
                        _release_late(release)
        results = [loop.results[index] for index in found.accumulators]
        uses = [list(result.uses) for result in results]
        with ir.InsertionPoint(loop):
            runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
        with ir.InsertionPoint.after(_last_signal(loop)):
            done = [emitter.gpu(WgmmaWaitOp, [result], [result.type], pending=0).result for result in results]
            for channel, releases in found.releases.items():
                for release in releases[: held[channel]]:
                    with release.location, emitter.only_if(runs):
                        _release_late(release)
    for value, users in zip(done, uses, strict=True):
        for use in users:
            use.owner.operation.operands[use.operand_number] = value
    for release in itertools.chain(*found.releases.values()):
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
