"""The work of one iteration of a loop for each unit of an SM, and its cycles."""

from __future__ import annotations

from operator import add
from typing import NamedTuple

from tilec.lowering.model.constants import Device

TENSOR_PIPE = "tensor pipe"
SHARED_PORT = "shared memory port"
L2 = "L2"
HBM = "HBM"
TMA_ISSUE = "TMA issue"
TENSOR_MEMORY = "tensor memory port"
FMA = "FMA pipe"
ALU = "ALU"
MUFU = "MUFU"
SHUFFLE = "shuffle"
ISSUE = "issue slots"
RING = "latency of the ring"
CHAIN = "dependent operations"
EPILOGUE = "prologue and epilogue"
LAUNCH = "launch"

_LANES = 32


class Step(NamedTuple):
    """The work of one iteration of a block, or of one tile outside of its loop.

    Attributes:
        tensor_cycles: cycles of the tensor pipe.
        shared_bytes: bytes read or written in shared memory, by TMA, multiplies and threads.
        l2_bytes: bytes between L2 and the SM.
        dram_bytes: bytes that L2 does not hold.
        copies: TMA instructions.
        tensor_memory_read_bytes: bytes of tcgen05.ld.
        tensor_memory_written_bytes: bytes of tcgen05.st.
        fma: float additions, multiplies and multiply-adds, of one thread each.
        alu: comparisons, integer and logic operations, of one thread each.
        exponentials: operations of MUFU, of one thread each.
        shuffles: shuffles, of one thread each.
        joined: operations of `fma` and `alu` that an instruction does beside another one, of one thread each.
        other_instructions: further instructions of one warp each.
    """

    tensor_cycles: float = 0
    shared_bytes: float = 0
    l2_bytes: float = 0
    dram_bytes: float = 0
    copies: float = 0
    tensor_memory_read_bytes: float = 0
    tensor_memory_written_bytes: float = 0
    fma: float = 0
    alu: float = 0
    exponentials: float = 0
    shuffles: float = 0
    joined: float = 0
    other_instructions: float = 0

    def __add__(self, other: Step) -> Step:  # type: ignore[override]
        return self if other is NO_WORK else Step(*map(add, self, other))

    def times(self, factor: float) -> Step:
        """The work of `factor` iterations."""
        return Step(*(factor * work for work in self))

    @property
    def instructions(self) -> float:
        """Instructions of warps."""
        threads = self.fma + self.alu + self.exponentials + self.shuffles - self.joined
        return threads / _LANES + self.other_instructions


NO_WORK = Step()


def unit_cycles(step: Step, device: Device) -> dict[str, float]:
    """The cycles for which each unit of an SM is busy, if nothing waits."""
    cycles = {
        TENSOR_PIPE: step.tensor_cycles,
        SHARED_PORT: step.shared_bytes / device.shared_bytes_per_cycle,
        L2: step.l2_bytes / device.l2_bytes_per_cycle,
        HBM: step.dram_bytes / device.hbm_bytes_per_cycle,
        TMA_ISSUE: step.copies * device.tma_issue_cycles,
        FMA: step.fma / device.fma_per_cycle,
        ALU: step.alu / device.alu_per_cycle,
        MUFU: step.exponentials / device.exponentials_per_cycle,
        SHUFFLE: step.shuffles / device.shuffles_per_cycle,
        ISSUE: step.instructions / device.warp_instructions_per_cycle,
    }
    if step.tensor_memory_read_bytes or step.tensor_memory_written_bytes:
        cycles[TENSOR_MEMORY] = max(
            step.tensor_memory_read_bytes / device.tensor_memory_read_bytes_per_cycle,
            step.tensor_memory_written_bytes / device.tensor_memory_write_bytes_per_cycle,
        )
    return cycles


def cycles_alone(step: Step, warps: int, device: Device) -> float:
    """The cycles in which `warps` warps execute the work, if they have the SM to themselves; without tensor pipe."""
    instructions = step.instructions / warps
    independent = max(device.independent_instructions, min(instructions, device.dependent_issue_cycles))
    issue = instructions * device.dependent_issue_cycles / independent
    return max(issue, *unit_cycles(step._replace(tensor_cycles=0.0, dram_bytes=0.0), device).values())
