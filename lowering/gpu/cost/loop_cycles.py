"""The cycles of an iteration of a loop, and of all loops of a kernel for a tile block, by the work of the loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilec.lowering.gpu.cost.loop_work import UNLIMITED_STAGES, LoopWork
from tilec.lowering.model.constants import Device
from tilec.lowering.model.launch import bandwidth_fraction, combined_cycles
from tilec.lowering.model.step import CHAIN, HBM, RING, unit_cycles
from tilec.lowering.model.timeline import Busy, Signal, Wait, interval_cycles, least_cycles

# The iterations of a loop that are assumed if they are not known: a depth of 4096 in steps of 64.
_ASSUMED_ITERATIONS = 64
# The least saving by deeper rings with which their latency bounds the loop.
_SAVED = 1.02
# The relative error of sums of cycles.
_ERROR = 1e-9


@dataclass(frozen=True)
class LoopCycles:
    """The cycles of an iteration.

    Attributes:
        units: the cycles of each unit.
        cycles: the cycles of all units together.
        bound: the unit that bounds them.
        transfer: the cycles of HBM at its full bandwidth, if more bytes were in flight; 0 if data may come from L2.
    """

    units: dict[str, float]
    cycles: float
    bound: str
    transfer: float = 0.0


def busy_cycles(loop: LoopWork, device: Device, blocks_per_processor: int = 1) -> dict[str, float]:
    """The cycles of an iteration for which each unit is busy, if roles never wait for each other."""
    units = unit_cycles(loop.step, device)
    if not loop.loads_once:
        units.pop(HBM)
    elif in_flight := loop.bytes_in_flight * blocks_per_processor:
        units[HBM] /= bandwidth_fraction(in_flight, device)
    return units


def cycles_of(loop: LoopWork, device: Device, blocks_per_processor: int = 1) -> LoopCycles:
    """The cycles of an iteration of a loop, for one of the `blocks_per_processor` blocks of an SM."""
    transfer = unit_cycles(loop.step, device)[HBM] if loop.loads_once else 0.0
    units = busy_cycles(loop, device, blocks_per_processor)
    if loop.depth < 0 and not loop.has_inner_loops:
        # Without loops: start, latency of a load, operations one after the other.
        busy = sum(each.cycles for role in loop.roles.values() for each in role if isinstance(each, Busy))
        units[CHAIN] = (device.block_start_cycles + device.load_dram_latency_cycles + busy) / blocks_per_processor
    elif loop.depth >= 0 and not loop.has_inner_loops:
        deep = {channel: UNLIMITED_STAGES if channel in loop.rings else n for channel, n in loop.stages.items()}
        alone = timeline_cycles(loop, loop.stages, device)
        is_alone_least = alone is not None and alone <= least_cycles(list(loop.roles.values())) * (1 + _ERROR)
        unlimited = alone if is_alone_least else timeline_cycles(loop, deep, device)
        if alone is not None and unlimited is not None:
            waits = unlimited / blocks_per_processor
            # If one unit accounts for the interval, the chain is not counted as a further unit.
            units[CHAIN] = waits if waits > _SAVED * max(units.values()) else 0.0
            # The latency of rings is the time that deeper rings would save.
            units[RING] = alone / blocks_per_processor if alone > _SAVED * unlimited else 0.0
    bound = max(units, key=lambda unit: (round(units[unit]), unit not in (CHAIN, RING)))
    return LoopCycles(units, combined_cycles(units), bound, transfer)


def timeline_cycles(loop: LoopWork, stages: dict[str, int], device: Device) -> float | None:
    """The interval of the timeline; channels that another part of the kernel fills or empties never wait.

    None if the roles deadlock.
    """
    signals = {(each.channel, each.side) for role in loop.roles.values() for each in role if isinstance(each, Signal)}
    roles = [
        [each for each in role if not isinstance(each, Wait) or (each.channel, each.side) in signals]
        for role in loop.roles.values()
    ]
    filled = {channel: count for channel, count in loop.filled.items() if channel in stages and count > 0}
    taken = {use: count for use, count in loop.taken.items() if count > 0}
    # The timeline has a release in every iteration; the first of a late one releases no slot.
    stages = {channel: count - loop.late[channel] for channel, count in stages.items()}
    return interval_cycles(roles, stages, filled, device.barrier_latency_cycles, taken)


def cycles_of_loops(outside: LoopWork, device: Device, blocks_per_processor: int) -> float:
    """The cycles of all loops in the operations outside of loops, for one of the blocks of an SM."""
    loops = _inner_loops(outside, 1)
    return sum(cycles_of(loop, device, blocks_per_processor).cycles * count for loop, count in loops)


def _inner_loops(loop: LoopWork, count: float) -> Iterator[tuple[LoopWork, float]]:
    """The loops in a loop that is executed `count` times, with the number of their iterations."""
    inner = {id(each): each for entries in loop.inner.values() for _, each in entries if not each.is_prologue}
    for each in inner.values():
        iterations = count * iterations_of(each)
        yield each, iterations
        yield from _inner_loops(each, iterations)


def iterations_of(loop: LoopWork) -> int:
    """The iterations of a loop, or those that are assumed."""
    return _ASSUMED_ITERATIONS if loop.iterations is None else loop.iterations
