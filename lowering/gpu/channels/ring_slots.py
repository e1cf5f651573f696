"""Divides the free memory of a block among the rings of TMA loads.

Rings get the slots that they want first, always the one that lacks the largest part. What no other block on the SM
could use then is theirs too: latencies vary, and a slot more than wanted costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilec.dialect.tile_gpu.channel import THREADS, MakeChannelOp
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.lowering.gpu.channels.ring_depth import MAXIMUM_STAGES, is_read_by_threads
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.memory.occupancy import blocks_together, share_of_block
from tilec.lowering.gpu.memory.shared_plan import BARRIER_BYTES, SharedPlan
from tilec.lowering.layout.shared_layout import BASE_ALIGNMENT_BYTES
from tilec.lowering.target import Target

# The most slots of a ring, in those that it wants.
_MOST_OF_WANTED = 2
# The full and the empty barrier of a slot.
_BARRIERS_BYTES = 2 * BARRIER_BYTES


@dataclass
class RingSlots:
    """Rings of equally many slots, the size of one slot of all of them, and the numbers of slots.

    Attributes:
        rings: the first channels of the rings.
        size_bytes: bytes of shared memory of a slot and its barriers.
        columns: columns of tensor memory of a slot.
        wanted: slots that hide the latency of the loads.
        most: the most slots that are of use.
        slots: slots that the rings get.
    """

    rings: Sequence[MakeChannelOp]
    size_bytes: int
    columns: int
    wanted: int
    most: int
    slots: int = 1


def ring_slots(
    kernel: KernelOp,
    groups: Iterable[Sequence[MakeChannelOp]],
    plan: SharedPlan,
    target: Target,
    stages: int | None,
) -> list[RingSlots]:
    """The slots of each group of rings, which have one slot in the plan; `stages` replaces the slots wanted.

    Args:
        kernel: the tile_gpu.kernel of the rings.
        groups: the first channels of rings that need equally many slots.
        plan: the memory plan of the kernel.
        target: the memory that a block may use.
        stages: the most slots of a ring, or None.
    """
    found = [_wanting(rings, plan, stages) for rings in groups]
    scratch = scratch_bytes(kernel)
    used = plan.declared_bytes + (BASE_ALIGNMENT_BYTES + scratch if scratch else 0)
    _divide(found, target.shared_bytes - used, target.tensor_memory_columns - plan.columns_used, most=False)
    added = sum((group.slots - 1) * group.size_bytes for group in found)
    blocks = blocks_together(kernel, target, used + added, plan.tensor_columns)
    share = share_of_block(target, blocks)
    columns = plan.columns_used + sum((group.slots - 1) * group.columns for group in found)
    _divide(found, share.shared_bytes - used - added, share.tensor_memory_columns - columns, most=True)
    return found


def _wanting(rings: Sequence[MakeChannelOp], plan: SharedPlan, stages: int | None) -> RingSlots:
    plans = [plan.channels[op.operation.results[0]] for op in rings]
    size_bytes = sum(ring.slot_bytes + _BARRIERS_BYTES for ring in plans)
    columns = sum(ring.slot_columns for ring in plans)
    if stages is not None:
        return RingSlots(rings, size_bytes, columns, stages, stages)
    wanted = max(op.wanted or 1 for op in rings)
    as_wanted = all(op.producer == THREADS or is_read_by_threads(op) for op in rings)
    most = wanted if as_wanted else min(MAXIMUM_STAGES, _MOST_OF_WANTED * wanted)
    return RingSlots(rings, size_bytes, columns, wanted, most)


def _divide(groups: Sequence[RingSlots], free_bytes: int, free_columns: int, *, most: bool) -> None:
    """Adds slots while they fit, up to those wanted or to the most."""
    while True:
        lacking = [
            group
            for group in groups
            if group.slots < (group.most if most else group.wanted)
            and group.size_bytes <= free_bytes
            and group.columns <= free_columns
        ]
        if not lacking:
            return
        group = min(lacking, key=_part_of_wanted)
        group.slots += 1
        free_bytes, free_columns = free_bytes - group.size_bytes, free_columns - group.columns


def _part_of_wanted(group: RingSlots) -> float:
    return group.slots / group.wanted
