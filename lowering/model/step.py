"""The work of one iteration of a loop for each unit of an SM, and its cycles; the use of the tensor pipe."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from operator import add
from typing import NamedTuple

from tilec.lowering.model.constants import Device

# PTX ISA: the largest N of tcgen05.mma and of wgmma.
_LARGEST_COLUMNS = 256
_BITS_PER_BYTE = 8
TENSOR_PIPE = "tensor pipe"
SHARED_PORT = "shared memory port"
L2 = "L2"
HBM = "HBM"
TMA_ISSUE = "TMA issue"
TENSOR_MEMORY = "tensor memory port"
TENSOR_COPY = "copies to tensor memory"
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
        tensor_copy_cycles: cycles of tcgen05.cp and tcgen05.shift, which run beside multiplies.
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
    tensor_copy_cycles: float = 0
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
    if step.tensor_copy_cycles:
        cycles[TENSOR_COPY] = step.tensor_copy_cycles
    return cycles


def cycles_alone(step: Step, warps: int, device: Device) -> float:
    """The cycles in which `warps` warps execute the work, if they have the SM to themselves; without tensor pipe."""
    instructions = step.instructions / warps
    independent = max(device.independent_instructions, min(instructions, device.dependent_issue_cycles))
    issue = instructions * device.dependent_issue_cycles / independent
    return max(issue, *unit_cycles(step._replace(tensor_cycles=0.0, dram_bytes=0.0), device).values())


@dataclass(frozen=True, kw_only=True)
class Multiply:
    """A product of tiles by tcgen05.mma or wgmma, in the SMs of one CTA or of a pair.

    Attributes:
        rows: rows of the accumulator, of both CTAs of a pair.
        columns: columns of the accumulator.
        depth: elements that are summed.
        element_bits: bits of an element of the operands in shared memory.
        pair: whether two CTAs multiply together (cta_group::2).
        left_in_shared: whether the left operand is in shared memory, not in tensor memory or registers.
        left_is_kept: whether a collector has the left operand, which the multiply before it has read.
    """

    rows: int
    columns: int
    depth: int
    element_bits: int
    pair: bool = False
    left_in_shared: bool = True
    left_is_kept: bool = False

    @property
    def ctas(self) -> int:
        """The CTAs that multiply together."""
        return 2 if self.pair else 1

    @property
    def multiply_adds(self) -> int:
        """Products of two elements, in the SM of one CTA."""
        return self.rows * self.columns * self.depth // self.ctas


@dataclass(frozen=True)
class PipeUse:
    """The use of one SM by multiplies: cycles of the tensor pipe, bytes read, instructions."""

    cycles: float
    shared_bytes: float
    instructions: int


def pipe_use(multiply: Multiply, device: Device) -> PipeUse:
    """The use of one SM: an instruction takes N/2 cycles, and reads the rows of A and B that the SM holds."""
    rows = multiply.rows / multiply.ctas
    rows_per_instruction = min(rows, device.tensor_rows)
    columns_per_instruction = min(multiply.columns, _LARGEST_COLUMNS)
    depth_bytes = multiply.depth * multiply.element_bits / _BITS_PER_BYTE
    column_tiles = ceil(multiply.columns / columns_per_instruction)
    instructions = ceil(rows / rows_per_instruction) * column_tiles * ceil(depth_bytes / device.tensor_operand_bytes)
    # A pair of 64 rows each has the full rate; one CTA of 64 rows takes the time of 128.
    share = rows_per_instruction / device.tensor_rows if multiply.pair else 1.0
    reads_left = multiply.left_in_shared and not multiply.left_is_kept
    # Of several instructions with the columns of one step, tcgen05.mma reads A once (PTX ISA 9.7.16.10.9, collectors).
    left_reads = instructions / (column_tiles if device.tensor_memory_columns else 1) if reads_left else 0
    read_rows = instructions * columns_per_instruction / multiply.ctas + left_reads * rows_per_instruction
    return PipeUse(
        cycles=instructions * columns_per_instruction / device.tensor_columns_per_cycle * share,
        shared_bytes=read_rows * device.tensor_operand_bytes,
        instructions=instructions,
    )


def latency_cycles(multiply: Multiply, device: Device) -> float:
    """From the issue interval of the last instruction until its completion is observed."""
    if not multiply.left_in_shared:
        return device.tensor_memory_multiply_latency_cycles
    return device.pair_multiply_latency_cycles if multiply.pair else device.multiply_latency_cycles
