"""`ct.tune.exhaustive_search` in the simulator: results, failures, pruning, kept measurements, executors, mistakes."""

from __future__ import annotations

import json
import os
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec import cache_files
from tilec.commands.command_line import main
from tilec.lowering.model.constants import device_of
from tilec.process.worker_processes import WorkerProcesses
from tilec.runtime.json_record import Record
from tilec.tuning import search, stored_measurements


@ct.kernel
def double(x, y, tile: ct.Constant[int]):
    ct.store(y, ct.bid(0), ct.load(x, ct.bid(0), tile) * 2)


@ct.kernel
def endless(x, tile: ct.Constant[int]):
    value = ct.load(x, 0, tile)
    while ct.sum(value) >= 0:
        value = value + ct.load(x, 0, tile)
    ct.store(x, 0, value)


X = np.arange(1024, dtype=np.float32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own, with the measurements in `tuning`."""
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEC_CACHE_SIZE", str(1 << 20))
    return tmp_path / "cache" / "tuning"


def tuned(space: Any, kernel: Any = double, args: Any = None, **options: Any) -> Any:
    """A search of tile sizes, in this process unless `options` has an executor or processes."""
    given = args or (lambda tile: (X, np.zeros_like(X), tile))
    settings = {"quiet": True, "jobs": 1, "target": "sm_90a", **options}
    return ct.tune.exhaustive_search(space, None, lambda tile: ct.cdiv(1024, tile or 1), kernel, given, **settings)


def test_best_is_the_smallest_mean_and_order_is_that_of_the_space() -> None:
    result = tuned([64, 1024, 256])
    assert isinstance(result, ct.tune.TuningResult)
    assert [measurement.config for measurement in result.successes] == [64, 1024, 256]
    assert result.best.mean_us == min(measurement.mean_us for measurement in result.successes)
    assert (result.failures, result.pruned, result.timer) == ((), (), "simulator")
    first, timer, *_ = str(result).splitlines()
    assert first == "3 succeeded, 0 failed"
    assert timer == "  timer: estimated from the simulator's counters, not measured"


def test_time_is_that_of_the_most_used_unit() -> None:
    # One block of 1024 elements reads and writes 4 KB each, by 52 bytes per cycle of an SM at 1830 MHz, in fewer
    # instructions than 4 per cycle.
    (measurement,) = tuned([1024]).successes
    assert measurement.cycles == pytest.approx(8192 / 52)
    assert measurement.mean_us == pytest.approx(8192 / 52 / 1830)
    assert (measurement.num_samples, measurement.error_margin_us) == (1, 0.0)


def test_each_run_has_its_own_arguments() -> None:
    outputs = []

    def arguments(tile: int) -> tuple[Any, ...]:
        outputs.append(np.zeros_like(X))
        return X, outputs[-1], tile

    tuned([128, 256], args=arguments)
    written = [output for output in outputs if output.any()]
    assert len(written) == 2 and all(np.array_equal(output, 2 * X) for output in written)


def test_candidates_that_do_not_compile_or_run_are_failures() -> None:
    def arguments(tile: int) -> tuple[Any, ...]:
        if tile == 32:
            raise KeyError("no array")
        return X, np.zeros_like(X) if tile != 64 else X.astype(np.float16), tile

    result = tuned([100, 128, 64], args=arguments)
    assert [measurement.config for measurement in result.successes] == [128]
    (config, kind, message), (other, other_kind, _) = result.failures
    assert (config, kind) == (100, ct.TileTypeError)
    assert "expected extents that are powers of two" in message
    assert (other, other_kind) == (64, ct.TileTypeError)
    assert "2 failed:\n    100: TileTypeError: " in result.summary()


def test_exception_of_the_arguments_is_a_failure() -> None:
    calls = []

    def arguments(tile: int) -> tuple[Any, ...]:
        calls.append(tile)
        if tile == 64 and calls.count(64) > 1:
            raise KeyError("no array")
        return X, np.zeros_like(X), tile

    result = tuned([128, 64], args=arguments)
    assert [(config, kind) for config, kind, _ in result.failures] == [(64, KeyError)]


def test_kernel_may_depend_on_the_configuration() -> None:
    def made(factor: int) -> ct.kernel:
        @ct.kernel
        def scaled(y):
            ct.store(y, 0, ct.full(16, unknown if factor == 0 else factor, ct.float32))  # noqa: F821

        return scaled

    outputs = {factor: np.zeros(16, np.float32) for factor in (0, 1, 2)}
    result = tuned([0, 1, 2], kernel=made, args=lambda factor: (outputs[factor],), backend="simulate")
    assert [measurement.config for measurement in result.successes] == [1, 2]
    assert (outputs[1] == 1).all() and (outputs[2] == 2).all()
    assert [config for config, _, _ in result.failures] == [0]


def test_hints_are_of_the_kernel_or_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []
    compile_all = search.compile_all

    def recorded(given: Any, *rest: Any) -> Any:
        requests.extend(given)
        return compile_all(given, *rest)

    monkeypatch.setattr(search, "compile_all", recorded)
    hints = {64: {"occupancy": 2}, 128: {"opt_level": 1}, 256: {"tma": False}}
    assert len(tuned([64, 128, 256], hints_fn=hints.get).successes) == 3
    assert ["occupancy = 2" in request.source for request in requests] == [True, False, False]
    assert [request.hints for request in requests] == [{}, {"opt_level": 1}, {"tma": False}]


def test_equal_candidates_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    compile_all = search.compile_all
    monkeypatch.setattr(
        search, "compile_all", lambda given, *rest: counts.append(len(given)) or compile_all(given, *rest)
    )
    assert len(tuned([128, 128, 256]).successes) == 3
    assert counts == [2]


class Recorder(Executor):
    """Executes at once, and counts the calls."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        self.calls += 1
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_compiles_run_in_the_given_executor() -> None:
    executor = Recorder()
    result = tuned([64, 128], executor=executor)
    assert (len(result.successes), executor.calls) == (2, 2)


@pytest.mark.parametrize("executor", [lambda: WorkerProcesses(2), lambda: ThreadPoolExecutor(2)])
def test_executors_find_the_same_times(executor: Any) -> None:
    expected = tuned([64, 128, 100], cache=False)
    with executor() as opened:
        result = tuned([64, 128, 100], executor=opened, cache=False)
    assert result.successes == expected.successes
    assert [failure[:2] for failure in result.failures] == [(100, ct.TileTypeError)]


def test_time_limit_of_compiles_holds_in_other_processes() -> None:
    with WorkerProcesses(1) as executor, ct.compiler_timeout(1e-6):
        with pytest.raises(ValueError, match="TileCompilerTimeoutError: .*the compile did not finish in 1e-06 s"):
            tuned([64], executor=executor)


class Broken(Executor):
    """An executor whose workers are lost."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_exception(ConnectionError("worker lost") if args[0].source.count("128") else None)
        if future.exception() is None:
            future = Future()
            future.set_result(fn(*args, **kwargs))
        return future


def test_error_of_an_executor_is_a_failure() -> None:
    result = tuned([64, 128], executor=Broken())
    ((config, kind, message),) = result.failures
    assert (config, kind) == (128, ct.TileInternalError)
    assert "the executor raised ConnectionError: worker lost" in message


@ct.kernel
def matmul(A, B, C, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((T, T), ct.float32)
    for k in range(ct.num_tiles(A, 1, (T, 64))):
        total = ct.mma(ct.load(A, (i, k), (T, 64)), ct.load(B, (k, j), (64, T)), total)
    ct.store(C, (i, j), total)


def tuned_matmul(stages: list[int], **options: Any) -> Any:
    A, B = np.ones((64, 1024), np.float16), np.ones((1024, 64), np.float16)
    return ct.tune.exhaustive_search(
        stages,
        None,
        lambda _: (1, 1),
        matmul,
        lambda _: (A, B, np.zeros((64, 64), np.float32), 64),
        hints_fn=lambda count: {"stages": count},
        **{"quiet": True, "jobs": 1, "backend": "simulate", "cache": False, **options},
    )


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_deeper_pipelines_take_less_time(target: str) -> None:
    times = [measurement.mean_us for measurement in tuned_matmul([1, 2, 4], target=target).successes]
    # The latency of a load is divided by the slots, until the instructions take longer.
    assert times[0] == pytest.approx(2 * times[1], rel=0.01)
    assert times[1] > 1.8 * times[2]


def test_cost_model_prunes_shallow_pipelines() -> None:
    result = tuned_matmul([1, 4], prune=2.0, target="sm_90a")
    assert [config for config, _ in result.pruned] == [1]


def test_cost_model_prunes_candidates() -> None:
    # One block leaves all SMs but one idle; sixteen blocks take a sixteenth of its time.
    result = tuned([64, 1024], prune=4.0)
    assert [measurement.config for measurement in result.successes] == [64]
    ((config, estimate),) = result.pruned
    assert config == 1024
    assert estimate == pytest.approx(8192 / device_of("sm_90a").l2_bytes_per_cycle / 1830)
    assert "1 succeeded, 0 failed, 1 pruned" in str(result)
    assert len(tuned([64, 1024], prune=16.0).pruned) == 0


def test_loop_that_depends_on_data_is_not_pruned() -> None:
    result = tuned([16], kernel=endless, args=lambda tile: (np.full(tile, -1, np.float32), tile), prune=1.0)
    assert result.pruned == () and len(result.successes) == 1


def test_run_that_does_not_end_is_a_failure() -> None:
    arguments = {16: np.ones(16, np.float32), 32: np.full(32, -1, np.float32)}
    result = tuned([16, 32], kernel=endless, args=lambda n: (arguments[n], n), single_run_timeout_sec=1.0)
    ((config, kind, message),) = result.failures
    assert (config, kind.__name__) == (16, "TileLaunchTimeoutError")
    assert "the simulation did not end in 1 s" in message
    assert [measurement.config for measurement in result.successes] == [32]


def test_environment_of_the_interpreter_is_timed_by_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_BACKEND", "interpret")
    assert tuned([64, 128]).timer == "simulator"


def test_measurements_are_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tuned([64, 128])
    assert len(list(cache.iterdir())) == 2
    monkeypatch.setattr(search, "simulated_cycles", lambda *_: pytest.fail("simulated again"))
    assert tuned([64, 128]).successes == first.successes


@pytest.mark.parametrize(
    "change", [{"args": lambda tile: (X[:512], X[:512].copy(), tile)}, {"target": "sm_100a"}, {"cache": False}]
)
def test_other_candidates_are_timed(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tuned([64])
    simulated = []
    cycles = search.simulated_cycles
    monkeypatch.setattr(search, "simulated_cycles", lambda *call: simulated.append(call) or cycles(*call))
    tuned([64], **change)
    assert len(simulated) == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "tilec.tuning/9"}', '{"schema": "tilec.tuning/1", "mean_us": -1}']
)
def test_damaged_file_is_replaced(cache: Path, text: str) -> None:
    expected = tuned([64])
    (file,) = cache.iterdir()
    good = file.read_bytes()
    cache_files.write(file, text.encode())
    assert tuned([64]).successes == expected.successes
    assert file.read_bytes() == good


def test_folder_of_size_0_keeps_no_measurement(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_CACHE_SIZE", "0")
    tuned([64])
    assert not cache.exists()


def test_oldest_measurements_are_removed(cache: Path) -> None:
    tuned([64, 128, 256])
    for age, file in enumerate(sorted(cache.iterdir())):
        os.utime(file, (age, age))
    kept = sorted(cache.iterdir())[1:]
    assert stored_measurements.remove_oldest(2) == 1
    assert sorted(cache.iterdir()) == kept


def test_cache_command_counts_and_removes_measurements(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuned([64, 128])
    assert main(["cache"]) == 0 and f"2 measurements, in {cache}\n" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0 and f"removed 2 measurements from {cache}\n" in capsys.readouterr().out
    assert not list(cache.iterdir())


def test_cache_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path / "file"))
    assert len(tuned([64]).successes) == 1


def test_table_is_printed_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    tuned([64])
    assert capsys.readouterr() == ("", "")
    tuned([64], quiet=False)
    assert "* 64: " in capsys.readouterr().out


MISTAKES = [
    ({"space": []}, ValueError, "Search space is empty"),
    ({"space": [100]}, ValueError, "No valid config found in search space: all 1 failed; config 100: TileTypeError"),
    ({"kernel": lambda config: config}, TypeError, "argument 'kernel' needs a function with @ct.kernel, got int"),
    ({"executor": 3}, TypeError, "argument 'executor' needs a method submit, got int"),
    ({"jobs": 0}, ValueError, "argument 'jobs' needs a positive integer, got 0"),
    ({"prune": 0.5}, ValueError, "argument 'prune' needs a number of at least 1, got 0.5"),
    ({"single_run_timeout_sec": 0}, ValueError, "argument 'single_run_timeout_sec' needs a positive number, got 0"),
    ({"backend": "interpret"}, ct.TilecError, "'interpret' has no time: tune with backend 'launch' or 'simulate'"),
    ({"backend": "guess"}, ct.TilecError, "unknown backend 'guess'"),
    ({"target": "sm_80"}, ct.TilecError, "unknown target 'sm_80': expected one of sm_100a, sm_90a"),
    ({"hints_fn": lambda config: {"speed": 9}}, TypeError, "unknown hint 'speed'"),
    ({"hints_fn": lambda config: {"stages": 99}}, ct.TilecError, "hint 'stages': expected an integer from 1 to 16"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "message"), MISTAKES, ids=[message for _, _, message in MISTAKES])
def test_mistakes(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        tuned(**{"space": [64], **change})
    assert message in str(caught.value)


def test_time_of_a_stored_measurement_is_not_negative() -> None:
    fields = {
        "schema": stored_measurements.SCHEMA,
        "mean_us": -1,
        "num_samples": 1,
        "error_margin_us": 0,
        "cycles": None,
    }
    with pytest.raises(ct.TileError, match="'mean_us' needs a number that is not negative, got -1"):
        stored_measurements._read(Record.parse(json.dumps(fields), "k.json"), {})
