"""The clocks of tile operations on one SM: how long the role issues them, which units they occupy, and their latency.

Constants without another source are published measurements of B200 (META's Triton, "tile-level costs"; SemiAnalysis,
"tcgen05"); those of H200 marked so are estimates. They rank schedules: measured kernels take 20 to 25 % longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilec.lowering.schedule.parts import Use

# One way through an mbarrier in shared memory, from arrival to the end of the wait.
MBARRIER = 92
# One way through a named barrier.
NAMED_BARRIER = 30
# A value in registers, to another role through shared memory: a constant, and clocks per KB.
_MOVE = 61
_MOVE_PER_KB = 16.1
# One thread issues a TMA operation, or an mma of tcgen05.
_TMA_ISSUE = 30
_MMA_ISSUE = 12
_WGMMA_ISSUE = 40
# Beyond the length of its pipe, an operation on tiles in registers has these clocks of other instructions.
_TILE_EXTRA = 24
_REDUCE_EXTRA = 8
_KB = 1024
# MUFU.EX2 and FP32 instructions per clock of an SM (CUDA programming guide, "Arithmetic Instructions").
_MUFU = 16
_ALU = 128
# Bytes per clock of shared memory, and of reads of tensor memory by one warpgroup.
_SHARED_BYTES = 128
_TENSOR_BYTES = 256


@dataclass(frozen=True)
class Cost:
    """The cost of one operation in clocks: `duration` in its role, its units, and the latency of its result."""

    duration: int
    uses: tuple[Use, ...]
    latency: int


@dataclass(frozen=True)
class TargetCosts:
    """The constants of one target.

    Attributes:
        l2_bytes: bytes per clock between L2 and an SM, if all SMs load.
        memory_bytes: bytes per clock between global memory and an SM, if all SMs load.
        load_latency: the latency of a TMA load from L2, without its clocks per KB.
        multiply_adds: multiply-adds of 16-bit operands by the tensor core per clock.
        ss_latency: the latency of a multiply with operands in shared memory, beyond its occupancy.
        ts_latency: the same with the first operand in tensor memory or registers.
    """

    l2_bytes: int
    memory_bytes: int
    load_latency: int
    multiply_adds: int
    ss_latency: int
    ts_latency: int


TARGET_COSTS = {
    "sm_100a": TargetCosts(71, 26, 460, 4096, 136, 104),
    # H200: the latency of loads is an estimate.
    "sm_90a": TargetCosts(38, 17, 600, 2048, 64, 64),
}
# The latency of a TMA load from global memory.
MEMORY_LATENCY = 900
# An mma of a pair of CTAs has this latency beyond its occupancy.
PAIR_LATENCY = 170


def clocks(value: float) -> int:
    """Whole clocks, rounded up; a value that is whole but for rounding is not increased."""
    return math.ceil(round(value, 6))


def tma_load(target: str, size_bytes: int, source: str = "") -> Cost:
    """A TMA load; `source` is 'l2' or 'hbm' if its port is a unit, and sets the latency."""
    costs, kb = TARGET_COSTS[target], size_bytes / _KB
    latency = MEMORY_LATENCY if source == "hbm" else costs.load_latency
    return Cost(_TMA_ISSUE, (_tma(kb), *_port(target, size_bytes, source)), clocks(latency + 6 * kb))


def tma_store(target: str, size_bytes: int, port: str = "") -> Cost:
    """A TMA store; its latency is until it has read shared memory."""
    kb = size_bytes / _KB
    return Cost(_TMA_ISSUE, (_tma(kb), *_port(target, size_bytes, port)), clocks(130 + 52 * kb))


def _tma(kb: float) -> Use:
    return Use("tma", clocks(max(_TMA_ISSUE, 6 * kb)))


def _port(target: str, size_bytes: int, port: str) -> tuple[Use, ...]:
    costs = TARGET_COSTS[target]
    rates = {"l2": costs.l2_bytes, "hbm": costs.memory_bytes}
    return (Use(port, clocks(size_bytes / rates[port])),) if port else ()


def multiply(target: str, m: int, n: int, k: int, *, first_in_place: bool = False, pair: bool = False) -> Cost:
    """A multiply of 16-bit operands by one SM, rows m, columns n, depth k.

    The first operand is in tensor memory or registers if it is in place, else in shared memory as the second. The
    duration is the issue of its instructions, of depth 16; on sm_90a, of the whole multiply.
    """
    costs = TARGET_COSTS[target]
    busy = clocks(m * n * k / costs.multiply_adds)
    extra = PAIR_LATENCY if pair else costs.ts_latency if first_in_place else costs.ss_latency
    duration = _WGMMA_ISSUE if target == "sm_90a" else _MMA_ISSUE * -(-k // 16)
    return Cost(duration, (Use("tc", busy),), busy + extra)


def tensor_load(size_bytes: int) -> Cost:
    """A load of a tile from tensor memory to registers by one warpgroup (tcgen05.ld and its wait)."""
    busy = clocks(size_bytes / _TENSOR_BYTES)
    return Cost(clocks(busy * 152 / 256), (Use("tmem", busy),), busy)


def exponential(elements: int, emulated: float = 0.0, extra: int = _TILE_EXTRA) -> Cost:
    """exp2 of a tile in registers, of which a fraction is computed by polynomials on the FP32 pipe."""
    busy = clocks((1 - emulated) * elements / _MUFU)
    return Cost(busy + extra, (Use("mufu", busy),), busy)


def reduction(elements: int, extra: int = _REDUCE_EXTRA) -> Cost:
    """A maximum or sum of each row of a tile in registers."""
    busy = clocks(elements / _ALU)
    return Cost(busy + extra, (Use("alu", busy),), busy + extra)


def elementwise(elements: int, instructions: int = 1) -> Cost:
    """Instructions on each element of a tile in registers."""
    busy = clocks(elements * instructions / _ALU)
    return Cost(busy, (Use("alu", busy),), busy)


def shared_access(size_bytes: int) -> Cost:
    """A load or store between registers and shared memory."""
    busy = clocks(size_bytes / _SHARED_BYTES)
    return Cost(busy, (Use("smem", busy),), busy)


def global_access(target: str, size_bytes: int) -> Cost:
    """A load or store between registers and global memory; the latency is that of a load from L2."""
    port = _port(target, size_bytes, "l2")
    return Cost(clocks(size_bytes / _SHARED_BYTES), port, TARGET_COSTS[target].load_latency + port[0].busy)


# The correction of the accumulator in tensor memory, which runs if the maximum grew: 60 clocks typically, 500 if taken.
RARE_RESCALE = Cost(100, (), 110)


def moved(kb: int) -> int:
    """The latency of a value of this size in registers to another role, through shared memory and a named barrier."""
    return NAMED_BARRIER + clocks(_MOVE + _MOVE_PER_KB * kb)
