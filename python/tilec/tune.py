"""Tuning: times a kernel with each configuration of a search space, on a GPU or in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from typing import Any, TypeVar

from tilec.compile_options import CompileOptions
from tilec.diagnostics.user_traceback import public
from tilec.driver.backends import chosen_backend, default_backend
from tilec.driver.specialized import default_target
from tilec.errors import ArgumentTypeError, ArgumentValueError, UsageError
from tilec.language.kernel import Kernel
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.launch import least_cycles, microseconds
from tilec.lowering.target import target_named
from tilec.process.cuda_bindings import cuda_binding
from tilec.tuning import search
from tilec.tuning.candidate import Candidate, candidate_of
from tilec.tuning.result import Measurement, TuningResult
from tilec.tuning.search import Findings
from tilec.tuning.stored_measurements import remove_oldest

__all__ = ["Measurement", "TuningResult", "exhaustive_search"]

T = TypeVar("T")

# The backends that have times.
TIMED = ("launch", "simulate")


@public
def exhaustive_search(
    search_space: Sequence[T],
    stream: Any,
    grid_fn: Callable[[T], Sequence[int] | int],
    kernel: Kernel | Callable[[T], Kernel],
    args_fn: Callable[[T], Sequence[Any]],
    hints_fn: Callable[[T], Mapping[str, Any]] | None = None,
    *,
    quiet: bool = False,
    single_run_timeout_sec: float | None = None,
    flush_l2: bool = True,
    executor: Executor | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    target: str | None = None,
    prune: float | None = None,
    cache: bool = True,
) -> TuningResult[T]:
    """Times a kernel with each configuration, and returns the fastest.

    Configurations are compiled in parallel. One that does not compile or run is a failure in the result. On a GPU times
    are measured by CUDA events; in the simulator they are a lower bound that its counters imply, at the boost clock of
    the target: instructions issued, multiply-adds, bytes of shared and global memory, without latencies.

    Args:
        search_space: the configurations.
        stream: the stream of the launches, see ct.launch; ignored by the simulator.
        grid_fn: the grid for a configuration.
        kernel: the kernel, or a function from a configuration to a kernel.
        args_fn: the arguments for a configuration, called before each run, which modifies arrays in place.
        hints_fn: hints of the kernel (see ct.kernel) and options of tilec.compile_options for a configuration.
        quiet: whether nothing is printed; else a progress bar on a terminal, and the table of the result.
        single_run_timeout_sec: the limit of one run in seconds; a run that takes longer is a failure.
        flush_l2: whether the L2 cache of the GPU is flushed before each run.
        executor: the executor of the compiles, of concurrent.futures or with its interface, such as that of a client
            of Dask; the default is processes of this machine.
        jobs: the number of these processes; the default is the number of processors.
        backend: "launch" or "simulate"; the default is `TILEC_BACKEND` unless that is "interpret", which has no time,
            else "launch" if an array is in device memory, else "simulate".
        target: the target of a simulation; the default is `TILEC_TARGET`.
        prune: configurations are not timed if the cost model estimates more than `prune` times the smallest estimate;
            None times all. Kernels with loops whose iterations depend on data are not estimated.
        cache: whether measurements of earlier searches in the cache folder are used.

    Returns:
        The measurements and failures, in the order of the search space.

    Raises:
        ValueError: the search space is empty, or no configuration ran.
        UsageError: an option is invalid.

    Example:
        >>> @ct.kernel
        ... def double(x, tile: ct.Constant[int]): ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), tile) * 2)
        >>> x = np.ones(1024, np.float32)
        >>> result = ct.tune.exhaustive_search(
        ...     [64, 256], None, lambda tile: 1024 // tile, double, lambda tile: (x.copy(), tile), quiet=True, jobs=1
        ... )
        >>> sorted(measurement.config for measurement in result.successes), result.timer
        ([64, 256], 'simulator')
    """
    if len(search_space) == 0:
        raise ArgumentValueError("Search space is empty.")
    _check(executor, jobs, prune, single_run_timeout_sec)
    findings = Findings()
    first = _first_arguments(search_space, args_fn)
    chosen = _backend(backend, first)
    bound = target_named(target or default_target(chosen, first)).name
    candidates: dict[int, Candidate] = {}
    estimates: dict[int, float | None] = {}
    for index, config in enumerate(search_space):
        base = kernel if isinstance(kernel, Kernel) else kernel(config)
        hinted, options = _hinted(base, hints_fn(config) if hints_fn is not None else {})
        grid = grid_fn(config)
        try:
            candidate, estimate = _traced(config, grid, hinted, args_fn, chosen, bound, options, prune is not None)
        except Exception as error:
            # An exception of the arguments or of the kernel does not stop the search.
            findings.fail(index, error)
            continue
        candidates[index], estimates[index] = candidate, estimate
    if prune is not None:
        search.prune(candidates, estimates, prune, findings)
    timer = _timer(candidates, chosen, stream, flush_l2, single_run_timeout_sec)
    if cache:
        search.take_stored(candidates, timer.name if timer else search.SIMULATOR, findings)
    search.compile_candidates(candidates, executor, jobs or search.default_jobs(), findings, quiet)
    if timer is None:
        search.time_by_simulation(candidates, single_run_timeout_sec, findings, quiet)
    else:
        with closing(timer):
            search.time_by_events(candidates, timer, findings, quiet)
    remove_oldest()
    result = _result(search_space, findings, "CUDA events" if chosen == "launch" else search.SIMULATOR)
    if not quiet:
        print(result)
    return result


def _check(executor: Any, jobs: Any, prune: Any, timeout_s: Any) -> None:
    if executor is not None and not hasattr(executor, "submit"):
        raise ArgumentTypeError(f"argument 'executor' needs a method submit, got {type(executor).__name__}")
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise ArgumentValueError(f"argument 'jobs' needs a positive integer, got {jobs!r}")
    if prune is not None and not (isinstance(prune, int | float) and prune >= 1):
        raise ArgumentValueError(f"argument 'prune' needs a number of at least 1, got {prune!r}")
    if timeout_s is not None and not (isinstance(timeout_s, int | float) and timeout_s > 0):
        raise ArgumentValueError(f"argument 'single_run_timeout_sec' needs a positive number, got {timeout_s!r}")


def _first_arguments(search_space: Sequence[T], args_fn: Callable[[T], Sequence[Any]]) -> Sequence[Any]:
    """The arguments of the first configuration for which `args_fn` succeeds; they determine backend and target."""
    for config in search_space[:-1]:
        try:
            return args_fn(config)
        except Exception:
            # The configuration is a failure when it is traced.
            continue
    return args_fn(search_space[-1])


def _backend(backend: str | None, arguments: Sequence[Any]) -> str:
    """The backend that times; a program that runs in the interpreter for its environment is timed all the same."""
    chosen = chosen_backend(backend, arguments)
    if chosen in TIMED:
        return chosen
    if backend is None:
        return default_backend(arguments)
    raise UsageError(f"backend '{chosen}' has no time: tune with backend 'launch' or 'simulate'")


def _hinted(kernel: Any, hints: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The kernel with its hints replaced, and the options among `hints` that are not hints of a kernel."""
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"argument 'kernel' needs a function with @ct.kernel, got {type(kernel).__name__}")
    of_kernel = {name: value for name, value in hints.items() if name not in _COMPILER_OPTIONS}
    options = {name: value for name, value in hints.items() if name in _COMPILER_OPTIONS}
    CompileOptions.of(options)
    return (kernel.replace_hints(**of_kernel) if of_kernel else kernel), options


