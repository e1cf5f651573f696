"""The slot and phase of each party of a channel: waits, barrier addresses and slot addresses.

`Lowering.state` holds the slot number (rings of several stages only) and the phase parity of each party.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS_AND_SKIPS
from tilec.dialect.tile_gpu.operations.channel import WGMMA, ReleaseOp
from tilec.dialect.tile_gpu.types import SHARED
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.memory.shared_plan import BARRIER_BYTES, PRODUCER, ChannelPlan, Party
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.value_parts import SlotAddress

# A ring whose slots are 0 and 1: the other one is next, and the phase changes after slot 1.
_TWO_SLOTS = 2


def party_of(operation: ir.Operation) -> Party:
    """The party of its channel that executes an operation."""
    if "consumer" not in operation.attributes:
        return PRODUCER
    return Party(ir.IntegerAttr(operation.attributes["consumer"]).value)


def start_parties(lowering: Lowering, operations: Iterable[ir.Operation]) -> None:
    """Initializes slot and phase of every party of these operations."""
    operations = list(operations)
    late = {
        _key(lowering.plan.channels[op.operands[0]], party_of(op))
        for op in _nested(operations)
        if op.name == ReleaseOp.OPERATION_NAME and op.opview.late
    }
    for key, channel, is_put in _parties(lowering, operations):
        # A wait for the parity before the first phase succeeds immediately: every slot starts empty.
        _set(lowering, key, "phase", lowering.b.compute(f"mov.b32 $0, {int(is_put)};", lowering.b.i32))
        if channel.stages > 1:
            _set(lowering, key, "slot", lowering.b.compute("mov.b32 $0, 0;", lowering.b.i32))
        # Parties that count their releases apart.
        if key in late:
            _set(lowering, key, "released", lowering.b.compute("mov.b32 $0, 0;", lowering.b.i32))


def _nested(operations: Iterable[ir.Operation]) -> Iterator[ir.Operation]:
    for operation in operations:
        yield operation
        yield from operations_inside(operation)


def _key(channel: ChannelPlan, party: Party) -> str:
    return f"{channel.name}.{party}"


def _set(lowering: Lowering, key: str, name: str, register: ir.Value) -> None:
    lowering.state[f"{key}.{name}"] = [register]


def _parties(lowering: Lowering, operations: Iterable[ir.Operation]) -> list[tuple[str, ChannelPlan, bool]]:
    """The parties of these operations, each with its channel and whether it is the producer."""
    found: dict[str, tuple[str, ChannelPlan, bool]] = {}
    for op in _nested(operations):
        if op.name in STEPS_AND_SKIPS:
            channel, party = lowering.plan.channels[op.operands[0]], party_of(op)
            found[_key(channel, party)] = (_key(channel, party), channel, party.is_producer)
    return [found[key] for key in sorted(found)]


def slot_and_phase(lowering: Lowering, channel: ChannelPlan, party: Party) -> tuple[ir.Value | None, ir.Value]:
    """The slot number (None for channels of one stage) and the phase parity of a party."""
    key = _key(channel, party)
    slot = lowering.state.get(f"{key}.slot")
    return (slot[0] if slot else None), lowering.state[f"{key}.phase"][0]


def advance(lowering: Lowering, channel: ChannelPlan, party: Party, *, first_round: bool = False) -> None:
    """Advances a party to the next slot; in the `first_round` the phase is known not to change."""
    (slot, phase), b = slot_and_phase(lowering, channel, party), lowering.b
    key = _key(channel, party)
    if first_round and slot is not None:
        _set(lowering, key, "slot", b.compute("add.s32 $0, $1, 1;", b.i32, slot))
        return
    if slot is None:
        _set(lowering, key, "phase", b.compute("xor.b32 $0, $1, 1;", b.i32, phase))
        return
    following, phase = _next_slot(lowering, channel, slot, phase)
    _set(lowering, key, "slot", following)
    _set(lowering, key, "phase", phase)


def _next_slot(lowering: Lowering, channel: ChannelPlan, slot: ir.Value, phase: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The slot after another one, and its phase, which is the other one after the last slot."""
    b = lowering.b
    if channel.stages == _TWO_SLOTS:
        return b.compute("xor.b32 $0, $1, 1;", b.i32, slot), b.compute("xor.b32 $0, $1, $2;", b.i32, phase, slot)
    flipped = b.compute("xor.b32 $0, $1, 1;", b.i32, phase)
    following = b.compute("add.s32 $0, $1, 1;", b.i32, slot)
    wraps = b.compute(f"setp.eq.s32 $0, $1, {channel.stages};", b.i1, following)
    following = b.compute("selp.b32 $0, 0, $1, $2;", b.i32, following, wraps)
    return following, b.compute("selp.b32 $0, $1, $2, $3;", b.i32, flipped, phase, wraps)


