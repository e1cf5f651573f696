"""The clocks of operations on tiles in registers, as the documented schedules of experts count them (META's Triton)."""

from __future__ import annotations

from tilec.lowering.model.constants import TILE_COSTS
from tilec.lowering.schedule.costs import Cost, clocks
from tilec.lowering.schedule.parts import Use

# Beyond the length of its pipe, an operation on tiles in registers has these clocks of other instructions.
_TILE_EXTRA = 24
_REDUCE_EXTRA = 8
# The part of a load from tensor memory during which its warps issue: 152 of 256 clocks for 128x128 elements.
_TENSOR_LOAD_ISSUE = 152 / 256
# The correction of the accumulator in tensor memory, which runs if the maximum grew: 60 clocks typically, 500 if taken.
RARE_RESCALE = Cost(100, (), 110)


def tensor_load(size_bytes: int) -> Cost:
    """A load of a tile from tensor memory to registers by one warpgroup (tcgen05.ld and its wait)."""
    busy = clocks(size_bytes / TILE_COSTS.tensor_memory_read_bytes_per_cycle)
    return Cost(clocks(busy * _TENSOR_LOAD_ISSUE), (Use("tmem", busy),), busy)


def exponential(elements: int, emulated: float = 0.0, extra: int = _TILE_EXTRA) -> Cost:
    """exp2 of a tile in registers, of which a fraction is computed by polynomials on the FP32 pipe."""
    busy = clocks((1 - emulated) * elements / TILE_COSTS.exponentials_per_cycle)
    return Cost(busy + extra, (Use("mufu", busy),), busy)


def reduction(elements: int, extra: int = _REDUCE_EXTRA) -> Cost:
    """A maximum or sum of each row of a tile in registers."""
    busy = clocks(elements / TILE_COSTS.fma_per_cycle)
    return Cost(busy + extra, (Use("alu", busy),), busy + extra)


def elementwise(elements: int, instructions: int = 1) -> Cost:
    """Instructions on each element of a tile in registers."""
    busy = clocks(elements * instructions / TILE_COSTS.fma_per_cycle)
    return Cost(busy, (Use("alu", busy),), busy)


def shared_access(size_bytes: int) -> Cost:
    """A load or store between registers and shared memory."""
    busy = clocks(size_bytes / TILE_COSTS.shared_bytes_per_cycle)
    return Cost(busy, (Use("smem", busy),), busy)
