"""Times the kernels of the sheet on a Hopper GPU, beside NVIDIA's tileiras, Triton and the libraries of torch.

    python benchmarks/hopper/timing.py make FOLDER      on a machine with tilec and the extra `peers`
    python FOLDER/hopper/timing.py run FOLDER           on a machine with the GPU, torch, Triton and cuda-bindings
    python FOLDER/hopper/timing.py once FOLDER CASE PROGRAM         launches one program three times, for a profiler

`make` compiles by tilec and by tileiras from the same bytecode. `run` compares each result with torch in float32, then
measures all programs of a case in turn: medians of launches with a cold L2 cache, between two events of a stream.
With `--json FILE` it writes all figures. The exit status is 1 if a result is wrong or a launch failed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = "sm_90a"
TILEC, TILEIRAS, TRITON = "tilec", "tileiras", "Triton"
# The passes that arrange the multiplies of attention: each is left out once.
ARRANGING_PASSES = (
    *("alternate-tiles", "partition-roles", "register-budgets", "advance-multiplies", "issue-early"),
    *("delay-multiplies", "advance-first-multiplies", "wgmma-in-flight", "advance-late-sums", "order-warpgroups"),
    "emulate-exponentials",
)
VARIED = ("attention full 128x128 d128", "attention full 128x128 d64", "attention causal 128x128 d128")
# Options that are tried for kernels with this text in their name, one at a time.
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "gemm 128x128x64": ({"multicast": False}, {"stages": 3}),
    "gemm 128x256x64": ({"multicast": False}, {"stages": 3}),
    "gemm bias gelu": ({"multicast": False},),
    "attention full 64x128": ({"stages": 1, "occupancy": 2}, {"stages": 2}),
    "norm": ({"tma": False}, {"roles": False}, {"warps": 8}, {"tma": False, "warps": 8}, {"occupancy": 4}),
    "row sum": ({"tma": False}, {"roles": False}, {"warps": 8}),
    "transpose": ({"tma": False}, {"warps": 8}),
    "moe": ({"warps": 4}, {"roles": False}, {"stages": 4}),
}
CASE_SECONDS = 40.0
WARM_UP, ROUNDS, LAUNCHES_PER_ROUND = 3, 5, 4
FLUSHED_BYTES = 2**28
# Longer than the processor needs to submit a launch.
DELAY_CYCLES = 300_000


def make(folder: Path) -> None:
    """Compiles all cases and variants to `folder`, with the modules that `run` needs."""
    sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests" / "fuzz")]
    from sheet.cases import DENSE

    from hopper.more_cases import MORE_CASES

    for case in (*DENSE, *MORE_CASES):
        started = time.perf_counter()
        _make_case(case, folder / "cases" / case.name.replace(" ", "_"))
        print(f"{case.name}: {time.perf_counter() - started:.1f} s", flush=True)
    copy_modules(folder)


def copy_modules(folder: Path) -> None:
    """Copies the modules that `run` imports."""
    from h200_check import copy_package

    copy_package(folder / "tilec")
    for source in (HERE, HERE.parent / "sheet"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / source.name, dirs_exist_ok=True, ignore=ignored)


def _make_case(case: Any, folder: Path) -> None:
    from compiler_settings import Settings
    from sheet.compilers import by_tileiras, bytecode
    from sheet.machine_code.disassembly import ToolError

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.tileirbc").write_bytes(bytecode(case))
    _compile(folder, TILEC, Settings(TARGET))
    if case.name in VARIED:
        for name in ARRANGING_PASSES:
            _compile(folder, f"{TILEC} without {name}", Settings(TARGET, without=(name,)))
    for options in (options for text, given in OPTIONS.items() if text in case.name for options in given):
        name = " ".join(f"{name}={value}" for name, value in options.items())
        _compile(folder, f"{TILEC} {name}", Settings(TARGET, hints=options))
    try:
        with tempfile.TemporaryDirectory() as work:
            by_tileiras(case, TARGET, Path(work))
            shutil.copy(Path(work) / "tileiras.cubin", folder / f"{TILEIRAS}.cubin")
    except ToolError as error:
        (folder / f"{TILEIRAS}.failure").write_text(str(error))


def _compile(folder: Path, name: str, settings: Any) -> None:
    """Writes an artifact without PTX, unless its machine code is that of one that is there."""
    from compiler_settings import limited_compiler

    import tilec
    from tilec.errors import TilecError
    from tilec.runtime.artifact import artifact

    try:
        with limited_compiler(settings):
            compiled = tilec.compile(str(folder / "kernel.tileirbc"), target=TARGET, hints=settings.hints)
    except TilecError as error:
        (folder / f"{name}.failure").write_text(str(error))
        return
    if any(path.read_bytes() == compiled.artifact.cubin for path in folder.glob("*.cubin")):
        return
    artifact.save(compiled.artifact, folder / name)


def run(folder: Path, seconds: float, output: Path | None, only: str) -> int:
    """Measures all cases in a child process each of whose cases may fail or hang without harm to the next."""
    names = [path.name for path in sorted((folder / "cases").iterdir()) if only in path.name]
    rows, deadline = [], time.monotonic() + seconds
    while names and time.monotonic() < deadline:
        command = [sys.executable, str(folder / "hopper" / "timing.py"), "child", str(folder), *names]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
            for row in _rows_of(child, deadline):
                if "begins" in row:
                    names = names[names.index(row["begins"]) + 1 :]
                    continue
                rows.append(row)
                print(_line(row), flush=True)
    if output is not None:
        lines = ",\n".join(json.dumps(row) for row in rows)
        output.write_text(f"[\n{lines}\n]\n")
    return 1 if any("failure" in row or not row.get("right", True) for row in rows) else 0


def _rows_of(child: subprocess.Popen[str], deadline: float) -> Iterator[dict[str, Any]]:
    """The rows that a child prints; kills it if none comes in time."""
    assert child.stdout is not None
    current = ""
    while True:
        left = min(CASE_SECONDS, deadline - time.monotonic())
        if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
            child.kill()
            yield {"case": current, "program": "", "failure": "no result in time"}
            return
        line = child.stdout.readline()
        if not line:
            return
        if line.startswith("{"):
            row = json.loads(line)
            current = row.get("begins", current)
            yield row


def _line(row: dict[str, Any]) -> str:
    head = f"{row['case'][:36]:36} {row['program'][:34]:34}"
    if "failure" in row:
        return f"{head} {row['failure'][:150]}"
    rate = f"{row['tflops']:7.1f} TFLOP/s" if row.get("tflops") else f"{row['tbytes']:7.3f} TB/s   "
    right = "" if row.get("right", True) else "  WRONG"
    return f"{head} {row['us']:9.1f} us {rate} {row['clock']:5d} MHz  error {row.get('error', 0):.1e}{right}"


def child(folder: Path, names: list[str]) -> int:
    """Prints a row per program of the cases, as JSON."""
    sys.path.insert(0, str(folder))
    from sheet.cases import DENSE

    from hopper.more_cases import MORE_CASES

    by_name = {case.name.replace(" ", "_"): case for case in (*DENSE, *MORE_CASES)}
    for name in names:
        print(json.dumps({"begins": name}), flush=True)
        for row in _measured(by_name[name], folder / "cases" / name):
            print(json.dumps({"case": by_name[name].name, **row}), flush=True)
            if "sticky" in row:
                return 1
    return 0


def once(folder: Path, name: str, program: str) -> int:
    """Launches one program of a case, for a profiler."""
    sys.path.insert(0, str(folder))
    import torch
    from sheet.cases import DENSE

    from hopper.more_cases import MORE_CASES
    from hopper.problems import problem

    case = next(case for case in (*DENSE, *MORE_CASES) if case.name.replace(" ", "_") == name)
    given = problem(case)
    call = dict(_programs(case, folder / "cases" / name, given))[program]
    for _ in range(WARM_UP):
        call()
    torch.cuda.synchronize()
    return 0


def _measured(case: Any, folder: Path) -> Iterator[dict[str, Any]]:
    import torch

    from hopper.problems import problem

    given = problem(case)
    expected = given.expected()
    rows: dict[str, dict[str, Any]] = {}
    calls: dict[str, Callable[[], Any]] = {}
    for name, call in _programs(case, folder, given):
        given.result.fill_(float("nan"))
        try:
            call()
            torch.cuda.synchronize()
        except Exception as error:
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            yield {"program": name, "failure": text, **({"sticky": True} if _is_broken() else {})}
            continue
        calls[name] = call
        # Functions of libraries return new arrays.
        rows[name] = {} if name in given.libraries else _compared(given.result.float(), expected, given.tolerance)
    for name, (microseconds, clock) in times(calls).items():
        yield {
            "program": name,
            "us": microseconds,
            "clock": clock,
            "tflops": round(given.operations / microseconds / 1e6, 1),
            "tbytes": round(given.bytes / microseconds / 1e6, 4),
            **rows[name],
        }


def _is_broken() -> bool:
    import torch

    try:
        torch.zeros(1, device="cuda").item()
    except Exception:
        return True
    return False


def _compared(found: Any, expected: Any, tolerance: float) -> dict[str, Any]:
    error = float((found - expected).norm() / expected.norm())
    return {"error": error, "right": error <= tolerance}


def _programs(case: Any, folder: Path, given: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    from tilec.runtime.artifact.artifact import load
    from tilec.runtime.launch.launch import launch

    for path in sorted(folder.glob("tilec*.launch.json")):
        artifact = load(path)
        words = list(_entry_arguments(given.arguments, as_arrays=True))
        yield path.name.removesuffix(".launch.json"), lambda a=artifact, w=words: launch(a, given.grid, w)
    yield from given.libraries.items()
    if case.triton is not None:
        yield TRITON, _by_triton(case, given)
    if (path := folder / f"{TILEIRAS}.cubin").exists():
        yield TILEIRAS, _by_tileiras(path, given)


def _entry_arguments(arguments: Any, *, as_arrays: bool) -> Iterator[Any]:
    """Each array as its address, extents and strides."""
    for argument in arguments:
        if not hasattr(argument, "data_ptr"):
            yield argument
            continue
        yield argument if as_arrays else argument.data_ptr()
        yield from argument.shape
        yield from argument.stride()


def _by_tileiras(path: Path, given: Any) -> Callable[[], Any]:
    """cuTile launches cubins of tileiras with one thread per tile block, and a word per entry argument."""
    import torch
    from cuda.bindings import driver

    from tilec.runtime.devices.devices import call

    state: list[Any] = []

    def launch() -> None:
        if not state:
            library = call(driver.cuLibraryLoadData, path.read_bytes(), [], [], 0, [], [], 0)
            kernel = call(driver.cuLibraryGetKernel, library, b"kernel")
            words = [_word(each) for each in _entry_arguments(given.arguments, as_arrays=False)]
            pointers = (ctypes.c_void_p * len(words))(*(ctypes.addressof(word) for word in words))
            state.extend((driver.CUfunction(int(kernel)), words, pointers))
        function, _, pointers = state
        stream = torch.cuda.current_stream().cuda_stream
        call(driver.cuLaunchKernel, function, *given.grid, 1, 1, 1, 0, stream, ctypes.addressof(pointers), 0)

    return launch


def _word(value: Any) -> Any:
    return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int64(value)


def _by_triton(case: Any, given: Any) -> Callable[[], Any]:
    import torch
    import triton
    from sheet import triton_kernels
    from sheet.triton_compiler import warps_and_stages

    triton.set_allocator(lambda size, _alignment, _stream: torch.empty(size, device="cuda", dtype=torch.int8))
    kernel, (warps, most) = getattr(triton_kernels, case.triton), warps_and_stages(case)
    grid, arguments = given.grid, arguments_of_triton(case, given)
    state: list[int] = []

    def call() -> None:
        # The most stages that fit, as a tuning would find.
        for stages in state or range(most, 0, -1):
            try:
                kernel[grid](*arguments, **case.constants, num_warps=warps, num_stages=stages)
            except triton.runtime.errors.OutOfResources:
                continue
            state[:] = [stages]
            return
        raise RuntimeError("Triton needs more shared memory than a block has")

    return call


def arguments_of_triton(case: Any, given: Any) -> list[Any]:
    """The arguments of the equivalent kernel in Triton, without constants: all arrays, then numbers."""
    arrays = [argument for argument in given.arguments if hasattr(argument, "data_ptr")]
    first, numbers = arrays[0], given.arguments[len(arrays) :]
    if "matmul" in case.triton:
        return [*arrays, first.shape[0], arrays[1].shape[1], first.shape[1]]
    if case.triton == "attention":
        return [*arrays, numbers[0], first.shape[2]]
    if case.triton == "add":
        return [*arrays, first.numel()]
    # A row per block: softmax, and the norms, which have an epsilon.
    return [*arrays, first.stride(0), first.shape[1], *numbers]


def times(calls: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, int]]:
    """The median microseconds of each call, measured in turn, and the clock of the SMs in MHz while it ran."""
    import torch

    flushed = torch.empty(FLUSHED_BYTES, device="cuda", dtype=torch.int8)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    clocks: dict[str, list[int]] = {name: [] for name in calls}
    graphs = {name: _graph(call) for name, call in calls.items()}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            events = []
            for _ in range(LAUNCHES_PER_ROUND):
                flushed.zero_()
                torch.cuda._sleep(DELAY_CYCLES)
                pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                pair[0].record()
                graph.replay()
                pair[1].record()
                events.append(pair)
            clocks[name].append(_clock())
            torch.cuda.synchronize()
            samples[name] += [1e3 * start.elapsed_time(end) for start, end in events]
    return {name: (statistics.median(samples[name]), max(clocks[name])) for name in calls}


def _graph(call: Callable[[], Any]) -> Any:
    """A graph of one call, whose replay takes the processor less time than the GPU needs for the delay."""
    import torch

    graph = torch.cuda.CUDAGraph()
    for _ in range(WARM_UP):
        call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        call()
    graph.replay()
    return graph


def _clock() -> int:
    import torch

    try:
        return int(torch.cuda.clock_rate())
    except Exception:
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "run", "child", "once"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=240, help="stop after this time (default: 240)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--kernel", default="", metavar="TEXT", help="kernels with this text in their name")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.action == "child":
        status = child(folder, options.names)
        sys.stdout.flush()
        # A process whose context is broken may hang when it frees memory.
        os._exit(status)
    if options.action == "once":
        return once(folder, *options.names)
    if options.action == "make":
        make(folder)
        return 0
    return run(folder, options.seconds, options.json, options.kernel.replace(" ", "_"))


if __name__ == "__main__":
    sys.exit(main())
