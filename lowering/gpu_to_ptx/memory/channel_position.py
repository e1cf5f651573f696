"""The slot and phase of each party of a channel: waits, barrier addresses and slot addresses.

`Lowering.state` holds the slot number (rings of several stages only) and the phase parity of each party.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS_AND_SKIPS
from tilec.dialect.tile_gpu.channel import ReleaseOp
from tilec.dialect.tile_gpu.types import SHARED
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.memory.shared_plan import BARRIER_BYTES, PRODUCER, ChannelPlan, Party
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering


def party_of(operation: ir.Operation) -> Party:
    """The party of its channel that executes an operation."""
    if "consumer" not in operation.attributes:
        return PRODUCER
    return Party(ir.IntegerAttr(operation.attributes["consumer"]).value)


def start_parties(lowering: Lowering, operations: Iterable[ir.Operation]) -> None:
    """Initializes slot and phase of every party of these operations."""
    late = _late_parties(lowering, operations)
    for key, channel, is_put in _parties(lowering, operations):
        # A wait for the parity before the first phase succeeds immediately: every slot starts empty.
        lowering.state[f"{key}.phase"] = [lowering.b.compute(f"mov.b32 $0, {int(is_put)};", lowering.b.i32)]
        if channel.stages > 1:
            lowering.state[f"{key}.slot"] = [lowering.b.compute("mov.b32 $0, 0;", lowering.b.i32)]
        if key in late:
            lowering.state[f"{key}.released"] = [lowering.b.compute("mov.b32 $0, 0;", lowering.b.i32)]


def _late_parties(lowering: Lowering, operations: Iterable[ir.Operation]) -> set[str]:
    """The parties that count their releases apart."""
    found = set()
    for operation in operations:
        for op in [operation, *operations_inside(operation)]:
            if op.name == ReleaseOp.OPERATION_NAME and op.opview.late:
                found.add(f"{lowering.plan.channels[op.operands[0]].name}.{party_of(op)}")
    return found


def _parties(lowering: Lowering, operations: Iterable[ir.Operation]) -> list[tuple[str, ChannelPlan, bool]]:
    found: dict[str, tuple[str, ChannelPlan, bool]] = {}
    for operation in operations:
        for op in [operation, *operations_inside(operation)]:
            if op.name in STEPS_AND_SKIPS:
                channel = lowering.plan.channels[op.operands[0]]
                party = party_of(op)
                key = f"{channel.name}.{party}"
                found[key] = (key, channel, party.is_producer)
    return [found[key] for key in sorted(found)]


def slot_and_phase(lowering: Lowering, channel: ChannelPlan, party: Party) -> tuple[ir.Value | None, ir.Value]:
    """The slot number (None for channels of one stage) and the phase parity of a party."""
    key = f"{channel.name}.{party}"
    slot = lowering.state.get(f"{key}.slot")
    return (slot[0] if slot else None), lowering.state[f"{key}.phase"][0]


def advance(lowering: Lowering, channel: ChannelPlan, party: Party, *, first_round: bool = False) -> None:
    """Advances a party to the next slot; in the `first_round` the phase is known not to change."""
    slot, phase = slot_and_phase(lowering, channel, party)
    key = f"{channel.name}.{party}"
    if first_round and slot is not None:
        lowering.state[f"{key}.slot"] = [lowering.b.compute("add.s32 $0, $1, 1;", lowering.b.i32, slot)]
        return
    flipped = lowering.b.compute("xor.b32 $0, $1, 1;", lowering.b.i32, phase)
    if slot is None:
        lowering.state[f"{key}.phase"] = [flipped]
        return
    following = lowering.b.compute("add.s32 $0, $1, 1;", lowering.b.i32, slot)
    wraps = lowering.b.compute(f"setp.eq.s32 $0, $1, {channel.stages};", lowering.b.i1, following)
    lowering.state[f"{key}.slot"] = [lowering.b.compute("selp.b32 $0, 0, $1, $2;", lowering.b.i32, following, wraps)]
    lowering.state[f"{key}.phase"] = [
        lowering.b.compute("selp.b32 $0, $1, $2, $3;", lowering.b.i32, flipped, phase, wraps)
    ]


def skip(lowering: Lowering, channel: ChannelPlan, party: Party, count: ir.Value) -> None:
    """Advances a party by a number of slots."""
    slot, phase = slot_and_phase(lowering, channel, party)
    key = f"{channel.name}.{party}"
    rounds = count
    if slot is not None:
        lowering.state[f"{key}.slot"], rounds = _after(lowering, channel, slot, count)
    odd = lowering.b.compute("and.b32 $0, $1, 1;", lowering.b.i32, rounds)
    lowering.state[f"{key}.phase"] = [lowering.b.compute("xor.b32 $0, $1, $2;", lowering.b.i32, phase, odd)]
    if counts_releases(lowering, channel, party):
        (released,) = lowering.state[f"{key}.released"]
        lowering.state[f"{key}.released"], _ = _after(lowering, channel, released, count)


def _after(
    lowering: Lowering, channel: ChannelPlan, slot: ir.Value, count: ir.Value
) -> tuple[list[ir.Value], ir.Value]:
    """The slot a number of slots after another one, and the number of rounds that end before it."""
    total = lowering.b.compute("add.s32 $0, $1, $2;", lowering.b.i32, slot, count)
    rounds = lowering.b.compute(f"div.u32 $0, $1, {channel.stages};", lowering.b.i32, total)
    return [lowering.b.compute(f"mad.lo.s32 $0, $1, -{channel.stages}, $2;", lowering.b.i32, rounds, total)], rounds


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
    return f"{channel.name}.{party}.released" in lowering.state


def next_released(lowering: Lowering, channel: ChannelPlan, party: Party) -> ir.Value:
    """The empty barrier of the slot that a consumer releases next, which advances its count of releases."""
    key = f"{channel.name}.{party}.released"
    (slot,) = lowering.state[key]
    following = lowering.b.compute("add.s32 $0, $1, 1;", lowering.b.i32, slot)
    wraps = lowering.b.compute(f"setp.eq.s32 $0, $1, {channel.stages};", lowering.b.i1, following)
    lowering.state[key] = [lowering.b.compute("selp.b32 $0, 0, $1, $2;", lowering.b.i32, following, wraps)]
    base = lowering.shared_address(lowering.plan.barriers + BARRIER_BYTES * channel.empty)
    return lowering.b.compute(f"mad.lo.s32 $0, $1, {BARRIER_BYTES}, $2;", lowering.b.i32, slot, base)


def barrier_address(lowering: Lowering, channel: ChannelPlan, first: int, party: Party) -> ir.Value:
    """The address of the full or empty barrier of the party's slot; `first` is the barrier number of slot 0."""
    slot, _ = slot_and_phase(lowering, channel, party)
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
    if channel.buffers[buffer].memory == SHARED:
        base, step = lowering.shared_address(offset), channel.slot_bytes
    else:
        assert lowering.tensor_base is not None
        step = channel.slot_columns
        base = (
            lowering.b.compute(f"add.s32 $0, $1, {offset};", lowering.b.i32, lowering.tensor_base)
            if offset
            else lowering.tensor_base
        )
    if slot is None:
        return base
    return lowering.b.compute(f"mad.lo.s32 $0, $1, {step}, $2;", lowering.b.i32, slot, base)
