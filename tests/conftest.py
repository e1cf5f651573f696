"""The core suite, tests of GPUs, `.mlir` files with CHECK lines, and stand-ins for the CUDA driver.

Tests of a GPU run if the machine has a GPU of the target that they name; otherwise they are skipped.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser
from hypothesis import settings

from tilec.commands.command_line import main
from tilec.errors import LaunchError
from tilec.runtime.devices.devices import device_for

# Modules that several folders of tests share are in this folder.
sys.path.append(str(Path(__file__).parent))

# Tests that change the compiler must compile. The tests of the disk cache set a size of their own.
os.environ["TILEC_CACHE_SIZE"] = "0"

# Each run has the same examples, so that a commit that passed passes again. `make fuzz` draws new ones.
settings.register_profile("same examples", derandomize=True, database=None, deadline=None)
settings.register_profile("new examples", max_examples=1000, database=None, deadline=None)
settings.load_profile("same examples")

# The core suite (`make test`, `pytest -m core`) has at most this number of cases of each test function: that of its
# file, else of its folder, else of "". It takes five minutes, and mutants of the compiler measure what it sees.
CORE_CASES = {
    "": 60,
    "ahead_of_time": 3,
    "ahead_of_time/test_compile_folder.py": 0,
    "bytecode/test_operation_samples.py": 0,
    "bytecode/reading/test_read_damaged.py": 0,
    "bytecode/reading/test_read_round_trip.py": 2,
    "checks": 30,
    "command_line": 10,
    "command_line/test_compat.py": 1,
    "command_line/test_numbers.py": 2,
    "dialect/test_generated_modules.py": 0,
    "dispatch": 0,
    "dispatch/test_launcher.py": 60,
    "documents": 0,
    "driver": 3,
    "driver/cache/test_cache_folder.py": 0,
    "driver/cache/test_disk_cache.py": 0,
    "driver/python/test_h200_check.py": 0,
    "driver/python/test_missing_packages.py": 0,
    "driver/python/test_notebook.py": 0,
    "driver/python/test_python_run.py": 0,
    "driver/cache/test_second_process.py": 0,
    "driver/test_stage_inputs.py": 6,
    "driver/python/test_upstream_passes.py": 0,
    "frontend/test_examples.py": 0,
    "frontend/control_flow/test_random_programs.py": 2,
    "fuzz": 0,
    "golden/test_debug_info_of_the_sheet.py": 1,
    "gpu_to_ptx": 3,
    "house/test_core_suite.py": 0,
    "interpret": 6,
    "kernels": 1,
    # The core suite sees the return of each fault that a measurement has found.
    "kernels/blocks/test_blocks_that_wait.py": 4,
    "kernels/accesses/test_random_strides.py": 4,
    "kernels/views/test_sliced_maps.py": 4,
    "kernels/views/test_slices.py": 4,
    "kernels/views/test_views_outside.py": 4,
    "kernels/products/test_block_scaling.py": 0,
    "kernels/scale_factors": 0,
    "kernels/schedules/test_followed_schedules.py": 0,
    "kernels/accumulators/test_separate_columns.py": 0,
    "kernels/attention/test_sheet_attention.py": 0,
    "kernels/attention/test_sheet_gradients.py": 0,
    "kernels/products/test_sheet_products.py": 0,
    "kernels/tiles/test_sheet_scans.py": 0,
    "kernels/attention/test_sheet_serving.py": 0,
    "layout": 10,
    "layout/test_random_layouts.py": 0,
    "machine_code": 0,
    "messages": 0,
    "mutants": 0,
    "ptxsim": 10_000,
    "ptxsim/execution/test_deadlock.py": 5,
    "ptxsim/execution/test_waiting_blocks.py": 10,
    "runtime": 3,
    "runtime/test_devices.py": 0,
    "runtime/test_launch.py": 0,
    "runtime/pages/test_tensor_core_page.py": 0,
    "runtime/pages/test_tensor_maps_page.py": 0,
    "semantics": 200,
    "semantics/test_coverage.py": 0,
    "semantics/test_generate.py": 0,
    "semantics/test_operations_page.py": 0,
    "semantics/test_simulate_matrix.py": 5,
    "tile/test_all_modules.py": 2,
    "tile": 30,
    "tile/analysis/test_contiguity.py": 5,
    "tile/simplify/test_fold_vectors.py": 100,
    "tile/analysis/test_mark_inbounds.py": 10,
    "tile/analysis/test_row_major_start.py": 2,
    "tile_to_gpu": 4,
    "tune": 0,
}
# Tests that `pytest` leaves out, and so the core suite too.
LEFT_OUT = ("peers", "torch", "soak")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slice", metavar="K/N", help="run the tests whose hash leaves remainder K modulo N")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _mark_soak(items)
    _mark_core(items)
    if config.option.slice:
        remainder, count = map(int, config.option.slice.split("/"))
        items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % count == remainder]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a case in the core suite are not imported by `-m core`."""
    if config.option.markexpr == "core" and collection_path.suffix == ".py" and not _most_cases(collection_path):
        return True
    return None


