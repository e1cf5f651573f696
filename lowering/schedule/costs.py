"""The clocks of tile operations on one SM: how long the role issues them, which units they occupy, and their latency.

The rates and latencies are those of `lowering/model/constants.py`; those of tiles in registers are published
measurements of B200 (META's Triton, "tile-level costs"). They rank schedules: measured kernels take 20 to 25 % longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilec.lowering.model.constants import TILE_COSTS, Device, device_of
from tilec.lowering.schedule.parts import Use

# The unit that multiplies, in schedules.
TENSOR_CORE = "tc"
# The units that execute loads and stores of memory one after the other, while threads go on.
MEMORY_UNITS = frozenset({"tma", "l2", "hbm"})
# The latency of an mbarrier in shared memory, from arrival to the end of the wait, on every device.
MBARRIER = int(TILE_COSTS.barrier_latency_cycles)
# The latency of a named barrier.
NAMED_BARRIER = int(TILE_COSTS.named_barrier_cycles)
# A value in registers, to another role through shared memory: a constant, and clocks per KB.
_MOVE = 61
_MOVE_PER_KB = 16.1
# Clocks per KB of a TMA store beyond its constant, if all SMs store; META's Triton.
_STORE_PER_KB = 52
_KB = 1024


@dataclass(frozen=True)
class Cost:
    """The cost of one operation in clocks: `duration` in its role, its units, and the latency of its result."""

    duration: int
    uses: tuple[Use, ...]
    latency: int


def clocks(value: float) -> int:
    """Whole clocks, rounded up; a value that is whole but for rounding is not increased."""
    return math.ceil(round(value, 6))


def tma_load(target: str, size_bytes: int, source: str = "") -> Cost:
    """A TMA load; `source` is 'l2' or 'hbm' if its port is a unit, and sets the latency."""
    device, kb = device_of(target), size_bytes / _KB
    latency = device.tma_dram_latency_cycles if source == "hbm" else device.tma_l2_latency_cycles
    units = (_tma(device, kb), *_port(device, size_bytes, source))
    return Cost(int(device.tma_issue_cycles), units, clocks(latency + device.tma_cycles_per_kilobyte * kb))


def tma_store(target: str, size_bytes: int, port: str = "") -> Cost:
    """A TMA store; its latency is until it has read shared memory."""
    device, kb = device_of(target), size_bytes / _KB
    latency = device.tma_store_latency_cycles + _STORE_PER_KB * kb
    units = (_tma(device, kb), *_port(device, size_bytes, port))
    return Cost(int(device.tma_issue_cycles), units, clocks(latency))


def _tma(device: Device, kb: float) -> Use:
    return Use("tma", clocks(max(device.tma_issue_cycles, device.tma_cycles_per_kilobyte * kb)))


def _port(device: Device, size_bytes: int, port: str) -> tuple[Use, ...]:
    # Whole bytes per clock, as the documented intervals of streams have.
    rates = {"l2": device.l2_bytes_per_cycle, "hbm": math.floor(device.hbm_bytes_per_cycle)}
    return (Use(port, clocks(size_bytes / rates[port])),) if port else ()


def multiply(target: str, m: int, n: int, k: int, *, first_in_place: bool = False, pair: bool = False) -> Cost:
    """A multiply of 16-bit operands, of which one SM has m rows, with n columns and depth k.

    The first operand is in tensor memory or registers if it is in place, else in shared memory as the second. The
    duration is the issue of its instructions.
    """
    device = device_of(target)
    # The operands have 2 bytes per element.
    rate = device.tensor_rows * device.tensor_columns_per_cycle * device.tensor_operand_bytes / 2
    # A pair of 64 rows each has the full rate; one CTA of 64 rows takes the time of 128.
    rows = m if pair else max(m, int(device.tensor_rows))
    busy = clocks(rows * n * k / rate)
    in_place = device.tensor_memory_multiply_latency_cycles if first_in_place else device.multiply_latency_cycles
    latency = device.pair_multiply_latency_cycles if pair else in_place
    depth = int(device.multiply_issue_depth)
    duration = int(device.multiply_issue_cycles) * (-(-k // depth) if depth else 1)
    return Cost(duration, (Use(TENSOR_CORE, busy),), busy + int(latency))


def warp_multiply(target: str, m: int, n: int, k: int) -> Cost:
    """A multiply of 16-bit operands by mma.sync, whose instructions the warps execute until it has ended."""
    busy = clocks(m * n * k / device_of(target).mma_sync_multiply_adds_per_cycle)
    return Cost(busy, (Use(TENSOR_CORE, busy),), busy)


def global_access(target: str, size_bytes: int) -> Cost:
    """A load or store between registers and global memory; the latency is that of a load from L2."""
    device = device_of(target)
    port = _port(device, size_bytes, "l2")
    latency = int(device.load_l2_latency_cycles) + port[0].busy
    return Cost(clocks(size_bytes / device.shared_bytes_per_cycle), port, latency)


def moved(kb: int) -> int:
    """The latency of a value of this size in registers to another role, through shared memory and a named barrier."""
    return NAMED_BARRIER + clocks(_MOVE + _MOVE_PER_KB * kb)
