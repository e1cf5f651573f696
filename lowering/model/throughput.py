"""The smallest number of cycles for the work of a launch: by its most used unit, and by the latency of its loads."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilec.lowering.model.constants import Device
from tilec.lowering.model.launch import Ring

# Bytes of an operand of 16 bits.
_OPERAND_BYTES = 2


@dataclass(frozen=True)
class Work:
    """The work of all blocks of a launch.

    Attributes:
        blocks: the number of blocks.
        cluster: the number of blocks per cluster, which run at the same time.
        instructions: instructions of warps.
        multiply_adds: multiply-adds by the tensor core.
        shared_bytes: bytes of shared memory read or written.
        global_bytes: bytes of global memory read or written.
        ring: the loads of a step of a block; None if nothing loads ahead.
        ring_steps: steps of a block.
        blocks_per_processor: blocks that an SM executes at the same time.
    """

    blocks: int
    cluster: int = 1
    instructions: float = 0
    multiply_adds: float = 0
    shared_bytes: float = 0
    global_bytes: float = 0
    ring: Ring | None = None
    ring_steps: float = 0
    blocks_per_processor: int = 1


def least_cycles(work: Work, device: Device) -> float:
    """The cycles of the busiest SM if its most used unit is never idle, but for loads that its rings wait for."""
    if not work.blocks:
        return 0.0
    # The SMs that clusters of this size leave unused are idle.
    processors = max(work.cluster, int(device.processors) // work.cluster * work.cluster)
    blocks = ceil(work.blocks / processors)
    multiply_adds = device.tensor_rows * device.tensor_columns_per_cycle * device.tensor_operand_bytes / _OPERAND_BYTES
    units = (
        blocks
        / work.blocks
        * max(
            work.instructions / device.warp_instructions_per_cycle,
            work.multiply_adds / multiply_adds,
            work.shared_bytes / device.shared_bytes_per_cycle,
            work.global_bytes / device.l2_bytes_per_cycle,
        )
    )
    return max(units, _waiting_cycles(work, blocks, device))


def _waiting_cycles(work: Work, blocks: int, device: Device) -> float:
    """The cycles in which the rings of the blocks of an SM are loaded and emptied, all slots of all of them at once."""
    if work.ring is None:
        return 0.0
    one = (work.ring.load_cycles(device) + work.ring.use_cycles) / work.ring.slots
    return ceil(blocks / work.blocks_per_processor) * work.ring_steps * one


def microseconds(cycles: float, device: Device) -> float:
    """The time of these cycles at the boost clock."""
    return cycles / device.clock_ghz / 1e3
