"""Processor and wall time from the start of a process to its first result, of tilec and of cuTile where installed.

    python benchmarks/start.py [--target sm_100a] [--repeats 9] [--output FILE] [--other PYTHON]

The kernel is the GEMM of examples/matmul.py with tiles of 128 x 128 x 64 in f16. Each run is a new process; the runs of
all rows alternate, so that a change of the machine's load affects all rows alike. The processor time includes that of
the processes which the run starts, such as tileiras. The modules are compiled to Python's bytecode before the first
counted run. Prints the median of each row in milliseconds and the ratios.

"launch" uses a driver without a GPU (tests/runtime/recording_driver.cpp), so the time of a real driver is not included.
The row "numpy, driver" opens the library of the driver, the row "numpy, cuda-bindings" starts it by NVIDIA's bindings,
which tilec uses: the difference is what the bindings cost. `--other` is the Python of another installation of tilec,
such as one of an earlier commit, whose launch from the disk cache is measured too.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import argument_types
from compile_time import machine
from progress import show_progress
from sheet.case import TARGETS
from tileiras_compile import installed

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "matmul.py"
DRIVER = HERE.parent / "tests" / "runtime" / "recording_driver.cpp"

HEADER = """import {package} as ct

ConstInt = ct.Constant[int]
GROUP_ROWS = 8
"""

COMPILE = """
compiled = ct.compile(
    matmul_kernel, target="{target}",
    signature="A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64, use_tf32=False, half_accumulator=False",
)
assert compiled.cubin
"""

CUTILE_COMPILE = """
import io
from cuda.tile.compilation import ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature, export_kernel

matrix = ArrayConstraint(
    ct.float16, 2, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
    stride_constant=(None, 1), stride_divisible_by=(8, 1), base_addr_divisible_by=16,
)
constants = [ConstantConstraint(value) for value in (128, 128, 64, False, False)]
signature = KernelSignature([matrix, matrix, matrix, *constants], CallingConvention.cutile_python_v1(), "matmul")
cubin = io.BytesIO()
export_kernel(matmul_kernel, [signature], cubin, output_format="cubin", gpu_code="{gpu}")
assert cubin.getvalue()
"""

LAUNCH = """
import numpy as np

class OnDevice:
    def __init__(self, array):
        self.array = array
        data = array.ctypes.data, False
        self.__cuda_array_interface__ = dict(version=3, data=data, shape=array.shape, typestr="<f2")

A, B, C = (OnDevice(np.zeros(shape, np.float16)) for shape in ((128, 64), (64, 128), (128, 128)))
ct.launch(None, (1,), matmul_kernel, (A, B, C, 128, 128, 64, False, False), backend="launch")
"""

ADD = """
@ct.kernel
def vector_add(a, b, c, tile: ConstInt):
    block = (ct.bid(0),)
    ct.store(c, block, ct.load(a, block, (tile,)) + ct.load(b, block, (tile,)))
"""

# The start of the driver without tilec: its library, the initialization and the context of the device.
DRIVER_START = """
import ctypes
import numpy

driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
context = ctypes.c_void_p()
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
"""

# The same by NVIDIA's bindings.
BINDINGS_START = """
import numpy
from cuda.bindings import driver

assert driver.cuInit(0)[0] == 0
assert driver.cuDevicePrimaryCtxRetain(driver.cuDeviceGet(0)[1])[0] == 0
"""

SIMULATE_ADD = """
import numpy as np

a, b, c = (np.ones(128, np.float32) for _ in range(3))
ct.launch(None, (1,), vector_add, (a, b, c, 128), backend="simulate")
assert c[0] == 2
"""


@dataclass(frozen=True)
class Row:
    """A program, the environment variables of its process, and its Python."""

    name: str
    program: str
    environment: dict[str, str]
    python: str = sys.executable


@dataclass(frozen=True)
class Sample:
    """Seconds of one process."""

    processor: float
    wall: float


def gemm(package: str) -> str:
    """The kernel of the example and the function it calls, for a package of the kernel language."""
    text = EXAMPLE.read_text()
    wanted = [node for node in ast.parse(text).body if getattr(node, "name", "") in ("tile_of", "matmul_kernel")]
    parts = []
    for node in wanted:
        assert isinstance(node, ast.FunctionDef)
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        parts.append("\n".join(text.splitlines()[first - 1 : node.end_lineno]))
    return HEADER.format(package=package) + "\n\n" + "\n\n\n".join(parts) + "\n"


SECOND_LAUNCH, OTHER_LAUNCH = "tilec: second launch", "other tilec: second launch"


def rows(target: str, folder: Path, other: str | None) -> list[Row]:
    """The programs to measure; `other` is the Python of another installation of tilec."""
    cache = {"TILEC_CACHE": str(folder / "cache"), "TILEC_TARGET": target}
    gpu = {**cache, "LD_LIBRARY_PATH": str(folder), "RECORDED_ONLY": "1", "RECORDED_MAJOR": target[3:-2]}
    found = [
        Row("interpreter", "pass", {}),
        Row("numpy", "import numpy", {}),
        Row("import tilec", "import tilec", cache),
        Row("tilec: compile", gemm("tilec") + COMPILE.format(target=target), cache),
        Row("tilec: second simulate", HEADER.format(package="tilec") + ADD + SIMULATE_ADD, cache),
    ]
    if built_driver(folder):
        found += [
            Row("numpy, driver", DRIVER_START, gpu),
            Row("numpy, cuda-bindings", BINDINGS_START, gpu),
            Row(SECOND_LAUNCH, gemm("tilec") + LAUNCH, gpu),
        ]
        found += [Row(OTHER_LAUNCH, gemm("tilec") + LAUNCH, gpu, other)] if other else []
    if installed():
        compile_cutile = gemm("cuda.tile") + CUTILE_COMPILE.format(gpu=target.rstrip("a"))
        found += [
            Row("import cuda.tile", "import cuda.tile", {}),
            Row("cuTile: compile", compile_cutile, {"CUDA_TILE_CACHE_DIR": "0"}),
            Row("cuTile: second compile", compile_cutile, {"CUDA_TILE_CACHE_DIR": str(folder / "cutile")}),
        ]
    return found


def built_driver(folder: Path) -> bool:
    """Builds the driver without a GPU in the folder; False if no C++ compiler is installed."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return False
    library = folder / "libcuda.so.1"
    command = [compiler, "-std=c++17", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, DRIVER, "-ldl"]
    subprocess.run(command, check=True)
    return True


