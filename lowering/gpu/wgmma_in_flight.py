"""Leaves the wgmma of a loop in flight while the next iteration issues its own.

Before, in the loop of role `compute` that carries an accumulator:   get, wgmma, wait pending 0, release
after:              get, wgmma, wait pending 1, release of the slot of the iteration before; after the loop the rest
"""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import WGMMA
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.upstream_predicates import predicate_attribute
from tilec.dialect.walk import operations_below
from tilec.lowering.tile_to_gpu import emitter

_MULTIPLY, _WAIT = "tile_gpu.wgmma", "tile_gpu.wgmma_wait"
# One slot is read by the multiply in flight, and another by the one that is issued.
_LEAST_STAGES = 2


@dataclass(frozen=True)
class _Multiply:
    """The only multiply of a loop, whose accumulator the loop carries as value number `index`."""

    loop: ir.Operation
    index: int
    wait: ir.Operation
    releases: list[ir.Operation]


def wgmma_in_flight(kernel: KernelOp) -> None:
    """Rewrites a tile_gpu.kernel in place; run after the kernel is split into roles and rings have their slots.

    Without roles the threads that multiply fill the slots too, and would wait for slots that they release later.
    """
    roles = [op for op in kernel.operation.regions[0].blocks[0].operations if op.operation.name == "tile_gpu.roles"]
    for op in [inner.operation for role in roles for inner in operations_below(role)]:
        found = _multiply(op) if op.name == "scf.for" else None
        if found is not None:
            _leave_in_flight(found)


def _multiply(loop: ir.Operation) -> _Multiply | None:
    body = loop.regions[0].blocks[0]
    operations = [op.operation for op in body.operations]
    inside = [op.operation for op in operations_below(loop.opview) if op.operation.name in (_MULTIPLY, _WAIT)]
    if [op.name for op in inside] != [_MULTIPLY, _WAIT] or any(op not in operations for op in inside):
        return None
    multiply, wait = inside
    accumulator, arguments = multiply.operands[0], list(body.arguments)
    if (
        wait.operands[0] != multiply.results[0]
        or accumulator not in arguments
        or not _may_be_in_flight(multiply.opview)
    ):
        return None
    index = arguments.index(accumulator) - 1
    if index < 0 or operations[-1].operands[index] != wait.results[0]:
        return None
    if any(len(list(value.uses)) != 1 for value in (accumulator, multiply.results[0], wait.results[0])):
        return None
    releases = [op for op in operations[operations.index(wait) :] if _is_release(op)]
    if not all(_is_only_release(op, body) for op in releases):
        return None
    return _Multiply(loop, index, wait, releases)


def _may_be_in_flight(op: ir.OpView) -> bool:
    """Whether nothing reads or writes the registers of a multiply between iterations.

    The next iteration computes an lhs in registers; f16 is packed for the multiply.
    """
    return not (op.promote or is_register_tile(op.lhs.type) or str(op.accumulator.type.element_type) == "f16")


def _is_release(op: ir.Operation) -> bool:
    if op.name != "tile_gpu.release":
        return False
    consumers = ir.ArrayAttr(op.opview.channel.owner.attributes["consumers"])
    return ir.StringAttr(consumers[op.opview.consumer]).value == WGMMA


def _is_only_release(op: ir.Operation, body: ir.Block) -> bool:
    """Whether an iteration gets and releases one slot of a ring with room for two, and through no other channel."""
    channel = op.operands[0]
    made = channel.owner.opview
    if made.reuse != "ring" or made.shares is not None or made.stages < _LEAST_STAGES:
        return False
    users = [use.owner.operation for use in channel.uses]
    if any(user.name == "tile_gpu.make_channel" for user in users):
        return False
    own = [user for user in users if "consumer" in user.attributes and user.opview.consumer == op.opview.consumer]
    return (
        sorted(user.name for user in own if user.block == body)
        == ["tile_gpu.get", "tile_gpu.release"]
        == sorted(user.name for user in own)
    )


def _leave_in_flight(found: _Multiply) -> None:
    loop, wait = found.loop, found.wait
    body = loop.regions[0].blocks[0]
    lower, upper = list(loop.operands)[:2]
    result = loop.results[found.index]
    wait.attributes["pending"] = ir.IntegerAttr.get(emitter.integer_type(32), 1)
    with loop.location:
        with ir.InsertionPoint(wait):
            is_later = emitter.create(
                "arith.cmpi",
                [emitter.integer_type(1)],
                [body.arguments[0], lower],
                predicate=predicate_attribute("arith.cmpi", "ne"),
            ).result
        for release in found.releases:
            with release.location, ir.InsertionPoint(release), emitter.only_if(is_later):
                _release_late(release)
        uses = list(result.uses)
        with ir.InsertionPoint(loop):
            runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.attributes)
        with ir.InsertionPoint.after(loop):
            done = emitter.gpu("wgmma_wait", [result], [result.type], pending=0)
            for release in found.releases:
                with release.location, emitter.only_if(runs):
                    _release_late(release)
    for use in uses:
        use.owner.operation.operands[use.operand_number] = done.result
    for release in found.releases:
        release.erase()


def _release_late(release: ir.Operation) -> None:
    attributes = {"consumer": release.opview.consumer, "late": True}
    build("tile_gpu.release", [release.operands[0]], attributes=attributes)
