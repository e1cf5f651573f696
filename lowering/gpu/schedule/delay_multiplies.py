"""A `wgmma` that ends an iteration is issued in the next one, so that the tensor core multiplies while threads compute.

before:   for i < n { s = q @ k(i);  wait s;  p = f(s);  o = o * g(s) + p @ v(i);  wait o }
after:    p, o of the first iteration
          for 1 <= i < n { s = q @ k(i);  o += p @ v(i - 1);  wait s;  f(s);  wait o;  p = f(s);  o = o * g(s) }
          o += p @ v(n - 1);  wait o

All but that multiply is scheduled an iteration ahead. The registers of p are written again after the multiply that
reads them, so that only p and the sums s are live at once. Several multiplies may compute s, as of two parts of the
depth. If k and v are one tile, the multiply gets its slot as another consumer of the ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.operations.channel import THREADS, TMA, MakeChannelOp, PutBeginOp, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, operations_inside, operations_of, owner_of, users_of, with_inner
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.build_channels import get_slot, release_slot
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.ir.slots import GET, VIEW, has_own_slots, step_of_buffer, users_of_slot
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.live_tiles import REGISTER_BITS, tile_peak
from tilec.lowering.gpu.roles.register_budgets import registers_for
from tilec.lowering.gpu.schedule.legal_schedules import operations_of_body, write_schedules
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.layout.linear_layout import parse_layout

_MULTIPLY, _WAIT = WgmmaOp.OPERATION_NAME, WgmmaWaitOp.OPERATION_NAME
# Of a slot that others read: one for each of two multiplies, and one that is filled meanwhile.
_SHARED_SLOTS = 3
_FILLS = (PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME)
# Threads of a cluster keep addresses of barriers of other CTAs: with 22 registers beside the tiles of masked attention
# (128x128, d = 256) ptxas 13.5 spilled 208 bytes.
CLUSTER_REGISTERS = 24
# Registers that a thread has beside those needed while multiplies of its warpgroup are in flight: ptxas 13.5 serializes
# them (C7511) in attention with tiles of 64x128, where 241 of 255 are needed.
WARPGROUP_MARGIN = 16


@dataclass(frozen=True)
class _Part:
    """The operations of one multiply that are executed an iteration later.

    Attributes:
        start: the get of rhs, its views, and the multiply.
        end: the wait and the release.
        carried: the number of the carried value that is the result of the wait.
        others: the multiplies that read the same slot, until this one has a get of its own.
    """

    start: list[ir.Operation]
    end: list[ir.Operation]
    carried: int
    others: list[ir.Operation]

    @property
    def multiply(self) -> ir.Operation:
        return self.start[-1]


@dataclass(frozen=True)
class _Delayed:
    """The multiplies of a body that are executed an iteration later, all of one lhs.

    Attributes:
        parts: the multiplies in their order.
        first: the multiply of the iteration that is issued before them.
    """

    parts: list[_Part]
    first: ir.Operation

    @property
    def lhs(self) -> ir.Value:
        return self.parts[0].multiply.opview.lhs

    @property
    def members(self) -> list[ir.Operation]:
        return [op for part in self.parts for op in (*part.start, *part.end)]


def delay_multiplies(kernel: KernelOp, context: Context) -> None:
    """Gives the loops of roles schedules, where that is possible; run after rings have their slots.

    Roles without register budgets get some if a delayed multiply needs more than an equal share, with the option
    `register_budgets`. With several blocks on an SM, no multiply is delayed whose rhs has one slot: the next load would
    begin after the delay, and another block multiplies meanwhile.
    """
    roles, least_slots = kernel.roles, 2 if blocks_of_hint(kernel) > 1 else 1
    if roles is None:
        return
    reserve = CLUSTER_REGISTERS if kernel.ctas > 1 else 0
    for number, region in enumerate(roles.bodies.values()):
        for loop in [op for op in operations_of(region.blocks[0]) if op.name == "scf.for"]:
            found = _delayed(loop.regions[0].blocks[0], least_slots)
            needed = 0 if found is None else _needed_registers(loop, found) + reserve
            if found is not None and needed <= registers_for(kernel, number, needed, context.options):
                if any(part.others for part in found.parts):
                    found = replace(found, parts=[_with_own_get(part) for part in found.parts])
                    context.changed()
                write_schedules(kernel, {loop: _order(loop, found)}, context)


def _needed_registers(loop: ir.Operation, found: _Delayed) -> int:
    """The registers of a thread if lhs is live until the next iteration; a register has two of its 16-bit elements."""
    lhs = found.lhs
    elements = parse_layout(ir.StringAttr(lhs.type.encoding).value).register_count
    bits = element_bits(lhs.type.element_type)
    return tile_peak(loop.regions[0].blocks[0]).needed + elements * bits // REGISTER_BITS


# ---- the multiply that is delayed


def _delayed(body: ir.Block, least_slots: int) -> _Delayed | None:
    """The last multiplies of one lhs in registers, if all of them update carried accumulators; else None.

    Each rhs has at least `least_slots` slots.
    """
    *operations, end = operations_in(body)
    multiplies = [op for op in operations if op.name == _MULTIPLY]
    last = [op for op in multiplies if op.opview.lhs == multiplies[-1].opview.lhs]
    others = [op for op in multiplies if op not in last]
    if not others or not is_register_tile(last[0].opview.lhs.type):
        return None
    if any(inner.name in (_MULTIPLY, _WAIT) for op in operations for inner in operations_inside(op)):
        return None
    if not all(map(only_wait, others)) or any(op.opview.promote for op in multiplies):
        return None
    parts = [part for op in last if (part := _part(op, end, least_slots)) is not None]
    found = _Delayed(parts, others[-1])
    if len(parts) < len(last) or any(op not in others for part in parts for op in part.others):
        return None
    return found if all(_is_last(part, found, operations) for part in parts) else None


def _part(multiply: ir.Operation, end: ir.Operation, least_slots: int) -> _Part | None:
    """A multiply whose result the body only awaits and carries, with what is executed with it."""
    wait, (get, views), others = only_wait(multiply), get_of(multiply.opview.rhs), list[ir.Operation]()
    if get is None and (shared := _divisible_get(multiply.opview.rhs)) is not None:
        others = [op for slot in shared.results for op in users_of_slot(slot) if op.name != VIEW and op != multiply]
        get, least_slots = shared if others else None, _SHARED_SLOTS
    release = None if get is None else only_release(get, multiply.block, least_slots)
    if wait is None or get is None or release is None:
        return None
    carried = [number for number, value in enumerate(end.operands) if value == wait.results[0]]
    if len(carried) != 1 or len(list(wait.results[0].uses)) != 1:
        return None
    return _Part([get, *views, multiply], [wait, release], carried[0], others)


def _divisible_get(buffer: ir.Value) -> ir.Operation | None:
    """The get of the slot of a buffer, if the channel has one consumer, which has no other get and one release."""
    get = step_of_buffer(buffer)
    if get is None or get.name != GET:
        return None
    channel: MakeChannelOp = get.operands[0].owner.opview
    steps = [op for op in users_of(channel.channel) if "consumer" in op.attributes]
    is_alone = len(steps) == 2 and len(channel.consumer_names) == 1
    return get if is_alone and channel.producer == TMA and channel.across is None else None


def _with_own_get(part: _Part) -> _Part:
    """A part whose multiply gets a slot that others read as another consumer: these release it after their waits."""
    if not part.others:
        return part
    (get, multiply), (_, release) = part.start, part.end
    channel, waits = get.operands[0], [only_wait(op) for op in part.others]
    names = channel.owner.opview.consumer_names
    channel.owner.attributes["consumers"] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in [*names, *names]])
    last = next(op for op in reversed(operations_in(get.block)) if op in waits)
    with release.location, ir.InsertionPoint.after(last):
        release_slot(channel)
    release.attributes["consumer"] = ir.IntegerAttr.get(emitter.integer_type(32), 1)
    buffer, views = multiply.opview.rhs, list[ir.Operation]()
    while (view := owner_of(buffer)) is not None and view != get:
        views.insert(0, view)
        buffer = view.operands[0]
    with get.location, ir.InsertionPoint(multiply):
        made = [get_slot(channel, 1)]
        own = made[0].results[list(get.results).index(buffer)]
        for view in views:
            made.append(view.clone().operation)
            made[-1].operands[0] = own
            own = made[-1].results[0]
    multiply.operands[list(multiply.operands).index(multiply.opview.rhs)] = own
    return replace(part, start=[*made, multiply], others=[])


def only_wait(multiply: ir.Operation, pending: int = 0) -> ir.Operation | None:
    """The wait in the block of a multiply that alone uses its result, and leaves `pending` multiplies in flight."""
    users = users_of(multiply.results[0])
    is_wait = [user.name for user in users] == [_WAIT] and users[0].block == multiply.block
    return users[0] if is_wait and users[0].opview.pending == pending else None


def get_of(buffer: ir.Value) -> tuple[ir.Operation | None, list[ir.Operation]]:
    """The get of a slot with one buffer that only one multiply uses, and the views between."""
    views = list[ir.Operation]()
    while (op := owner_of(buffer)) is not None and len(list(buffer.uses)) == 1:
        if op.name == GET:
            return (op, views) if len(op.results) == 1 else (None, [])
        if op.name != VIEW:
            break
        views.insert(0, op)
        buffer = op.operands[0]
    return None, []


def only_release(get: ir.Operation, body: ir.Block, least_slots: int) -> ir.Operation | None:
    """The release of a slot, if the body gets and releases one slot of a ring that no channel shares."""
    made: MakeChannelOp = get.operands[0].owner.opview
    # Another consumer has gets and releases of its own.
    number = get.opview.consumer
    users = [op for op in users_of(get.operands[0]) if "consumer" not in op.attributes or op.opview.consumer == number]
    has_slots = made.producer == THREADS or made.producer == TMA and made.stages >= least_slots
    if made.reuse != "ring" or not has_own_slots(made) or not has_slots:
        return None
    inside = [op for op in users if op.block == body and op.name not in _FILLS]
    releases = [op for op in inside if op.name == ReleaseOp.OPERATION_NAME]
    is_alone = len(inside) == 2 and len(releases) == 1 and get.block == body
    return releases[0] if is_alone else None


def _is_last(part: _Part, found: _Delayed, operations: Sequence[ir.Operation]) -> bool:
    """Whether lhs and accumulator of a delayed multiply are computed after the waits of the others.

    An accumulator that is not scaled is the carried one.
    """
    rest = [op for op in operations if op not in found.members]
    waits = [number for number, op in enumerate(rest) if op.name == _WAIT]
    multiply = part.multiply.opview
    carried = found.first.block.arguments[part.carried + 1]
    computed = [value.owner for value in (multiply.lhs, multiply.accumulator) if value != carried]
    made = [owner.operation for owner in computed if not isinstance(owner, ir.Block) and owner.operation in rest]
    return len(made) == len(computed) and all(rest.index(op) > waits[-1] for op in made)


# ---- the schedule


def _order(loop: ir.Operation, found: _Delayed) -> LoopOrder:
    """The body with the delayed multiplies after the others, which are an iteration ahead of them."""
    body = loop.regions[0].blocks[0]
    rest = [op for op in operations_of_body(loop) if op not in found.members]
    # Threads that fill the slot of rhs wait until the multiply has read it.
    for part in found.parts:
        filling = _filling(rest, part.start[0].operands[0])
        rest = [*(op for op in rest if op not in filling), *filling]
    started = rest.index(found.first) + 1
    awaited = min(_first_use(rest, body.arguments[part.carried + 1], found.lhs) for part in found.parts)
    order = [
        *((op, 1) for op in rest[:started]),
        *((op, 0) for part in found.parts for op in part.start),
        *((op, 1) for op in rest[started:awaited]),
        *((op, 0) for part in found.parts for op in part.end),
        *((op, 1) for op in rest[awaited:]),
    ]
    return [(op, ahead) for op, ahead in order if not is_rematerializable(op)]


def _filling(rest: Sequence[ir.Operation], channel: ir.Value) -> list[ir.Operation]:
    """The operations of a body that fill a slot of a channel, with those that compute only what is stored there."""
    begins = [op for op in rest if op.name in _FILLS and op.operands[0] == channel]
    found = {*begins, *(user for op in begins for result in op.results for user in users_of(result))}
    for op in reversed(rest):
        users = [user for result in op.results for user in users_of(result)]
        if users and found.issuperset(users) and op.name not in GLOBAL_LOADS:
            found.add(op)
    taken = {op.operands[0] for op in found if op.name == GET}
    return [op for op in rest if op in found or op.name == ReleaseOp.OPERATION_NAME and op.operands[0] in taken]


def _first_use(rest: Sequence[ir.Operation], accumulator: ir.Value, lhs: ir.Value) -> int:
    """The number of the operation that first uses the accumulator, or writes the registers of lhs."""

    def needs(op: ir.Operation) -> bool:
        inside = with_inner(op)
        return lhs in list(op.results) or any(accumulator in list(inner.operands) for inner in inside)

    return next(number for number, op in enumerate(rest) if needs(op))
