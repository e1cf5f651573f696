"""Cycles of the tensor pipe and bytes of shared memory that the multiplies of one SM take."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilec.lowering.model.constants import Device

# PTX ISA: the largest N of tcgen05.mma and of wgmma.
_LARGEST_COLUMNS = 256
_BITS_PER_BYTE = 8


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
    """

    rows: int
    columns: int
    depth: int
    element_bits: int
    pair: bool = False
    left_in_shared: bool = True

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
    tiles = ceil(rows / rows_per_instruction) * ceil(multiply.columns / columns_per_instruction)
    instructions = tiles * ceil(depth_bytes / device.tensor_operand_bytes)
    # A pair of 64 rows each has the full rate; one CTA of 64 rows takes the time of 128.
    share = rows_per_instruction / device.tensor_rows if multiply.pair else 1.0
    read_rows = columns_per_instruction / multiply.ctas + (rows_per_instruction if multiply.left_in_shared else 0)
    return PipeUse(
        cycles=instructions * columns_per_instruction / device.tensor_columns_per_cycle * share,
        shared_bytes=instructions * read_rows * device.tensor_operand_bytes,
        instructions=instructions,
    )


def latency_cycles(multiply: Multiply, device: Device) -> float:
    """From the issue interval of the last instruction until its completion is observed."""
    if not multiply.left_in_shared:
        return device.tensor_memory_multiply_latency_cycles
    return device.pair_multiply_latency_cycles if multiply.pair else device.multiply_latency_cycles
