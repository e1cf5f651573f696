"""The loop over tiles whose iterations two roles may compute in turn, or the reason why they may not."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_STORES
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.atomic import AtomicGlobalOp, AtomicViewOp
from tilec.dialect.tile_gpu.operations.channel import TMA, WGMMA, GetOp, PutBeginOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import (
    COMPUTE,
    COPY,
    GdcWaitOp,
    KernelOp,
    NumProgramsOp,
    ProgramIdOp,
    ReturnOp,
    RolesOp,
)
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp, StoreWaitOp
from tilec.dialect.tile_gpu.operations.multimem import MultimemReduceViewOp, MultimemStoreViewOp
from tilec.dialect.tile_gpu.operations.tma import TmaStoreOp
from tilec.dialect.walk import inner_operations, is_within, operations_in, operations_of, with_inner
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.ir.operation_role import LOAD, has_repeatable_elements
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.memory.shared_plan import memory_plan
from tilec.lowering.target import Target
from tilec.remarks import Loss, Remark

_FOR, _GET, _WGMMA = "scf.for", GetOp.OPERATION_NAME, WgmmaOp.OPERATION_NAME
_STORES = (
    *(op.OPERATION_NAME for op in (AtomicGlobalOp, AtomicViewOp, MultimemReduceViewOp, MultimemStoreViewOp)),
    *(*GLOBAL_STORES, TmaStoreOp.OPERATION_NAME),
)
_MULTIPLIES = (_GET, ReleaseOp.OPERATION_NAME, _WGMMA, WgmmaWaitOp.OPERATION_NAME)
# The operations of every role before its first tile and after its last one.
_AROUND = (GdcWaitOp.OPERATION_NAME, StoreWaitOp.OPERATION_NAME, BarrierOp.OPERATION_NAME, ReturnOp.OPERATION_NAME)
# The warps of each of the two roles.
WARPS = 4
# Slots of a ring beyond which a second staging buffer is worth more.
_ENOUGH_SLOTS = 4
# The registers of a thread of two roles of four warps, beside the role of the loads.
_MOST_REGISTERS = 232
_FORM = "write 'for tile in range(ct.bid(0), tiles, ct.num_blocks(0))'"


@dataclass(frozen=True)
class AlternatingLoop:
    """The loop over tiles of a role that computes.

    Attributes:
        tiles: the loop over tiles.
        steps: the loop inside of it, which gets slots and multiplies.
        channel: the channel of these slots.
    """

    tiles: ir.Operation
    steps: ir.Operation
    channel: ir.Value


def alternating_loop(kernel: KernelOp, roles: RolesOp, target: Target) -> AlternatingLoop | Remark | None:
    """The loop whose tiles two roles may compute in turn.

    A remark with the reason if there is a loop that stores tiles of multiplies, but one role has to compute them; None
    without such a loop.
    """
    block = roles.bodies[COMPUTE].blocks[0]
    tiles = _loop_of_tiles(block)
    if tiles is None:
        return None
    reason = _role_refusal(kernel, roles) or _form_refusal(tiles, block)
    if reason is None:
        loop = loop_of_role(block)
        reason = _bound_refusal(loop, roles) or _channel_refusal(loop) or _access_refusal(loop)
        reason = reason or _room_refusal(kernel, roles, target)
        if reason is None:
            return loop
    message = f"multiplies of the next tile wait for the epilogue: {reason}"
    return Remark("roles", message, source_location(tiles.location), Loss("epilogue"))


def loop_of_role(block: ir.Block) -> AlternatingLoop:
    """The loop of a role of such a kernel."""
    (tiles,) = [op for op in operations_in(block) if op.name == _FOR]
    (steps,) = _loops_that_multiply(tiles)
    return AlternatingLoop(tiles, steps, _gets(tiles)[0].operands[0])


def _loop_of_tiles(block: ir.Block) -> ir.Operation | None:
    """The first loop that stores, and has loops inside of it that multiply."""
    for op in operations_of(block):
        beside = _beside_multiplies(op) if op.name in LOOPS else []
        if any(map(_multiplies, beside)) and any(each.name in _STORES for each in beside):
            return op
    return None


def _loops_that_multiply(loop: ir.Operation) -> list[ir.Operation]:
    return [op for op in _beside_multiplies(loop) if _multiplies(op)]


def _beside_multiplies(op: ir.Operation) -> list[ir.Operation]:
    """The operations inside of an operation, without those inside of loops that multiply."""
    inner = [each.operation for each in inner_operations(op.opview)]
    return [each for one in inner for each in (one, *([] if _multiplies(one) else _beside_multiplies(one)))]


def _multiplies(op: ir.Operation) -> bool:
    return op.name in LOOPS and any(each.name == _WGMMA for each in with_inner(op))


def _gets(loop: ir.Operation) -> list[ir.Operation]:
    return [op for op in with_inner(loop) if op.name == _GET]


def _role_refusal(kernel: KernelOp, roles: RolesOp) -> str | None:
    if COPY in roles.bodies:
        return "threads copy an operand that TMA cannot load"
    if list(roles.bodies) != [COMPUTE, LOAD]:
        return "several roles compute a tile"
    if kernel.warps != WARPS:
        return f"a tile has {kernel.warps} warps, and an SM has registers for two roles of {WARPS}: use smaller tiles"
    return None


def _form_refusal(tiles: ir.Operation, block: ir.Block) -> str | None:
    loops = [op for op in operations_in(block) if op.name in LOOPS]
    if tiles.name != _FOR:
        return f"the loop over tiles is a 'while' loop: {_FORM}"
    if loops != [tiles]:
        return "the loop over tiles is inside of another one, or beside one: merge the loops"
    if list(tiles.results):
        return "a tile uses values of the tile before it"
    if any(op.name == PutBeginOp.OPERATION_NAME for op in with_inner(tiles)):
        return "another role needs what threads compute for a tile"
    gets, steps = _gets(tiles), _loops_that_multiply(tiles)
    if len(steps) != 1 or steps[0].name != _FOR or steps[0].block != tiles.regions[0].blocks[0]:
        return "the multiplies of a tile are not those of one 'for' loop"
    if len({op.operands[0] for op in gets}) != 1 or {op.block for op in gets} != {steps[0].regions[0].blocks[0]}:
        return "not all tiles that TMA loads are operands of its multiplies"
    return None


def _bound_refusal(loop: AlternatingLoop, roles: RolesOp) -> str | None:
    """Both roles count the tiles, and the slots of each other's tiles."""
    lower, upper, step = list(loop.tiles.operands)[:3]
    is_strided = isinstance(lower.owner, ProgramIdOp) and isinstance(step.owner, NumProgramsOp)
    if not is_strided or "unsignedCmp" in loop.tiles.attributes:
        return f"the loop over tiles does not go from the number of the block in steps of the number of blocks: {_FORM}"
    if any(is_within(value, roles) for value in (lower, upper, step)):
        return "the number of tiles comes from memory: pass it as an argument"
    bounds = list(loop.steps.operands)[:3]
    if any(is_within(value, roles) for value in bounds) or bounds[0].type != lower.type:
        return "the number of multiplies may differ between tiles"
    return None