def skip(lowering: Lowering, channel: ChannelPlan, party: Party, count: ir.Value) -> None:
    """Advances a party by a number of slots."""
    (slot, phase), b = slot_and_phase(lowering, channel, party), lowering.b
    key, rounds = _key(channel, party), count
    if slot is not None:
        after, rounds = _after(lowering, channel, slot, count)
        _set(lowering, key, "slot", after)
    odd = b.compute("and.b32 $0, $1, 1;", b.i32, rounds)
    _set(lowering, key, "phase", b.compute("xor.b32 $0, $1, $2;", b.i32, phase, odd))
    if counts_releases(lowering, channel, party):
        (released,) = lowering.state[f"{key}.released"]
        _set(lowering, key, "released", _after(lowering, channel, released, count)[0])


def _after(lowering: Lowering, channel: ChannelPlan, slot: ir.Value, count: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The slot a number of slots after another one, and the number of rounds that end before it."""
    b = lowering.b
    total = b.compute("add.s32 $0, $1, $2;", b.i32, slot, count)
    rounds = b.compute(f"div.u32 $0, $1, {channel.stages};", b.i32, total)
    return b.compute(f"mad.lo.s32 $0, $1, -{channel.stages}, $2;", b.i32, rounds, total), rounds


def await_commits(lowering: Lowering, operations: Iterable[ir.Operation]) -> None:
    """Waits until the slots that these operations fill are empty, because commits of other CTAs arrive until then.

    The other CTAs have done so before this one ends, as it arrives at their barriers too.
    """
    for _, channel, is_put in _parties(lowering, operations):
        if is_put and channel.awaits_commits:
            for _ in range(channel.stages):
                wait(lowering, channel, channel.empty, PRODUCER)
                advance(lowering, channel, PRODUCER)


def counts_releases(lowering: Lowering, channel: ChannelPlan, party: Party) -> bool:
    """Whether a consumer counts its releases apart from its gets."""
    return f"{_key(channel, party)}.released" in lowering.state


def next_released(lowering: Lowering, channel: ChannelPlan, party: Party) -> ir.Value:
    """The empty barrier of the slot that a consumer releases next, which advances its count of releases."""
    key = _key(channel, party)
    (slot,) = lowering.state[f"{key}.released"]
    following, _ = _next_slot(lowering, channel, slot, slot_and_phase(lowering, channel, party)[1])
    _set(lowering, key, "released", following)
    return _barrier(lowering, channel.empty, slot)


def barrier_address(lowering: Lowering, channel: ChannelPlan, first: int, party: Party) -> ir.Value:
    """The address of the full or empty barrier of the party's slot; `first` is the barrier number of slot 0."""
    return _barrier(lowering, first, slot_and_phase(lowering, channel, party)[0])


def _barrier(lowering: Lowering, first: int, slot: ir.Value | None) -> ir.Value:
    base = lowering.shared_address(lowering.plan.barriers + BARRIER_BYTES * first)
    if slot is None:
        return base
    return lowering.b.compute(f"mad.lo.s32 $0, $1, {BARRIER_BYTES}, $2;", lowering.b.i32, slot, base)


def wait(lowering: Lowering, channel: ChannelPlan, first: int, party: Party) -> None:
    """Waits for the phase of the party; memory released before is then visible."""
    _, phase = slot_and_phase(lowering, channel, party)
    address = barrier_address(lowering, channel, first, party)
    kind = "full" if first == channel.full else "empty"
    again = lowering.b.block(label=f"{channel.name}_wait_{kind}")
    after = lowering.b.block(label=f"{channel.name}_{kind}")
    issuer = lowering.issuer(leads_pair=channel.is_of_leader(party)) if channel.is_single(party) else None
    if issuer is not None:
        # Only the warp that issues waits: another warp could miss a whole round of phases.
        lowering.b.cond_branch(issuer, again, [], after, [], uniform=True)
    else:
        lowering.b.branch(again)
    lowering.at(again)
    # An acquire with the scope of the cluster invalidates the L1 cache (CCTL.IVALL).
    order = ".acquire.cluster" if channel.orders_threads_of_cluster(first) else ""
    text = f"mbarrier.try_wait.parity{order}.shared::cta.b64 $0, [$1], $2;"
    passed = lowering.b.execute(text, lowering.b.i1, address, phase)
    lowering.b.cond_branch(passed, after, [], again, [])
    lowering.at(after)


def slot_address(lowering: Lowering, channel: ChannelPlan, buffer: int, party: Party) -> ir.Value:
    """The shared or tensor memory address of a buffer of the party's slot."""
    slot = slot_and_phase(lowering, channel, party)[0] if channel.stages > 1 else None
    offset = channel.offsets[buffer]
    is_shared = channel.buffers[buffer].memory == SHARED
    if is_shared:
        base, step = lowering.shared_address(offset), channel.slot_bytes
    else:
        assert lowering.tensor_base is not None
        base, step = lowering.plus(lowering.tensor_base, offset), channel.slot_columns
    if slot is None:
        return base
    address = lowering.b.compute(f"mad.lo.s32 $0, $1, {step}, $2;", lowering.b.i32, slot, base)
    if is_shared and channel.stages == _TWO_SLOTS and WGMMA in channel.consumers:
        # With more slots `ptxas` has as many instructions either way, and role `mma` has no registers for the first.
        lowering.slot_addresses[address] = SlotAddress(base, slot, step)
    return address