def _most_cases(file: Path) -> int:
    """The most cases of each test function of a file in the core suite."""
    path = Path(os.path.relpath(file, Path(__file__).parent))
    return next(CORE_CASES[key] for key in (path.as_posix(), path.parts[0], "") if key in CORE_CASES)


def _mark_core(items: list[pytest.Item]) -> None:
    """Marks the tests of the core suite: cases at equal distances, from one that the name of the function decides."""
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in LEFT_OUT):
            functions[item.nodeid.split("[")[0]].append(item)
    for name, cases in functions.items():
        count, first = min(_most_cases(cases[0].path), len(cases)), zlib.crc32(name.encode())
        for number in range(count):
            cases[(first + number * len(cases) // count) % len(cases)].add_marker("core")


def _mark_soak(items: list[pytest.Item]) -> None:
    """Of a product of n parameters marked `covering`, the cases that run have every combination of n - 1 values."""
    numbers: dict[object, dict[str, int]] = defaultdict(dict)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            parameters = item.callspec.params
            groups = [tuple(map(str.strip, _names(mark))) for mark in item.iter_markers("parametrize")]
            groups.append(tuple(name for name in parameters if not any(name in group for group in groups)))
            total = 0
            for group in groups:
                known = numbers[item.parent, item.originalname, group]
                total += known.setdefault(repr([parameters[name] for name in group]), len(known))
            if total % 2:
                item.add_marker("soak")


def _names(mark: pytest.Mark) -> Sequence[str]:
    return mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("gpu"):
        try:
            device_for(mark.args[0])
        except LaunchError as error:
            pytest.skip(error.message)


@pytest.fixture(scope="session")
def recording_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library of tests/runtime/recording_driver.cpp, for LD_LIBRARY_PATH."""
    folder = tmp_path_factory.mktemp("recording_driver")
    compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
    command = [compiler, "-std=c++17", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so.1"]
    subprocess.run([*command, Path(__file__).parent / "runtime" / "recording_driver.cpp", "-ldl"], check=True)
    return folder


@pytest.fixture(scope="session")
def null_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library of benchmarks/null_driver.c, for LD_LIBRARY_PATH."""
    folder = tmp_path_factory.mktemp("null_driver")
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    source = Path(__file__).parents[1] / "benchmarks" / "null_driver.c"
    subprocess.run([*command, "-o", folder / "libcuda.so.1", source], check=True)
    return folder


RUN = "// RUN: "


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A `.mlir` file whose first line says what to run is a test."""
    if file_path.suffix != ".mlir" or not file_path.read_text(errors="replace").startswith(RUN):
        return None
    return CheckedFile.from_parent(parent, path=file_path)


class CheckedFile(pytest.File):
    """A file whose first lines are `// RUN: tilec opt %s ..` or `// RUN: tilec compile %s ..`, with CHECK lines."""

    def collect(self) -> Iterator[pytest.Item]:
        commands = [line.removeprefix(RUN) for line in self.path.read_text().splitlines() if line.startswith(RUN)]
        for number, command in enumerate(commands):
            yield CheckedRun.from_parent(self, name=f"run{number}" if number else "run", command=command)


class CheckedRun(pytest.Item):
    """One command, run in this process, whose output FileCheck compares; `not` before it asks for a failure."""

    def __init__(self, *, command: str, **keywords: object) -> None:
        super().__init__(**keywords)  # type: ignore[arg-type]
        self.words = [str(self.path) if word == "%s" else word for word in shlex.split(command)]

    def runtest(self) -> None:
        words, prefix = self.words, "CHECK"
        if words[-1].startswith("--check-prefix="):
            words, prefix = words[:-1], words[-1].partition("=")[2]
        refused = words[0] == "not"
        out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words[1 + refused :])
        if bool(status) != refused:
            raise CheckFailedError(f"{shlex.join(words)} ended with status {status}\n{err.getvalue()}")
        printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
        options = Options(match_filename=str(self.path), check_prefixes=prefix)  # type: ignore[arg-type]
        matcher = Matcher(options, FInput("<output>", printed + err.getvalue()), Parser.from_opts(options))
        matcher.stderr = io.StringIO()
        if matcher.run():
            raise CheckFailedError(f"{matcher.stderr.getvalue()}\n{printed}{err.getvalue()}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None) -> object:
        if isinstance(excinfo.value, CheckFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, shlex.join(self.words)


class CheckFailedError(Exception):
    """The output is not what the file's CHECK lines say."""
