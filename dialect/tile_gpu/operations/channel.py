"""Channels: rings of buffers with full and empty barriers between the parties of a kernel."""

from collections.abc import Mapping, Sequence

from tilec.dialect.attributes import Array, Enumeration, Flag, Int32
from tilec.dialect.cache import texts_of
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Buffer, Channel, Integer32
from tilec.dialect.tile_gpu.types import TENSOR, ChannelType
from tilec.dialect.verify import types_only

TMA, THREADS, MMA, WGMMA, WARP, COPIES, CLAIMS = "tma", "threads", "mma", "wgmma", "warp", "copies", "claims"
PRODUCERS = (TMA, THREADS, MMA, COPIES, CLAIMS)
CONSUMERS = (THREADS, MMA, WGMMA, TMA, WARP, COPIES)
_SLOT = ("first", "second", "third", "fourth")
# The maximum number of buffers per slot.
MAXIMUM_BUFFERS = len(_SLOT)
Producer = Enumeration(*PRODUCERS)
Reuse = Enumeration("ring", "once")
PAIR, CLUSTER = "pair", "cluster"
# The CTAs of a tile block that a channel joins.
Across = Enumeration(PAIR, CLUSTER)


def slot_results(buffers: Sequence[ir.Type]) -> list[list[ir.Type]]:
    """The results of put_begin and get for the builder, one entry per field."""
    return [[buffer] for buffer in buffers] + [[] for _ in range(MAXIMUM_BUFFERS - len(buffers))]


def _slot_types(operands: Mapping[str, Sequence[ir.Value]]) -> dict[str, list[ir.Type]]:
    """The types of the results of put_begin and get: the buffers of their channel."""
    channel = operands["channel"][0].type
    buffers = channel.buffers if isinstance(channel, ChannelType) else []
    return {name: [buffer] for name, buffer in zip(_SLOT, buffers, strict=False)}


@types_only
def _slot_of_channel(op: ir.OpView) -> str | None:
    expected = op.operands[0].type.buffers
    found = [result.type for result in op.results]
    if found != expected:
        wanted, given = ([buffer.spelled() for buffer in buffers] for buffers in (expected, found))
        return f"expected the buffers of the channel, {wanted}, but got {given}"
    return None


def channel_of(value: ir.Value) -> "MakeChannelOp | None":
    """The operation that makes a channel; None if another one does."""
    made = value.owner
    return made if isinstance(made, MakeChannelOp) else None


def channel_of_kernel(op: ir.OpView) -> str | None:
    """The problem with a channel that is not a declaration of the kernel, or None; loops and branches carry none."""
    if channel_of(op.channel) is None:
        return "expected the result of tile_gpu.make_channel in the kernel"
    return None


def _known_consumer(op: ir.OpView) -> str | None:
    count = len(op.channel.owner.attributes["consumers"])
    return (
        None if 0 <= op.consumer < count else f"the channel has {count} consumers, but this one is number {op.consumer}"
    )


