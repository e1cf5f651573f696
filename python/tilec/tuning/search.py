"""An exhaustive search: candidates are traced, compiled in parallel, pruned and timed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tilec import options
from tilec.ahead_of_time.batch import compile_all
from tilec.errors import TileLaunchTimeoutError
from tilec.process.progress import progress
from tilec.process.worker_processes import WorkerProcesses
from tilec.tuning.candidate import Candidate
from tilec.tuning.result import Measurement
from tilec.tuning.samples import BATCH, WARM_UP, Samples
from tilec.tuning.simulated_time import load_simulator, loaded_ahead, simulated_cycles, simulated_measurement
from tilec.tuning.stored_measurements import store, stored

# The timer of simulations, in results and on disk.
SIMULATOR = "simulator"
# The fastest candidates that are timed until their interval is narrow.
_TOP = 5


@dataclass
class Findings:
    """The measurements, failures and pruned candidates of a search, by the index of the configuration."""

    measured: dict[int, Measurement[Any]] = field(default_factory=dict)
    failed: dict[int, tuple[type[BaseException], str]] = field(default_factory=dict)
    pruned: dict[int, float] = field(default_factory=dict)

    def fail(self, index: int, error: BaseException) -> None:
        """Records an error."""
        self.failed[index] = type(error), str(error)


def compile_candidates(
    candidates: dict[int, Candidate], executor: Executor | None, jobs: int, findings: Findings, quiet: bool
) -> None:
    """Compiles the candidates, those with equal requests once; removes those that fail."""
    requests = list({repr(candidate.request): candidate.request for candidate in candidates.values()}.values())
    with _executor(executor, min(jobs, len(requests))) as chosen, _progress("compile", len(requests), quiet) as advance:
        outcomes = compile_all(requests, chosen, lambda request, _outcome: advance(request.kernel))
    found = dict(zip(map(repr, requests), outcomes, strict=True))
    for index, candidate in list(candidates.items()):
        outcome = found[repr(candidate.request)]
        candidate.artifact = outcome.artifact
        if outcome.error is not None:
            findings.fail(index, outcome.error)
            del candidates[index]


@contextmanager
def _executor(given: Executor | None, jobs: int) -> Iterator[Executor | None]:
    """The caller's executor, which stays open; else processes, or this process for one compile."""
    if given is not None or jobs <= 1:
        yield given
        return
    with WorkerProcesses(jobs) as executor:
        yield executor


def _progress(description: str, total: int, quiet: bool) -> Any:
    return progress(description, total, False if quiet else None)


def default_jobs() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prune(
    candidates: dict[int, Candidate], estimates: dict[int, float | None], factor: float, findings: Findings
) -> None:
    """Removes candidates whose estimate is more than `factor` times the smallest; those without one remain."""
    known = [estimate for index in candidates if (estimate := estimates[index]) is not None]
    limit = factor * min(known, default=0.0)
    for index in list(candidates):
        estimate = estimates[index]
        if estimate is not None and estimate > limit:
            findings.pruned[index] = estimate
            del candidates[index]


def take_stored(candidates: dict[int, Candidate], timer: str, findings: Findings) -> None:
    """Removes the candidates that an earlier search has timed."""
    for index, candidate in list(candidates.items()):
        known = stored(candidate.identity, timer, candidate.config)
        if known is not None:
            findings.measured[index] = known
            del candidates[index]


def time_by_simulation(
    candidates: dict[int, Candidate], timeout_s: float | None, findings: Findings, quiet: bool
) -> None:
    """Simulates each candidate once."""
    seed = options.from_environment().seed
    with _progress("simulate", len(candidates), quiet) as advance:
        for index, candidate in candidates.items():
            try:
                findings.measured[index] = _simulated(candidate, seed, timeout_s)
            except Exception as error:
                # An exception of the arguments or of the kernel does not stop the search.
                findings.fail(index, error)
            else:
                store(candidate.identity, SIMULATOR, findings.measured[index])
            advance(str(candidate.config))


def _simulated(candidate: Candidate, seed: int, timeout_s: float | None) -> Measurement[Any]:
    assert candidate.artifact is not None
    call = candidate.artifact, candidate.grid, candidate.arguments(), seed, loaded_ahead(candidate.request)
    cycles = simulated_cycles(*call) if timeout_s is None else _in_time(timeout_s, *call)
    return simulated_measurement(candidate.config, cycles, candidate.request.target)


def _in_time(timeout_s: float, *call: Any) -> float:
    """The cycles, simulated in a process that is ended if the run takes too long; its start is not limited."""
    with WorkerProcesses(1) as executor:
        executor.submit(load_simulator).result()
        future = executor.submit(simulated_cycles, *call)
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            executor.kill()
            raise TileLaunchTimeoutError(f"the simulation did not end in {timeout_s:g} s") from None


def time_by_events(candidates: dict[int, Candidate], timer: Any, findings: Findings, quiet: bool) -> None:
    """Times a batch of runs of each candidate, then the fastest until their intervals are narrow."""
    samples: dict[int, Samples] = {}
    with _progress("time", len(candidates), quiet) as advance:
        for index, candidate in candidates.items():
            _guarded(index, candidate, timer, WARM_UP, Samples(), findings)
            if index not in findings.failed:
                samples[index] = Samples()
                _guarded(index, candidate, timer, BATCH, samples[index], findings)
            advance(str(candidate.config))
    _converge(candidates, samples, timer, findings)
    for index, found in samples.items():
        if index not in findings.failed:
            findings.measured[index] = _measurement(candidates[index].config, found)
            store(candidates[index].identity, timer.name, findings.measured[index])


def _converge(candidates: dict[int, Candidate], samples: dict[int, Samples], timer: Any, findings: Findings) -> None:
    """Times candidates, fastest first, until their interval is narrow or they cannot be among the fastest."""
    means: list[float] = []
    for index in sorted(samples, key=lambda index: samples[index].mean_us):
        found = samples[index]
        while index not in findings.failed and not found.is_enough:
            if len(means) >= _TOP and found.mean_us - found.margin_us > sorted(means)[_TOP - 1]:
                break
            _guarded(index, candidates[index], timer, BATCH, found, findings)
        means.append(found.mean_us)


def _guarded(index: int, candidate: Candidate, timer: Any, count: int, samples: Samples, findings: Findings) -> None:
    endless = next((failure for failure in findings.failed.values() if failure[0] is TileLaunchTimeoutError), None)
    if endless is not None:
        # The GPU still runs the other candidate, and would start this one after it.
        findings.failed[index] = endless
        return
    try:
        for _ in range(count):
            samples.add(timer.time_us(candidate))
    except Exception as error:
        # An exception of the arguments or of the kernel does not stop the search.
        findings.fail(index, error)


def _measurement(config: Any, samples: Samples) -> Measurement[Any]:
    return Measurement(
        config=config, mean_us=samples.mean_us, num_samples=samples.count, error_margin_us=samples.margin_us
    )
