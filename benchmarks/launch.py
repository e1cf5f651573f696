"""Processor time of a launch from Python, of tilec, cuTile and Triton side by side, without a GPU.

    python benchmarks/launch.py [--site FOLDER] [--rounds 9] [--output FILE] [--check]

The driver is null_driver.c, whose functions do nothing, so that only the work before the driver is measured: its time
is the same for all. The libraries run alternately in one process, so that a change of the machine's load affects them
alike; a row has the median of the rounds. `--site` is a folder of packages to search last, for torch.
`--check` makes the exit status 1 if a ratio exceeds its bound.
"""

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import argument_types
from compile_time import machine
from progress import show_progress

HERE = Path(__file__).parent
GRID = (4, 4, 1)
LAUNCHES = 30_000
# Launches rotate through this number of buffers, which exceeds the number of tensor maps that tilec caches.
MANY_BUFFERS = 1200


@dataclass(frozen=True)
class Case:
    """A row: a launch by tilec, and the same launch by cuTile; `bound` is the largest allowed ratio."""

    name: str
    launch: Callable[[], object]
    cutile: Callable[[], object] | None = None
    bound: float | None = None
    launches: int = LAUNCHES


class Stored:
    """An array in device memory whose `__cuda_array_interface__` is a stored dictionary."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "typestr": "<f2",
            "strides": None,
        }


class Built:
    """The same array, whose dictionary is built for each read."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.address, self.shape = address, shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "data": (self.address, False), "shape": self.shape, "typestr": "<f2", "strides": None}


def arrays(kind: type, count: int, first: int = 1) -> tuple[Any, ...]:
    return tuple(kind(0x1000_0000 + 0x10_0000 * (first + index), (512, 512)) for index in range(count))


def kernels(ct: Any) -> tuple[Any, Any]:
    """A product of matrices and a sum of seven matrices, in the language of the module `ct`."""

    @ct.kernel
    def matmul(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
        i, j = ct.bid(0), ct.bid(1)
        sums = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(a, 1, (tm, tk))):
            sums = ct.mma(ct.load(a, (i, k), (tm, tk)), ct.load(b, (k, j), (tk, tn)), sums)
        ct.store(c, (i, j), ct.astype(sums, ct.float16))

    @ct.kernel
    def add(a, b, c, d, e, f, g, h, tile: ct.Constant[int]):
        at, shape = (ct.bid(0), ct.bid(1)), (tile, tile)
        first = ct.load(a, at, shape) + ct.load(b, at, shape) + ct.load(c, at, shape) + ct.load(d, at, shape)
        ct.store(h, at, first + ct.load(e, at, shape) + ct.load(f, at, shape) + ct.load(g, at, shape))

    return matmul, add


def launches_of(ct: Any, stream: Any, kernel: Any, args: tuple[Any, ...]) -> Callable[[], object]:
    """A launch of a kernel, which is compiled first."""
    launch = ct.launch
    launch(stream, GRID, kernel, args)
    return lambda: launch(stream, GRID, kernel, args)


