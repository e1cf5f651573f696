"""The cycles of a launch from the work of its tiles: steps, ring of loads, epilogue and waves; and its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from tilec.lowering.model import b200
from tilec.lowering.model.b200 import BANDWIDTH_BY_KILOBYTES_IN_FLIGHT
from tilec.lowering.model.constants import DEVICES, Device
from tilec.lowering.model.step import (
    CHAIN,
    EPILOGUE,
    HBM,
    ISSUE,
    L2,
    LAUNCH,
    RING,
    SHARED_PORT,
    TENSOR_MEMORY,
    TENSOR_PIPE,
    Step,
    unit_cycles,
)

# Bytes of an operand of 16 bits.
_OPERAND_BYTES = 2
_BYTES_PER_KILOBYTE = 1024
# The norm in which the cycles of the units are combined: the largest if one is far above the others, more if several
# are near it, because their queues disturb each other. Infinity is the bound of a perfect schedule.
QUEUEING_NORM = 8
_OF_MULTIPLIES = (TENSOR_PIPE, SHARED_PORT)


@dataclass(frozen=True, kw_only=True)
class Ring:
    """The slots that loads fill before a loop uses them.

    Attributes:
        slots: loads that may be in flight or in use, of one step each.
        bytes: bytes of a step.
        copies: TMA instructions of a step; 0 for loads of threads.
        use_cycles: from a complete load until its slot is empty again.
        from_dram: whether the latency is that of DRAM, not of L2.
    """

    slots: float = 1
    bytes: float = 0
    copies: int = 0
    use_cycles: float = 0
    from_dram: bool = True

    def load_cycles(self, device: Device) -> float:
        """From the issue of the loads of a step until they are complete, if all SMs load."""
        transfer = self.bytes / device.l2_bytes_per_cycle
        if not self.copies:
            latency = device.load_dram_latency_cycles if self.from_dram else device.load_l2_latency_cycles
            return latency + transfer
        latency = device.tma_dram_latency_cycles if self.from_dram else device.tma_l2_latency_cycles
        return latency + transfer + device.tma_further_copy_cycles * min(self.copies - 1, 2)


@dataclass(frozen=True, kw_only=True)
class TileWork:
    """The work of each tile of a launch, and how the tiles are distributed.

    Attributes:
        step: the work of an iteration, of one SM.
        iterations: iterations per tile.
        ring: the loads of a step.
        chain_cycles: operations of a step that depend on each other and on the preceding step.
        epilogue: the work after the loop of a tile.
        epilogue_latency_cycles: latency of the epilogue beyond its work.
        drain_cycles: from the last operation of the loop until the epilogue.
        tiles: tiles of the launch; a cluster computes one.
        blocks_per_processor: blocks that an SM executes at the same time.
        cluster: blocks per cluster.
        warps: warps of a block that execute the operations of threads.
        persistent: whether a block computes several tiles.
        loads_ahead: whether loads of the next tile are issued before the end of a tile.
        epilogue_overlapped: whether the loop of the next tile runs during the epilogue.
        setup_cycles: preparations of a block before its first load.
        launch_microseconds: overhead of the launch; None for that of a launch by a stream.
    """

    step: Step
    iterations: float
    tiles: int
    ring: Ring = field(default_factory=Ring)
    chain_cycles: float = 0
    epilogue: Step = field(default_factory=Step)
    epilogue_latency_cycles: float = 0
    drain_cycles: float = 0
    blocks_per_processor: int = 1
    cluster: int = 1
    warps: int = 4
    persistent: bool = False
    loads_ahead: bool = False
    epilogue_overlapped: bool = False
    setup_cycles: float = 0
    launch_microseconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The predicted time of a launch.

    Attributes:
        device: the device.
        step_units: cycles of each unit in a step of one tile, on an SM with all its blocks.
        step_cycles: cycles of a step.
        iterations: steps per tile.
        tile_cycles: cycles between two tiles of an SM.
        epilogue_cycles: cycles of the epilogue of a tile.
        exposed_cycles: cycles of a tile in which its SM executes no step.
        tiles_per_processor: tiles of the busiest SM, or cluster of SMs.
        launch_microseconds: overhead of the launch.
        cycles: cycles of the launch without its overhead.
        bound: the bound of the launch: the unit of its steps, the epilogue or the launch itself.
    """

    device: str
    step_units: Mapping[str, float]
    step_cycles: float
    iterations: float
    tile_cycles: float
    epilogue_cycles: float
    exposed_cycles: float
    tiles_per_processor: int
    launch_microseconds: float
    cycles: float
    bound: str

    @property
    def microseconds(self) -> float:
        """The time of the launch."""
        return self.launch_microseconds + self.cycles / DEVICES[self.device].clock_ghz / 1e3

    def text(self) -> str:
        """The prediction as a table, the units by their cycles."""
        units = sorted(((cycles, name) for name, cycles in self.step_units.items() if cycles >= 0.5), reverse=True)
        rows = [f"  {name:<22}{cycles:>10,.0f} cycles{cycles / self.step_cycles:>7.0%}" for cycles, name in units]
        return "\n".join(
            [
                f"{self.device}: {self.microseconds:.1f} us, bound by {self.bound}",
                f"  {'step':<22}{self.step_cycles:>10,.0f} cycles, {self.iterations:g} per tile",
                *rows,
                f"  {'tile':<22}{self.tile_cycles:>10,.0f} cycles, {self.exposed_cycles:,.0f} without a step",
                f"  {'epilogue':<22}{self.epilogue_cycles:>10,.0f} cycles",
                f"  {'tiles per SM':<22}{self.tiles_per_processor:>10,}",
                f"  {'launch':<22}{self.launch_microseconds:>10.2f} us",
            ]
        )


