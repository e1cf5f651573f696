"""Two roles compute alternate tiles of a persistent loop (ping-pong): one multiplies while the other one stores.

before:   compute { for %t = %first to %n step %s { for %k .. { get; wgmma; release }  store } }
after:    compute  { for %t = %first      to %n step 2 * %s { for %k ..  store  skip } }
          compute1 { for %t = %first + %s to %n step 2 * %s { skip  for %k ..  store } }

Both roles get slots of one ring: each gets those of its tiles, and skips those of the other's. Two pairs of channels
without buffers order them. A role gets slots when the other one has got all of the tile before, as the parity of a
barrier tells a phase from the next one only. It accesses memory when the other one has stored the tile before, so that
accesses have the order of the tiles; a mainloop that takes longer than an epilogue never waits for that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import THREADS
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, COMPUTE_ROLES, KernelOp, ReturnOp, RolesOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp, SharedOp, StoreWaitOp
from tilec.dialect.walk import operations_in, owner_of, terminator_of, with_inner
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.build_channels import give, make_channel, take
from tilec.lowering.gpu.ir.enclosing import operations_after
from tilec.lowering.gpu.ir.operation_role import LOAD, SKIP, alternate
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.roles.alternating_loop import WARPS, AlternatingLoop, alternating_loop, is_pure, loop_of_role
from tilec.lowering.kernel_hints import blocks_of_hint

_STORE_WAIT, _BARRIER = StoreWaitOp.OPERATION_NAME, BarrierOp.OPERATION_NAME


@dataclass(frozen=True)
class _Tiles:
    """Numbers of the tiles of a block: first and second one, end, and step; each gets `slots` slots of the ring."""

    first: ir.Value
    second: ir.Value
    end: ir.Value
    step: ir.Value
    slots: ir.Value


def alternate_tiles(kernel: KernelOp, context: Context) -> bool:
    """Rewrites a tile_gpu.kernel in place; run after it is split into roles. Returns whether it does.

    The reason why one role computes all tiles is a remark. With the hint `occupancy` other blocks multiply
    beside an epilogue.
    """
    roles = kernel.roles
    if roles is None or alternate(roles) or blocks_of_hint(kernel) > 1:
        return False
    loop = alternating_loop(kernel, roles, context.target)
    if isinstance(loop, AlternatingLoop):
        _alternate(kernel, roles, loop)
        return True
    if loop is not None:
        context.remarks.append(loop)
    return False


def _alternate(kernel: KernelOp, roles: RolesOp, loop: AlternatingLoop) -> None:
    with kernel.operation.location, ir.InsertionPoint(roles.operation):
        tiles = _tiles(loop)
        # So that the number after the last tile does not wrap.
        largest = emitter.unsigned(tiles.step.type, 1 << 31)
        doubled = emitter.binary("arith.minui", emitter.binary("arith.addi", tiles.step, tiles.step), largest)
        signals = [make_channel([], THREADS, [THREADS], is_ring=False) for _ in range(4)]
        attributes = {"names": [*COMPUTE_ROLES[:2], LOAD], "warps": [WARPS, WARPS, 1]}
        bodies = build(RolesOp.OPERATION_NAME, attributes=attributes).opview.bodies
    _copy_role(roles.bodies[COMPUTE].blocks[0], bodies[COMPUTE_ROLES[1]])
    _move_role(roles.bodies[COMPUTE].blocks[0], bodies[COMPUTE])
    _move_role(roles.bodies[LOAD].blocks[0], bodies[LOAD])
    roles.operation.erase()
    for number, start in enumerate((tiles.first, tiles.second)):
        own = loop_of_role(bodies[COMPUTE_ROLES[number]].blocks[0])
        for index, bound in enumerate((start, tiles.end, doubled)):
            own.tiles.operands[index] = bound
        # The number after the last tile may exceed the signed numbers.
        own.tiles.attributes["unsignedCmp"] = ir.UnitAttr.get(kernel.operation.context)
        _add_order(own, number, signals[:2], signals[2:], tiles)


def _tiles(loop: AlternatingLoop) -> _Tiles:
    first, end, step = list(loop.tiles.operands)[:3]
    lower, upper, stride = list(loop.steps.operands)[:3]
    # If the loop runs, the difference is exact as an unsigned number.
    length = emitter.binary("arith.ceildivui", emitter.binary("arith.subi", upper, lower), stride)
    runs = emitter.less_than(lower, upper, "unsignedCmp" in loop.steps.attributes)
    zero = emitter.constant(lower.type, 0)
    slots = emitter.create("arith.select", [lower.type], [runs, length, zero]).result
    last = emitter.binary("arith.maxsi", end, emitter.constant(end.type, 0))
    return _Tiles(first, emitter.binary("arith.addi", first, step), last, step, slots)


def _move_role(block: ir.Block, region: ir.Region) -> None:
    operations, moved = operations_in(block), region.blocks.append()
    with ir.InsertionPoint(moved), operations[-1].location:
        end = build(ReturnOp.OPERATION_NAME)
    for op in operations[:-1]:
        op.move_before(end)


def _copy_role(block: ir.Block, region: ir.Region) -> None:
    """Copies a role, with staging buffers of its own."""
    copies = dict[ir.Value, ir.Value]()
    with ir.InsertionPoint(region.blocks.append()):
        for op in block.operations:
            copy = op.operation.clone()
            for inner in with_inner(copy):
                for index, operand in enumerate(inner.operands):
                    inner.operands[index] = _copied(operand, copies)
            copies.update(zip(op.operation.results, copy.results, strict=True))


def _copied(value: ir.Value, copies: dict[ir.Value, ir.Value]) -> ir.Value:
    """The copy of a value of the role, or of a staging buffer; other values themselves."""
    shared = owner_of(value)
    if value in copies or shared is None or shared.name != SharedOp.OPERATION_NAME:
        return copies.get(value, value)
    copy = shared.clone(ip=ir.InsertionPoint.after(shared))
    for index, lender in enumerate(shared.operands):
        copy.operands[index] = _copied(lender, copies)
    copies[value] = copy.results[0]
    return copies[value]


def _add_order(
    loop: AlternatingLoop, number: int, multiplied: Sequence[ir.Value], stored: Sequence[ir.Value], tiles: _Tiles
) -> None:
    """Adds the skips to the code of a role, and the steps of the channels that order both.

    A role gets the channels of its `number`: `multiplied` is filled when the other role has got all slots of the tile
    before, `stored` when it has stored that tile. The channels have no buffers.
    """
    block = loop.tiles.regions[0].blocks[0]
    tile, end = block.arguments[0], terminator_of(block)
    _erase_waits(operations_after(loop.steps))
    _erase_waits(operations_after(loop.tiles))
    with loop.tiles.location:
        with ir.InsertionPoint.at_block_begin(block):
            # Only the first tile of the block, which has role 0, follows no other.
            waits = None if number else emitter.less_than(tiles.first, tile, unsigned=True)
            follows = emitter.less_than(emitter.binary("arith.addi", tile, tiles.step), tiles.end, unsigned=True)
            if number:
                _skip(loop.channel, tiles.slots)
            _get(multiplied[number], waits)
        with ir.InsertionPoint.after(loop.steps):
            _put(multiplied[1 - number], follows)
            _get(stored[number], waits)
        with ir.InsertionPoint(end):
            # All threads signal, so that the one that issues copies has waited for them.
            build(_STORE_WAIT)
            _put(stored[1 - number], follows)
            if not number:
                _skip(loop.channel, tiles.slots)


def _erase_waits(operations: Iterable[ir.Operation]) -> None:
    """Erases the waits after a loop and before all accesses: the accesses of earlier tiles are complete there."""
    waits = (_STORE_WAIT, _BARRIER)
    for op in itertools.takewhile(lambda op: op.name in waits or is_pure(op), operations):
        if op.name in waits:
            op.erase()


def _skip(channel: ir.Value, slots: ir.Value) -> None:
    build(SKIP, [channel, slots], attributes={"consumer": 0})


def _get(signal: ir.Value, condition: ir.Value | None) -> None:
    with nullcontext() if condition is None else emitter.only_if(condition):
        take(signal)


def _put(signal: ir.Value, condition: ir.Value) -> None:
    with emitter.only_if(condition):
        give(signal)