def cases(site: Path | None) -> Iterator[Case]:
    """All rows; those of torch only where it can be imported."""
    import tilec

    cutile = imported("cuda.tile")
    kernels_of_cutile = kernels(cutile) if cutile else (None, None)
    matmul, add = kernels(tilec)
    constants = (128, 128, 64)

    def both(name: str, index: int, args: tuple[Any, ...], bound: float | None) -> Case:
        ours = launches_of(tilec, 0, (matmul, add)[index], args)
        other = launches_of(cutile, 0, kernels_of_cutile[index], args) if cutile else None
        return Case(name, ours, other, bound)

    stored, built = (*arrays(Stored, 3), *constants), (*arrays(Built, 3), *constants)
    yield both("3 arrays, stored interface", 0, stored, 0.7)
    eight = (*arrays(Stored, 8), 64)
    yield both("8 arrays, stored interface", 1, eight, 0.8)
    yield both("3 arrays, interface built for each read", 0, built, None)
    if tensors := labelled_tensors(site):
        labelled = (*tensors, *constants)
        yield both("3 arrays, torch (labelled CUDA)", 0, labelled, 0.5)
    yield Case("3 arrays, launcher", bound_launch(tilec, matmul, stored))
    yield Case("3 arrays, all maps changed", changing(tilec, matmul, constants))
    yield Case("first launch, artifact in memory", first_launch(tilec, matmul, stored), launches=50)
    yield Case("Python path", python_path(matmul, stored), launches=200)
    triton = triton_launch()
    if triton:
        yield Case("3 arrays, Triton", triton, launches=LAUNCHES // 10)


def imported(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def labelled_tensors(site: Path | None) -> tuple[Any, ...]:
    """Three tensors of torch, which cuTile and tilec take for CUDA tensors; none where torch is not installed."""
    if site is not None:
        sys.path.append(str(site))
    torch, label = imported("torch"), imported("cuda_label")
    if not torch:
        return ()
    label.set_original(torch._C._to_dlpack)
    torch._C._to_dlpack = label.to_dlpack
    torch.Tensor.__dlpack_c_exchange_api__ = label.exchange_table(torch.Tensor.__dlpack_c_exchange_api__)
    return tuple(torch.zeros(512, 512, dtype=torch.float16) for _ in range(3))


def bound_launch(ct: Any, kernel: Any, args: tuple[Any, ...]) -> Callable[[], object]:
    signature = ct.Signature.from_arguments(kernel, args)
    launcher = ct.compile(kernel, signature=signature, target="sm_100a").launcher(args)
    return lambda: launcher(0, GRID)


def changing(ct: Any, kernel: Any, constants: tuple[int, ...]) -> Callable[[], object]:
    """Launches whose three arrays differ from those of many launches before."""
    launch = ct.launch
    given = iter(())
    every = [(*arrays(Stored, 3, 3 * index), *constants) for index in range(MANY_BUFFERS)]

    def step() -> None:
        nonlocal given
        args = next(given, None)
        if args is None:
            given = iter(every)
            args = next(given)
        launch(0, GRID, kernel, args)

    return step


def first_launch(ct: Any, kernel: Any, args: tuple[Any, ...]) -> Callable[[], object]:
    def step() -> None:
        fresh = kernel.replace_hints()
        fresh.compiled = kernel.compiled
        ct.launch(0, GRID, fresh, args)

    return step


def python_path(kernel: Any, args: tuple[Any, ...]) -> Callable[[], object]:
    from tilec.driver import kernel_launch

    return lambda: kernel_launch._launch(0, GRID, kernel, args)


def triton_launch() -> Callable[[], object] | None:
    """A launch of Triton with three pointers, nine integers and three constants."""
    return imported("launch_triton").prepared(GRID) if imported("triton") else None


def seconds_per_launch(launch: Callable[[], object], launches: int) -> float:
    """Processor time, without that of the loop."""
    steps = range(launches)
    start = time.process_time()
    for _ in steps:
        launch()
    return (time.process_time() - start) / launches


def measure(rounds: int, site: Path | None) -> list[tuple[Case, float, float | None]]:
    """Each case with the medians of tilec and of cuTile in seconds."""
    all_cases = list(cases(site))
    empty = seconds_per_launch(lambda: None, LAUNCHES)
    gc.disable()
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in all_cases]
    for number in range(1, rounds + 1):
        show_progress(f"round {number} of {rounds}")
        for case, (ours, theirs) in zip(all_cases, times, strict=True):
            ours.append(seconds_per_launch(case.launch, case.launches) - empty)
            if case.cutile:
                theirs.append(seconds_per_launch(case.cutile, case.launches) - empty)
    show_progress("")
    medians = [(statistics.median(ours), statistics.median(theirs) if theirs else None) for ours, theirs in times]
    return [(case, *median) for case, median in zip(all_cases, medians, strict=True)]


def table(results: list[tuple[Case, float, float | None]]) -> str:
    lines = ["| launch | tilec, us | cuTile, us | ratio | bound |", "|---|---|---|---|---|"]
    for case, ours, theirs in results:
        ratio = f"{ours / theirs:.2f}" if theirs else ""
        other = f"{theirs * 1e6:.3f}" if theirs else ""
        lines.append(f"| {case.name} | {ours * 1e6:.3f} | {other} | {ratio} | {case.bound or ''} |")
    return "\n".join(lines)


def build(folder: Path) -> None:
    """Builds the null driver and the extension that labels tensors."""
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    shared = [compiler, "-O2", "-shared", "-fPIC"]
    subprocess.run(
        [*shared, "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so.1", HERE / "null_driver.c"], check=True
    )
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([*shared, include, "-o", folder / "cuda_label.so", HERE / "cuda_label.c"], check=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=argument_types.folder, help="a folder of packages to search last, for torch")
    parser.add_argument(
        "--rounds", type=argument_types.positive, default=9, help="of all launches (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, help="the Markdown file, beside the table on standard output")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a ratio exceeds its bound")
    parser.add_argument("--with-null-driver", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if not options.with_null_driver:
        # The dynamic linker reads LD_LIBRARY_PATH when a process starts.
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder))
            paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
            environment = {**os.environ, "LD_LIBRARY_PATH": folder, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
            return subprocess.run([sys.executable, *sys.argv, "--with-null-driver"], env=environment).returncode
    results = measure(options.rounds, options.site)
    text = table(results)
    print(text)
    if options.output:
        command = "python benchmarks/launch.py"
        head = f"# Launches\n\nMade by `{command}` on {machine()}: processor time of one launch without a driver.\n\n"
        options.output.write_text(f"{head}{text}\n")
    exceeded = [case.name for case, ours, theirs in results if case.bound and theirs and ours > case.bound * theirs]
    for name in exceeded:
        print(f"exceeds its bound: {name}")
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