class MakeChannelOp(Operation, name="make_channel"):
    """A ring of `stages` slots from one producer to some consumers; `shares` lends its slots (README.md, Channels).

    With `continues` it is the same ring as `shares`, with other buffers in the slots. With `across` the slots of all
    CTAs of the pair or of the cluster are filled and emptied together. `wanted` is the number of slots that hide the
    latency of its loads.
    """

    interface = Interface(Category.DECLARATION, executor=Executor.NONE, scratch=Scratch.NONE)
    channel: Result[Channel]
    shares: Operand[Channel] | None
    stages: Int32
    producer: Producer
    consumers: Array
    reuse: Reuse
    continues: Flag
    across: Across | None
    wanted: Int32 | None
    assembly = (
        "stages $stages producer $producer consumers word_list($consumers) reuse $reuse{ across $across}{ shares"
        " $shares}{ $continues}{ wanted $wanted} attr-dict : type($channel)"
    )

    @property
    def consumer_names(self) -> list[str]:
        """The consumers by number."""
        return list(texts_of(self.attributes["consumers"]))

    def check(self) -> str | None:
        if self.shares is not None and channel_of(self.shares) is None:
            return "expected shared slots of the result of tile_gpu.make_channel in the kernel"
        consumers = self.consumer_names
        if not consumers or any(name not in CONSUMERS for name in consumers):
            return f"consumers must be some of: {', '.join(CONSUMERS)}, but got {consumers}"
        if COPIES in consumers and self.producer not in (THREADS, CLAIMS):
            return f"the role copy reads slots that threads or claims fill, but got producer {self.producer}"
        if len(self.results[0].type.buffers) > MAXIMUM_BUFFERS:
            return f"a slot has at most {MAXIMUM_BUFFERS} buffers, but got {len(self.results[0].type.buffers)}"
        if self.stages < 1:
            return f"stages must be positive, but got {self.stages}"
        if self.wanted is not None and self.wanted < 1:
            return f"wanted must be positive, but got {self.wanted}"
        if self.producer == COPIES and (problem := _copies_problem(self, consumers)):
            return problem
        if self.across is not None and (problem := _across_problem(self, consumers)):
            return problem
        if self.continues:
            return _continuation_problem(self)
        if self.shares is not None and not _may_share(self):
            return f"shared slots must have the type of the channel, but got {self.shares.type.spelled()}"
        return None


def _may_share(op: MakeChannelOp) -> bool:
    """Equal types, or two tiles of tensor memory with equal rows, of which each warp has columns of its own.

    Four warps have whole rows. Of more, each four have as many columns of the sums as pieces of the operand are apart.
    """
    assert op.shares is not None
    own, lent = op.results[0].type, op.shares.type
    kernel = op.operation.parent
    tiles = [*own.buffers, *lent.buffers]
    if own == lent or kernel is None or len(tiles) != 2 or any(tile.memory != TENSOR for tile in tiles):
        return own == lent
    if len({tile.layout.split()[0] for tile in tiles}) != 1:
        return False
    groups, (operand, sums) = kernel.opview.warps // 4, tiles
    return groups == 1 or operand.layout.endswith(f" packed pieces={groups} apart={sums.shape[1] // groups}")


# What the channels of one ring have in common.
_OF_A_RING = ("stages", "producer", "consumers", "reuse", "across")


def _continuation_problem(op: MakeChannelOp) -> str | None:
    if op.shares is None:
        return "a channel that continues a ring must share its slots"
    ring = op.shares.owner
    if ring.shares is not None:
        return "a channel must continue the first channel of its ring, but got one that shares the slots of another"
    if op.reuse != "ring":
        return f"a channel that continues a ring must have reuse ring, but got {op.reuse}"
    for name in _OF_A_RING:
        wanted, given = (_spelled_field(channel, name) for channel in (ring, op))
        if wanted != given:
            return f"{name} must be that of the ring, {wanted}, but got {given}"
    return None


def _spelled_field(op: ir.OpView, name: str) -> str:
    return str(op.attributes[name]) if name in op.attributes else "none"


# The producers and consumers that a channel across CTAs joins.
_ACROSS_PAIR = ((TMA, [MMA]), (THREADS, [MMA]), (MMA, [THREADS]))


def _across_problem(op: MakeChannelOp, consumers: list[str]) -> str | None:
    kernel = op.operation.parent
    if kernel is not None:
        ctas = kernel.opview.cluster_ctas if op.across == CLUSTER else kernel.opview.ctas
        if ctas == 1:
            return f"across {op.across} needs a kernel with a cluster"
    if op.across == PAIR and (op.producer, consumers) not in _ACROSS_PAIR:
        return f"across pair joins tma or threads to mma, or mma to threads, but got {op.producer} and {consumers}"
    joined = {TMA: {THREADS, MMA, WGMMA}, CLAIMS: {THREADS, WARP}}.get(op.producer, set())
    if op.across == CLUSTER and not joined.issuperset(consumers):
        parties = "tma to threads, mma and wgmma, or claims to threads and warps"
        return f"across cluster joins {parties}, but got {op.producer} and {consumers}"
    if op.across == CLUSTER and any(buffer.layout.startswith("scale_factors") for buffer in op.results[0].type.buffers):
        return f"across {op.across} has no scale factors"
    return None