def predict(work: TileWork, device: Device) -> Prediction:
    """The time of a launch on a device."""
    groups = max(1, int(device.processors) // work.cluster)
    tiles = ceil(work.tiles / groups)
    resident = max(1, min(work.blocks_per_processor, tiles))
    units = _step_units(work, device, resident)
    step_cycles = combined_cycles(units)
    epilogue = _epilogue_cycles(work, device, serial=not work.epilogue_overlapped)
    exposed = _exposed_cycles(work, device, epilogue) / resident
    loop = work.iterations * step_cycles
    tile_cycles = max(loop + exposed, epilogue)
    # The first loads and the end of the last tile have nothing to overlap with.
    end = (work.drain_cycles + epilogue) * work.epilogue_overlapped
    once = _start_cycles(work, device) * work.persistent + end
    overhead = device.launch_microseconds if work.launch_microseconds is None else work.launch_microseconds
    cycles = tiles * tile_cycles + once
    bound, steps = max(units, key=units.__getitem__), tiles * loop
    parts = {bound: steps, EPILOGUE: cycles - steps, LAUNCH: overhead * device.clock_ghz * 1e3}
    return Prediction(
        device=device.name,
        step_units=units,
        step_cycles=step_cycles,
        iterations=work.iterations,
        tile_cycles=tile_cycles,
        epilogue_cycles=epilogue,
        exposed_cycles=tile_cycles - loop,
        tiles_per_processor=tiles,
        launch_microseconds=overhead,
        cycles=cycles,
        bound=max(parts, key=parts.__getitem__),
    )


def combined_cycles(units: Mapping[str, float]) -> float:
    """The cycles of work that uses these units at the same time.

    The tensor pipe and the port that delivers its operands do not disturb each other: measured intervals are the longer
    of both, also where both are equal (SEMI, QRC). Other traffic of the port takes the cycles that operands leave.
    """
    multiply = max(units.get(unit, 0.0) for unit in _OF_MULTIPLIES)
    queues = [multiply, *(cycles for unit, cycles in units.items() if unit not in _OF_MULTIPLIES)]
    return float(sum(cycles**QUEUEING_NORM for cycles in queues) ** (1 / QUEUEING_NORM))


def _step_units(work: TileWork, device: Device, resident: int) -> dict[str, float]:
    """The cycles of each unit, of the ring and of the dependent operations for a step, with all blocks of the SM."""
    units = unit_cycles(work.step, device)
    # A warp issues its next dependent instruction after the latency of the preceding one.
    per_cycle = resident * work.warps * device.independent_instructions / device.dependent_issue_cycles
    units[ISSUE] *= max(1.0, device.warp_instructions_per_cycle / per_cycle)
    in_flight = resident * work.ring.slots * work.ring.bytes
    latency = (work.ring.load_cycles(device) + work.ring.use_cycles) / (work.ring.slots * resident)
    units[RING] = max(latency, units[HBM] / bandwidth_fraction(in_flight, device)) if work.ring.bytes else 0.0
    units[CHAIN] = work.chain_cycles / resident
    return units


def bandwidth_fraction(bytes_in_flight: float, device: Device) -> float:
    """The fraction of the bandwidth of HBM that SMs reach with these bytes in flight each."""
    kilobytes = bytes_in_flight / _bandwidth_ratio(device) / _BYTES_PER_KILOBYTE
    points = BANDWIDTH_BY_KILOBYTES_IN_FLIGHT
    for (left, low), (right, high) in zip(points, points[1:], strict=False):
        if kilobytes <= right:
            return max(1e-3, low + (high - low) * (kilobytes - left) / (right - left))
    return 1.0


def bytes_in_flight_for(fraction: float, device: Device) -> float:
    """The fewest bytes in flight per SM, of those measured, that reach this fraction of the bandwidth of HBM."""
    kilobytes = next(each for each, reached in BANDWIDTH_BY_KILOBYTES_IN_FLIGHT if reached >= fraction)
    return kilobytes * _BYTES_PER_KILOBYTE * _bandwidth_ratio(device)


def _bandwidth_ratio(device: Device) -> float:
    """The bandwidth per SM relative to B200: a device needs bytes in flight in proportion to it."""
    measured = DEVICES[b200.NAME]
    return device.hbm_bytes_per_cycle * device.clock_ghz / (measured.hbm_bytes_per_cycle * measured.clock_ghz)


def _epilogue_cycles(work: TileWork, device: Device, serial: bool) -> float:
    """The cycles of the epilogue: one unit after the other, or all of them at once if it overlaps with a loop."""
    units = unit_cycles(work.epilogue, device)
    phases = [units.get(unit, 0.0) for unit in (TENSOR_MEMORY, SHARED_PORT, ISSUE, L2)]
    busy = sum(phases) if serial else max(phases)
    return busy + (work.epilogue_latency_cycles if any(phases) else 0.0)


def _start_cycles(work: TileWork, device: Device) -> float:
    """From the end of a block until the first step of the next one."""
    return device.block_start_cycles + work.setup_cycles + work.ring.load_cycles(device)


def _exposed_cycles(work: TileWork, device: Device, epilogue: float) -> float:
    """The cycles of a tile in which its block executes no step."""
    # The next tile has an accumulator of its own if epilogues overlap: its multiplies follow without a wait.
    exposed = 0.0 if work.epilogue_overlapped else work.drain_cycles
    if not work.persistent:
        exposed += _start_cycles(work, device)
    elif not work.loads_ahead:
        exposed += work.ring.load_cycles(device)
    return exposed if work.epilogue_overlapped else exposed + epilogue


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