def sample(row: Row, folder: Path) -> Sample:
    """One run of the program of a row."""
    # The prefix keeps the name from being that of an imported module.
    script = folder / f"run_{''.join(filter(str.isalnum, row.name))}.py"
    if not script.exists():
        script.write_text(row.program)
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "pycache"), **row.environment}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen([row.python, script], env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the program of '{row.name}' failed: {script}")
    return Sample(usage.ru_utime + usage.ru_stime, time.perf_counter() - start)


def measure(programs: list[Row], repeats: int, folder: Path) -> dict[str, Sample]:
    """The medians of each row; the first run of each program, which fills caches, is not counted."""
    for row in programs:
        show_progress(f"first run: {row.name}")
        sample(row, folder)
    runs: dict[str, list[Sample]] = {row.name: [] for row in programs}
    for number in range(1, repeats + 1):
        for row in programs:
            show_progress(f"{number} of {repeats}: {row.name}")
            runs[row.name].append(sample(row, folder))
    show_progress("")
    return {
        name: Sample(
            statistics.median(run.processor for run in samples), statistics.median(run.wall for run in samples)
        )
        for name, samples in runs.items()
    }


def differences(medians: dict[str, Sample]) -> dict[str, float]:
    """The derived figures, by name: ratios, and milliseconds of processor time beyond what every process spends."""
    spent = {name: sample.processor for name, sample in medians.items()}
    numpy = spent["numpy"]
    found = {
        "import tilec, beyond the interpreter, ms": (spent["import tilec"] - spent["interpreter"]) * 1e3,
        "second simulate, beyond interpreter and numpy, ms": (spent["tilec: second simulate"] - numpy) * 1e3,
    }
    if SECOND_LAUNCH in spent:
        driver = spent["numpy, driver"]
        found["second launch, beyond interpreter, numpy and driver, ms"] = (spent[SECOND_LAUNCH] - driver) * 1e3
        found["second launch, of which cuda-bindings, ms"] = (spent["numpy, cuda-bindings"] - driver) * 1e3
    if OTHER_LAUNCH in spent:
        found["second launch, beyond that of the other tilec, ms"] = (spent[SECOND_LAUNCH] - spent[OTHER_LAUNCH]) * 1e3
    if "cuTile: compile" in spent:
        found["compile, tilec / cuTile"] = spent["tilec: compile"] / spent["cuTile: compile"]
    return found


def report(medians: dict[str, Sample], options: argparse.Namespace) -> str:
    """The medians and the derived figures as Markdown."""
    lines = [
        "# Start of a process",
        "",
        f"Made by `python benchmarks/start.py` for {options.target}: medians of {options.repeats} processes per row, "
        f"{machine()}.",
        "",
        "| process | processor time, ms | wall time, ms |",
        "|---|---|---|",
        *(f"| {name} | {run.processor * 1e3:.0f} | {run.wall * 1e3:.0f} |" for name, run in medians.items()),
        "",
        "| figure, of processor time | |",
        "|---|---|",
        *(f"| {name} | {value:.{2 if '/' in name else 0}f} |" for name, value in differences(medians).items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        medians = measure(rows(options.target, Path(folder), options.other), options.repeats, Path(folder))
    text = report(medians, options)
    print(text, end="")
    if options.output is not None:
        options.output.write_text(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_100a", choices=TARGETS)
    parser.add_argument("--repeats", type=argument_types.positive, default=9, help="number of processes per row")
    parser.add_argument("--other", metavar="PYTHON", help="the Python of another installation of tilec")
    parser.add_argument("--output", type=Path, help="file for the report, such as benchmarks/results/start.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