def _copies_problem(op: MakeChannelOp, consumers: list[str]) -> str | None:
    """The consumers that execute the fence between copies and multiplies."""
    if not set(consumers) <= {MMA, WGMMA}:
        return f"copies fill slots for mma and wgmma, but got {consumers}"
    if any(buffer.memory == TENSOR for buffer in op.results[0].type.buffers):
        return "copies fill slots of shared memory alone"
    return None


class PutBeginOp(Operation, name="put_begin"):
    """Waits until the next slot is empty and returns its buffers; in the `first_round` no wait is needed."""

    interface = Interface(Category.STEP, executor=Executor.PRODUCER, scratch=Scratch.NONE)
    first: Result[Buffer] | None
    second: Result[Buffer] | None
    third: Result[Buffer] | None
    fourth: Result[Buffer] | None
    channel: Operand[Channel]
    first_round: Flag
    assembly = "$channel{ $first_round} attr-dict : type($channel)"
    rules = [_slot_of_channel, channel_of_kernel]
    result_types = staticmethod(_slot_types)


class PutCommitOp(Operation, name="put_commit"):
    """Marks the slot as full once the writes to it are complete; `first_round` is as in put_begin."""

    interface = Interface(Category.STEP, executor=Executor.PRODUCER, scratch=Scratch.NONE)
    channel: Operand[Channel]
    first_round: Flag
    assembly = "$channel{ $first_round} attr-dict : type($channel)"
    rules = [channel_of_kernel]


class GetOp(Operation, name="get"):
    """Waits until the next slot is full and returns its buffers."""

    interface = Interface(Category.STEP, executor=Executor.CONSUMER, scratch=Scratch.NONE)
    first: Result[Buffer] | None
    second: Result[Buffer] | None
    third: Result[Buffer] | None
    fourth: Result[Buffer] | None
    channel: Operand[Channel]
    consumer: Int32
    assembly = "$channel consumer $consumer attr-dict : type($channel)"
    rules = [_slot_of_channel, channel_of_kernel, _known_consumer]
    result_types = staticmethod(_slot_types)


def _slots_of_late_release(op: ir.OpView) -> str | None:
    stages = op.channel.owner.stages
    return f"a late release needs at least 2 stages, but the channel has {stages}" if op.late and stages < 2 else None


class ReleaseOp(Operation, name="release"):
    """Marks the slot as released by this consumer once its operations on the slot are complete.

    With `late` the consumer counts its releases apart from its gets, and has already got another slot.
    """

    interface = Interface(Category.STEP, executor=Executor.CONSUMER, scratch=Scratch.NONE)
    channel: Operand[Channel]
    consumer: Int32
    late: Flag
    assembly = "$channel consumer $consumer{ $late} attr-dict : type($channel)"
    rules = [channel_of_kernel, _known_consumer, _slots_of_late_release]


class SkipOp(Operation, name="skip"):
    """Passes over `count` slots (unsigned), which another role that is the same consumer gets."""

    interface = Interface(Category.STEP, scratch=Scratch.NONE)
    channel: Operand[Channel]
    count: Operand[Integer32]
    consumer: Int32
    assembly = "$channel consumer $consumer by $count attr-dict : type($channel), type($count)"
    rules = [channel_of_kernel, _known_consumer]


def _has_one_slot(op: ir.OpView) -> str | None:
    stages = op.channel.owner.stages
    return None if stages == 1 else f"expected a channel of one slot, but it has {stages}"


class SlotOp(Operation, name="slot", traits=[ext.Pure]):
    """The buffers of a channel with one slot, for a party that has waited for it."""

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    first: Result[Buffer]
    second: Result[Buffer] | None
    third: Result[Buffer] | None
    fourth: Result[Buffer] | None
    channel: Operand[Channel]
    assembly = "$channel attr-dict : type($channel)"
    rules = [_slot_of_channel, channel_of_kernel, _has_one_slot]
    result_types = staticmethod(_slot_types)
