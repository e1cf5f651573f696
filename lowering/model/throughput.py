"""The throughput of each target, and the smallest number of cycles for the work of a launch."""

from __future__ import annotations

from dataclasses import dataclass

# Warp schedulers per SM, each of which issues one instruction per cycle (CUDA programming guide, "SIMT Architecture").
_SCHEDULERS = 4


@dataclass(frozen=True)
class Throughput:
    """The rates of one SM per cycle.

    Attributes:
        processors: the number of SMs.
        clock_mhz: the boost clock.
        multiply_adds: multiply-adds of 16-bit operands by the tensor core.
        shared_bytes: bytes of shared memory read or written.
        global_bytes: bytes between the SM and L2.
    """

    processors: int
    clock_mhz: int
    multiply_adds: int
    shared_bytes: int
    global_bytes: int


# B200 and H200 SXM. SMs, clocks and tensor cores: NVIDIA's data sheets. Shared memory: CUDA programming guide, 32 banks
# of 4 bytes. L2: published measurements of copies, 20.5 TB/s on B200 and 9.2 TB/s on H200.
THROUGHPUTS = {
    "sm_100a": Throughput(148, 1850, 4096, 128, 71),
    "sm_90a": Throughput(132, 1830, 2048, 128, 38),
}


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
    """

    blocks: int
    cluster: int = 1
    instructions: float = 0
    multiply_adds: float = 0
    shared_bytes: float = 0
    global_bytes: float = 0


def least_cycles(work: Work, throughput: Throughput) -> float:
    """The cycles of the busiest SM if its most used unit is never idle: a lower bound, without latencies."""
    if not work.blocks:
        return 0.0
    # The SMs that clusters of this size leave unused are idle.
    processors = max(work.cluster, throughput.processors // work.cluster * work.cluster)
    share = -(-work.blocks // processors) / work.blocks
    return share * max(
        work.instructions / _SCHEDULERS,
        work.multiply_adds / throughput.multiply_adds,
        work.shared_bytes / throughput.shared_bytes,
        work.global_bytes / throughput.global_bytes,
    )


def microseconds(cycles: float, throughput: Throughput) -> float:
    """The time of these cycles at the boost clock."""
    return cycles / throughput.clock_mhz
