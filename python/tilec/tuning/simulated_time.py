"""The time of a kernel from the counters of a simulation and its rings: a lower bound by the cost model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilec.ahead_of_time.request import Request
from tilec.driver.stages import compile as compile_entry
from tilec.explain.cost import KernelCost, kernel_costs
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.launch import Ring, Work, least_cycles, microseconds
from tilec.lowering.model.step import TENSOR_PIPE
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.grid import Dimensions, grid_of
from tilec.runtime.simulate import Settings, simulate
from tilec.tuning.result import Measurement

# Threads of a warp that access one word each, in bytes: a conflict repeats the access.
_WAVEFRONT_BYTES = 128


@dataclass(frozen=True)
class LoadedAhead:
    """The ring of the loop that loads most, and the blocks that an SM executes at the same time."""

    ring: Ring
    blocks_per_processor: int


def loaded_ahead(request: Request) -> LoadedAhead | None:
    """What a kernel loads ahead, from its compile up to the stage that has its loops; None without such a loop."""
    compiled = compile_entry(
        request.source, entry=request.entry, target=request.target, hints=dict(request.hints), stop="gpu"
    )
    (cost,) = kernel_costs(compiled.stages[-1].value, request.target)
    ring = _largest_ring(cost)
    return None if ring is None else LoadedAhead(ring, cost.blocks_per_processor)


def simulated_cycles(
    artifact: Artifact, grid: Dimensions, given: Sequence[Any], seed: int, ahead: LoadedAhead | None
) -> float:
    """The cycles that the launch takes at least; the simulation runs without checks, on the arrays of `given`."""
    counters = simulate(artifact, grid, given, Settings(seed, checks=False))
    work = work_of(counters, grid, artifact)
    if ahead is not None and work.blocks:
        # All loads of a block fill the slots of its ring.
        steps = counters.get("bulk_load_bytes", 0) / work.blocks / ahead.ring.bytes
        work = replace(work, ring=ahead.ring, ring_steps=steps, blocks_per_processor=ahead.blocks_per_processor)
    return least_cycles(work, device_of(artifact.metadata.target))


def _largest_ring(cost: KernelCost) -> Ring | None:
    """The rings of the loop that loads most, as one of the fewest slots; None without such a loop."""
    loops = [loop for loop in cost.loops if loop.work.rings and loop.work.depth >= 0]
    if not loops:
        return None
    loop = max(loops, key=lambda each: each.work.ring_bytes)
    slots = min(ring.stages for ring in loop.work.rings.values())
    barriers = 2 * cost.device.barrier_latency_cycles
    return Ring(slots=slots, bytes=loop.work.ring_bytes, copies=1, use_cycles=loop.cycles.units[TENSOR_PIPE] + barriers)


def load_simulator() -> None:
    """Does nothing: a process that has called it has loaded what a simulation needs."""


def work_of(counters: Mapping[str, int], grid: Dimensions, artifact: Artifact) -> Work:
    """The work that the counters of a simulation state."""

    def total(*names: str) -> int:
        return sum(counters.get(name, 0) for name in names)

    shared = total("bytes.shared_read", "bytes.shared_written", "bulk_load_bytes", "bulk_store_bytes")
    metadata = artifact.metadata
    x, y, z = metadata.cluster
    blocks = grid_of(grid, metadata.cluster, metadata.grid_counts_clusters, metadata.cluster_if_divisible)
    return Work(
        blocks=math.prod(blocks),
        cluster=x * y * z,
        instructions=total("instructions"),
        multiply_adds=total("tensor_core_multiply_adds"),
        shared_bytes=shared + _WAVEFRONT_BYTES * total("shared_bank_conflicts"),
        global_bytes=total("bytes.global_read", "bytes.global_written", "bulk_load_l2_bytes", "bulk_store_bytes"),
    )


def simulated_measurement(config: Any, cycles: float, target: str) -> Measurement[Any]:
    """The measurement of these cycles at the boost clock of the target."""
    time_us = microseconds(cycles, device_of(target))
    return Measurement(config=config, mean_us=time_us, num_samples=1, error_margin_us=0.0, cycles=cycles)