def _channel_refusal(loop: AlternatingLoop) -> str | None:
    """Only positions of a consumer of a ring can be skipped."""
    made = loop.channel.owner.opview
    if made.producer != TMA or made.shares is not None or made.reuse != "ring":
        return "TMA does not load all operands of its multiplies"
    if made.consumer_names != [WGMMA]:
        return "threads read operands of its multiplies"
    return None


def _access_refusal(loop: AlternatingLoop) -> str | None:
    """Each role repeats what is outside of the loop; only epilogues are in the order of their tiles."""
    around = [op for op in operations_in(loop.tiles.block) if op != loop.tiles]
    if not all(op.name in _AROUND or is_pure(op) for op in around):
        return "memory is accessed before or after the loop: do so in another kernel"
    before = itertools.takewhile(lambda op: op != loop.steps, operations_in(loop.steps.block))
    inside = [inner for op in (*before, loop.steps) for inner in with_inner(op)]
    if not all(op.name in _MULTIPLIES or _is_pure_itself(op) for op in inside):
        return "a tile accesses memory before its multiplies are complete: do so after them"
    return None


def is_pure(op: ir.Operation) -> bool:
    """Whether neither an operation nor those inside of it have effects, or read memory that others may write."""
    return all(map(_is_pure_itself, with_inner(op)))


def _is_pure_itself(op: ir.Operation) -> bool:
    return op.name.startswith("scf.") or interface_of(op.name).is_pure or has_repeatable_elements(op)


def _room_refusal(kernel: KernelOp, roles: RolesOp, target: Target) -> str | None:
    """A block has the registers of two roles, and memory for two staging buffers without a ring that is too short."""
    registers = tile_peak(roles.bodies[COMPUTE].blocks[0]).needed
    if registers > _MOST_REGISTERS:
        return f"a thread of two roles has {_MOST_REGISTERS} registers, and needs {registers}: use smaller tiles"
    plan = memory_plan(kernel)
    slot = sum(channel.slot_bytes for channel in plan.channels.values())
    staging, scratch = sum(plan.staging.values()), scratch_bytes(kernel)
    free = target.shared_bytes - plan.declared_bytes + slot - scratch
    slots = min(_ENOUGH_SLOTS, free // slot)
    if free - staging - scratch < slots * slot:
        return (
            f"{slots} slots of {slot} bytes and {staging + scratch} bytes of shared memory for a second epilogue do "
            "not fit: use smaller tiles"
        )
    return None
