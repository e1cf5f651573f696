"""The time of a kernel from the counters of a simulation: a lower bound, from the throughput of the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilec.lowering.model.throughput import THROUGHPUTS, Work, least_cycles, microseconds
from tilec.runtime.artifact import Artifact
from tilec.runtime.grid import Dimensions
from tilec.runtime.simulate import Settings, simulate
from tilec.tuning.result import Measurement

# Threads of a warp that access one word each, in bytes: a conflict repeats the access.
_WAVEFRONT_BYTES = 128


def simulated_cycles(artifact: Artifact, grid: Dimensions, given: Sequence[Any], seed: int) -> float:
    """The cycles that the launch takes at least; the simulation runs without checks, on the arrays of `given`."""
    counters = simulate(artifact, grid, given, Settings(seed, checks=False))
    return least_cycles(work_of(counters, grid, artifact), THROUGHPUTS[artifact.metadata.target])


def load_simulator() -> None:
    """Does nothing: a process that has called it has loaded what a simulation needs."""


def work_of(counters: Mapping[str, int], grid: Dimensions, artifact: Artifact) -> Work:
    """The work that the counters of a simulation state."""

    def total(*names: str) -> int:
        return sum(counters.get(name, 0) for name in names)

    shared = total("bytes.shared_read", "bytes.shared_written", "bulk_load_bytes", "bulk_store_bytes")
    x, y, z = artifact.metadata.cluster
    return Work(
        blocks=grid[0] * grid[1] * grid[2],
        cluster=x * y * z,
        instructions=total("instructions"),
        multiply_adds=total("tensor_core_multiply_adds"),
        shared_bytes=shared + _WAVEFRONT_BYTES * total("shared_bank_conflicts"),
        global_bytes=total("bytes.global_read", "bytes.global_written", "bulk_load_bytes", "bulk_store_bytes"),
    )


def simulated_measurement(config: Any, cycles: float, target: str) -> Measurement[Any]:
    """The measurement of these cycles at the boost clock of the target."""
    time_us = microseconds(cycles, THROUGHPUTS[target])
    return Measurement(config=config, mean_us=time_us, num_samples=1, error_margin_us=0.0, cycles=cycles)
