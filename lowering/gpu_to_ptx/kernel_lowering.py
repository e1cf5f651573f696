"""The state of lowering one kernel: memory, roles, and how far each party is in each channel."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.dialect.tile_gpu.kernel import COMPUTE
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.shared_plan import BARRIER_BYTES, PRODUCER, ChannelPlan, Party, SharedPlan
from tilec.lowering.gpu_to_ptx.lowers import Lowering, Role
from tilec.lowering.target import Target

SHARED_SYMBOL = "shared_memory"
_PARTIES = ("tile_gpu.put_begin", "tile_gpu.put_commit", "tile_gpu.get", "tile_gpu.release")


def party_of(operation: ir.Operation) -> Party:
    """Which party of its channel runs an operation."""
    if "consumer" not in operation.attributes:
        return PRODUCER
    return Party(ir.IntegerAttr(operation.attributes["consumer"]).value)


class KernelLowering(Lowering):
    """What the op groups about channels, TMA and tensor cores share."""

    def __init__(self, builder: PtxBuilder, target: Target, plan: SharedPlan, compute_threads: int) -> None:
        super().__init__(builder, target)
        self.plan = plan
        self.compute_threads = compute_threads
        self.scratch_size_bytes = 0
        # The address of tensor memory; and that of each tensor map's parameter, by the map.
        self.tensor_base: ir.Value | None = None
        self.maps: dict[ir.Value, str] = {}
        self.elected: ir.Value
        # Whether this is the warp of the elected thread; None where the role has no other.
        self.issues: ir.Value | None = None
        # Accumulators of wgmma in flight, by the value that is not yet complete.
        self.flying: dict[ir.Value, list[ir.Value]] = {}

    def begin_role(self, role: Role) -> None:
        """As in Lowering; one thread is elected to issue what single threads issue, and all counts start at nothing."""
        super().begin_role(role)
        if role.name == COMPUTE:
            # The same thread commits and waits for bulk stores, so it is thread 0 at every place.
            self.elected = self.compute("setp.eq.s32 $0, $1, $2;", "i1", self.thread, 0)
        else:
            self.elected = self.b.execute("elect.sync _|$0, 0xffffffff;", self.b.i1)
        self.issues = self.compute("setp.eq.s32 $0, $1, $2;", "i1", self.warp, 0) if role.warps > 1 else None
        self.state.clear()

    def scratch(self, size_bytes: int) -> ir.Value:
        """Scratch of the compute role, behind everything else in shared memory."""
        self.scratch_size_bytes = max(self.scratch_size_bytes, size_bytes)
        return self.shared_address(self.plan.scratch)

    def shared_address(self, offset: int) -> ir.Value:
        """The shared address at an offset of the kernel's memory."""
        base = self.b.compute(f"mov.b32 $0, {SHARED_SYMBOL};", self.b.i32)
        return self.b.compute(f"add.s32 $0, $1, {offset};", self.b.i32, base) if offset else base

    # ---- channels: state is slot number (rings of several stages only) and phase parity of each party

    def start_parties(self, operations: Iterable[ir.Operation]) -> None:
        """Puts every party that these operations are before its first slot."""
        for key, channel, is_put in self._parties(operations):
            # A wait for the parity before the first phase passes at once: every slot starts empty.
            self.state[f"{key}.phase"] = [self.b.compute(f"mov.b32 $0, {int(is_put)};", self.b.i32)]
            if channel.stages > 1:
                self.state[f"{key}.slot"] = [self.b.compute("mov.b32 $0, 0;", self.b.i32)]

    def _parties(self, operations: Iterable[ir.Operation]) -> list[tuple[str, ChannelPlan, bool]]:
        found: dict[str, tuple[str, ChannelPlan, bool]] = {}
        for operation in operations:
            for op in [operation.opview, *operations_below(operation.opview)]:
                if op.operation.name in _PARTIES:
                    channel = self.plan.channels[op.operation.operands[0]]
                    party = party_of(op.operation)
                    key = f"{channel.name}.{party}"
                    found[key] = (key, channel, party.is_producer)
        return [found[key] for key in sorted(found)]

    def slot_and_phase(self, channel: ChannelPlan, party: Party) -> tuple[ir.Value | None, ir.Value]:
        """Where a party stands."""
        key = f"{channel.name}.{party}"
        slot = self.state.get(f"{key}.slot")
        return (slot[0] if slot else None), self.state[f"{key}.phase"][0]

    def advance(self, channel: ChannelPlan, party: Party, *, first_round: bool = False) -> None:
        """The party goes on to the next slot, of the same round where it is known to be the `first_round`."""
        slot, phase = self.slot_and_phase(channel, party)
        key = f"{channel.name}.{party}"
        if first_round and slot is not None:
            self.state[f"{key}.slot"] = [self.b.compute("add.s32 $0, $1, 1;", self.b.i32, slot)]
            return
        flipped = self.b.compute("xor.b32 $0, $1, 1;", self.b.i32, phase)
        if slot is None:
            self.state[f"{key}.phase"] = [flipped]
            return
        following = self.b.compute("add.s32 $0, $1, 1;", self.b.i32, slot)
        wraps = self.b.compute(f"setp.eq.s32 $0, $1, {channel.stages};", self.b.i1, following)
        self.state[f"{key}.slot"] = [self.b.compute("selp.b32 $0, 0, $1, $2;", self.b.i32, following, wraps)]
        self.state[f"{key}.phase"] = [self.b.compute("selp.b32 $0, $1, $2, $3;", self.b.i32, flipped, phase, wraps)]

    def barrier_address(self, channel: ChannelPlan, first: int, party: Party) -> ir.Value:
        """The full or empty barrier of the party's slot; `first` is the number of slot 0's."""
        slot, _ = self.slot_and_phase(channel, party)
        base = self.shared_address(self.plan.barriers + BARRIER_BYTES * first)
        if slot is None:
            return base
        return self.b.compute(f"mad.lo.s32 $0, $1, {BARRIER_BYTES}, $2;", self.b.i32, slot, base)

    def wait(self, channel: ChannelPlan, first: int, party: Party) -> None:
        """Spins until the phase that the party asks for is over; what was released before is then visible."""
        _, phase = self.slot_and_phase(channel, party)
        address = self.barrier_address(channel, first, party)
        kind = "full" if first == channel.full else "empty"
        again = self.b.block(label=f"{channel.name}_wait_{kind}")
        after = self.b.block(label=f"{channel.name}_{kind}")
        if self.issues is not None and channel.is_single(party):
            # What one thread issues, its warp alone waits for: another could miss a whole round of phases.
            self.b.cond_branch(self.issues, again, [], after, [], uniform=True)
        else:
            self.b.branch(again)
        self.at(again)
        text = "mbarrier.try_wait.parity.shared::cta.b64 $0, [$1], $2;"
        passed = self.b.execute(text, self.b.i1, address, phase)
        self.b.cond_branch(passed, after, [], again, [])
        self.at(after)

    def slot_address(self, channel: ChannelPlan, buffer: int, party: Party) -> ir.Value:
        """The shared address, or tensor memory address, of a buffer of the party's slot."""
        slot, _ = self.slot_and_phase(channel, party)
        offset = channel.offsets[buffer]
        if channel.buffers[buffer].memory == "shared":
            base = self.shared_address(offset)
        else:
            assert self.tensor_base is not None
            base = (
                self.b.compute(f"add.s32 $0, $1, {offset};", self.b.i32, self.tensor_base)
                if offset
                else self.tensor_base
            )
        if slot is None:
            return base
        return self.b.compute(f"mad.lo.s32 $0, $1, {channel.slot_bytes}, $2;", self.b.i32, slot, base)
