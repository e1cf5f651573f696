"""A pytest plugin that runs the tests of a checkout of NVIDIA's TileGym with tilec, in the simulator.

    python -m pytest -p tilegym_host.plugin --records FOLDER CHECKOUT/tests/ops CHECKOUT/tests/suites

The environment variable TILEC_TARGET has the target. PYTHONPATH has the folder `benchmarks` and CHECKOUT/src. Sizes of
the tests are shrunk (sizes.py), and each search of ct.tune takes its first configuration. `records.jsonl` in FOLDER has
a line per test and per compile; the bytecode of each kernel's first launch lies beside it.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch

from tilegym_host import host_torch, sizes
from tilegym_host.kernel_records import RECORDS
from tilegym_host.launches import Launches, Record

SECONDS_PER_TEST = 180
# Parameters with these values choose another backend than cuTile.
OTHER_BACKENDS = ("tilecpp", "triton", "cutile-rs", "pytorch", "torch", "cudnn")


class TestTooLong(Exception):
    """A test ran longer than its limit."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--records", type=Path, required=True, help="the folder of the records")
    parser.addoption("--sets", type=int, default=sizes.MOST_SETS, help="parameter sets per test")
    parser.addoption("--every-configuration", action="store_true", help="compile all configurations of searches")
    parser.addoption("--seconds", type=float, default=SECONDS_PER_TEST, help="limit of one test")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Prepares the process before the checkout's conftest.py asks torch for a GPU."""
    os.environ["TILEC_BACKEND"] = "simulate"
    import tilec
    from tilec import compat, options, tune

    given = early_config.known_args_namespace
    target = options.from_environment().target
    torch.set_num_threads(1)
    host_torch.install(target)
    compat.install()
    import cuda.tile._cext

    # The tests of types that need bytecode 13.3 ask for features in development, which cuTile no longer requires.
    cuda.tile._cext.dev_features_enabled = lambda: True
    given.records.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(given.records / RECORDS, given.seconds)
    launches = Launches(target, given.records, given.every_configuration, recorder.write)
    recorder.launches = launches
    tilec.launch = launches.launch
    tune.exhaustive_search = launches.search
    early_config.pluginmanager.register(recorder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of cuTile with few parameter sets, whose sizes are shrunk."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.name.startswith(("test_perf", "bench")) and not _has_other_backend(item):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = []
    for name, found in tests.items():
        sets = [sizes.parameters_of(name, _parameters(item)) for item in found]
        for index in sizes.chosen(sets, config.getoption("sets")):
            _parameters(found[index]).update(sets[index])
            kept.append(found[index])
    items[:] = kept


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _has_other_backend(item: pytest.Item) -> bool:
    return any(isinstance(value, str) and value in OTHER_BACKENDS for value in _parameters(item).values())


class Recorder:
    """Writes the records, and ends tests that take too long."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.launches: Launches | None = None
        self._file = path.open("a", buffering=1)
        self._seconds = seconds

    def write(self, record: Record) -> None:
        self._file.write(json.dumps(record) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        assert self.launches is not None
        self.launches.of_test.clear()
        signal.signal(signal.SIGALRM, self._stop)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        report = yield
        if report.when == "call" or report.outcome != "passed":
            assert self.launches is not None
            error = "" if call.excinfo is None else f"{call.excinfo.typename}: {call.excinfo.value}"
            self.write(
                {
                    "test": item.nodeid,
                    "parameters": {name: str(value) for name, value in _parameters(item).items()},
                    "outcome": report.outcome,
                    "seconds": round(call.duration, 2),
                    "error": error[:2000],
                    "launches": list(self.launches.of_test),
                }
            )
        return report

    def _stop(self, *_signal: object) -> None:
        raise TestTooLong(f"the test ran for more than {self._seconds:g} seconds")