# Options that are not hints of a kernel.
_COMPILER_OPTIONS = ("roles", "pipeline", "tma", "stages", "warps")


def _traced(
    config: Any,
    grid: Any,
    kernel: Kernel,
    args_fn: Callable[[Any], Sequence[Any]],
    backend: str,
    target: str,
    options: dict[str, Any],
    with_estimate: bool,
) -> tuple[Candidate, float | None]:
    candidate, work = candidate_of(
        config, grid, kernel, lambda: tuple(args_fn(config)), backend, target, options, with_estimate
    )
    device = device_of(target)
    return candidate, None if work is None else microseconds(least_cycles(work, device), device)


def _timer(candidates: dict[int, Candidate], backend: str, stream: Any, flush_l2: bool, timeout_s: float | None) -> Any:
    """The timer of a GPU; None for the simulator, or without candidates."""
    if backend != "launch" or not candidates:
        return None
    cuda_binding("driver")
    # Imported here because it loads the bindings of the driver.
    from tilec.tuning.gpu_time import GpuTimer

    return GpuTimer(next(iter(candidates.values())), stream, flush_l2, timeout_s)


def _result(search_space: Sequence[T], findings: Findings, timer: str) -> TuningResult[T]:
    failures = tuple((search_space[index], *findings.failed[index]) for index in sorted(findings.failed))
    successes = tuple(findings.measured[index] for index in sorted(findings.measured) if index not in findings.failed)
    if not successes:
        config, kind, message = failures[0]
        raise ArgumentValueError(
            f"No valid config found in search space: all {len(failures)} failed; config {config}: {kind.__name__}: "
            f"{message}"
        )
    pruned = tuple((search_space[index], findings.pruned[index]) for index in sorted(findings.pruned))
    best = min(successes, key=lambda measurement: measurement.mean_us)
    return TuningResult(best=best, successes=successes, failures=failures, pruned=pruned, timer=timer)
