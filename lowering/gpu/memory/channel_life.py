"""When the slots of a channel are in use: from the first put to the last release, in program order.

Threads access a slot that multiplies pass to them (`tile_gpu.slot`) after its release too, as long as they fill
it next.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS
from tilec.dialect.tile_gpu.operations.channel import MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import users_of
from tilec.lowering.gpu.ir.enclosing import LOOPS, numbers_of, path_to
from tilec.lowering.gpu.ir.slots import SLOT, channels_of, users_of_slot

_FIRST_ROUND = "first_round"


@dataclass(frozen=True)
class _Place:
    """An operation of a block, and the numbers of the first and last operation of a range around it."""

    operation: ir.Operation
    first: int
    last: int


@dataclass(frozen=True)
class ChannelLife:
    """A channel and those that share its slots: `channels[0]` has the slots.

    `places` has the range of all uses in the innermost block that contains them, then in each block around it.
    """

    channels: tuple[MakeChannelOp, ...]
    places: dict[ir.Block, _Place]

    @property
    def starts(self) -> tuple[int, ...]:
        """Sorts lives by their first use."""
        return tuple(place.first for place in reversed(self.places.values()))

    def is_apart(self, other: ChannelLife) -> bool:
        """Whether no slot of one is in use between the first and the last use of the other, in program order.

        The uses of one precede those of the other in the innermost block around both, or one `scf.if` has them in
        different branches.
        """
        common = self._common_block(other)
        own, others = self.places[common], other.places[common]
        if common not in (self.home, other.home) and own.operation == others.operation:
            return own.operation.name == "scf.if"
        return own.last < others.first or others.last < own.first

    def is_in_another_loop(self, other: ChannelLife) -> bool:
        """Whether each of the two is in a loop that does not contain the other."""
        common = self._common_block(other)
        return self._has_loop_inside(common) and other._has_loop_inside(common)

    @property
    def home(self) -> ir.Block:
        """The innermost block that contains all uses."""
        return next(iter(self.places))

    def _common_block(self, other: ChannelLife) -> ir.Block:
        return next(block for block in self.places if block in other.places)

    def _has_loop_inside(self, outer: ir.Block) -> bool:
        """Whether a loop in a block contains all uses."""
        inside = itertools.takewhile(lambda block: block != outer, self.places)
        return any(block.owner.operation.name in LOOPS for block in inside)


def channel_lives(kernel: KernelOp) -> list[ChannelLife]:
    """The lives of the channels of a kernel without roles, in the order of their first uses.

    A channel is left out if some block fills, reads or releases it more often than it does the others: its slots
    may then still be in use after the last use. So is one that runs ahead already.
    """
    made = channels_of(kernel)
    sharing: dict[ir.Value, list[MakeChannelOp]] = defaultdict(list)
    for op in made:
        if op.shares is not None:
            sharing[op.shares].append(op)
    numbers = cache(numbers_of)
    found = []
    for op in made:
        channels = (op, *sharing[op.channel])
        if op.shares is None and all(map(_is_balanced, channels)):
            accesses = [access for channel in channels for access in _accesses(channel)]
            found.append(ChannelLife(channels, places_of(accesses, numbers)))
    return sorted(found, key=lambda life: life.starts)


def uses(channel: MakeChannelOp) -> Iterator[ir.Operation]:
    """The operations on a channel, without the channels that share its slots."""
    yield from (op for op in users_of(channel.channel) if op.name != MakeChannelOp.OPERATION_NAME)


def _accesses(channel: MakeChannelOp) -> Iterator[ir.Operation]:
    """The operations on a channel, and those on the slots that threads keep after its steps."""
    for op in uses(channel):
        yield op
        if op.name == SLOT:
            for slot in op.results:
                yield from users_of_slot(slot)


def _is_balanced(channel: MakeChannelOp) -> bool:
    """Whether each block has as many puts as gets and releases of each consumer."""
    consumers = range(len(channel.consumer_names))
    steps = [*((name, None) for name in STEPS[:2]), *((name, number) for name in STEPS[2:] for number in consumers)]
    counts: dict[ir.Block, Counter[tuple[str, int | None]]] = defaultdict(Counter)
    for op in uses(channel):
        if _FIRST_ROUND in op.attributes:
            return False
        if op.name in STEPS:
            counts[op.block][op.name, getattr(op.opview, "consumer", None)] += 1
    return bool(counts) and all(len({count[step] for step in steps}) == 1 for count in counts.values())


def places_of(
    operations: Sequence[ir.Operation], numbers: Callable[[ir.Block], dict[ir.Operation, int]] = numbers_of
) -> dict[ir.Block, _Place]:
    """The range of some operations in each block that contains all of them, from the innermost outwards."""
    paths = [{outer.block: outer for outer in path_to(op)} for op in operations]
    places = {}
    for block, operation in reversed(paths[0].items()):
        if all(block in path for path in paths):
            inside = [numbers(block)[path[block]] for path in paths]
            places[block] = _Place(operation, min(inside), max(inside))
    return places
