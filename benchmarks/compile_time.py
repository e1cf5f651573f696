"""Time of the first compile of a kernel by stage, and of tileiras on the same kernel if it is installed.

    python benchmarks/compile_time.py [--target sm_100a] [--tile 128,128,64] [--repeats 7]
    python benchmarks/compile_time.py --case "attention full 128x128 d128"

The kernel is the f16 matmul in Python, or with --case the bytecode of a row of the sheet (machine_code.py), which
cuTile's front end writes.

A Python that was built without --enable-optimizations, as pyenv does by default, takes a fifth more time than those of
distributions.

Each repeat is the first compile of a new process. The time excludes imports and the loading of the dialects, and
includes nvJitLink, which contains ptxas. Prints the median of each stage in milliseconds, and its shortest time, which
other programs of the machine disturb least; and the time of all stages but that of ptxas per operation of Tile IR.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import argument_types
from progress import show_progress
from sheet.case import TARGETS

KERNEL = Path(__file__).with_name("matmul_kernel.py")
# The most seconds for all stages; other kernels have no goal.
GOALS_S = {None: 0.10, "attention full 128x128 d128": 0.40}
# The stage that runs ptxas.
PTXAS = "cubin"
MOST_MS_PER_OPERATION = 1.0
# No stage may take more than this part of the time without ptxas.
LARGEST_SHARE = 1 / 3


def main() -> None:
    options = arguments()
    if options.child:
        print(json.dumps(CHILDREN[options.child](options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        options.bytecode = None if options.case is None else write_bytecode(options.case, Path(folder))
        name = f"f16 matmul, tile {options.tile}" if options.case is None else options.case
        print(f"{name}, {options.target}, {options.repeats} processes, {machine()}, Python {platform.python_version()}")
        columns = {"tilec": measure("tilec", options)}
        if installed():
            columns["tileiras"] = measure("tileiras", options)
        count = operations(options)
    for name, runs in columns.items():
        print(f"\n{name:<14}{'median':>9}{'shortest':>12}")
        for stage, values in runs.items():
            print_row(stage, values)
        print_row("total", [sum(times) for times in zip(*runs.values(), strict=True)])
    print()
    if options.case in GOALS_S:
        total = statistics.median(sum(times) for times in zip(*columns["tilec"].values(), strict=True))
        missed = total - GOALS_S[options.case]
        reached = "reached" if missed <= 0 else f"missed by {missed * 1e3:.0f} ms"
        print(f"goal {GOALS_S[options.case] * 1e3:.0f} ms: {reached}")
    print_shares({stage: values for stage, values in columns["tilec"].items() if stage != PTXAS}, count)
    if "tileiras" not in columns:
        print("tileiras is not installed (pip install 'tilec[peers]')")


def print_row(name: str, seconds: Sequence[float]) -> None:
    """Prints the median and the shortest of some times."""
    print(f"  {name:<12}{statistics.median(seconds) * 1e3:9.1f}{min(seconds) * 1e3:9.1f} ms")


def print_shares(runs: dict[str, list[float]], count: int) -> None:
    """Prints the time per operation of Tile IR, and the stage that takes the most."""
    medians = {stage: statistics.median(values) for stage, values in runs.items()}
    total, shortest = sum(medians.values()), sum(map(min, runs.values()))
    largest = max(medians, key=medians.__getitem__)
    print(
        f"without ptxas: {total * 1e3 / count:.2f} ms for each of {count} operations, "
        f"{shortest * 1e3 / count:.2f} by the shortest times, goal {MOST_MS_PER_OPERATION} ms"
    )
    print(f"largest stage: {largest}, {medians[largest] / total:.0%} of it, goal {LARGEST_SHARE:.0%}")


def operations(options: argparse.Namespace) -> int:
    """The operations of the Tile IR that the front end writes."""
    import tilec
    from tilec.dialect.walk import operations_below

    source = f"{KERNEL}:matmul" if options.bytecode is None else options.bytecode
    compiled = tilec.compile(source, target=options.target, signature=signature(options), stop="tile")
    module = compiled.stage("tile").value
    return sum(1 for _ in operations_below(module.operation))


def write_bytecode(name: str, folder: Path) -> str:
    """The path of the bytecode of a row of the sheet, written by cuTile's front end."""
    from sheet.cases import CASES
    from sheet.compilers import bytecode

    case = next((each for each in CASES if each.name == name), None)
    if case is None:
        sys.exit(f"unknown case '{name}': the cases are {', '.join(each.name for each in CASES)}")
    if case.is_tilex:
        sys.exit(f"case '{name}' uses tilex, which bytecode cannot hold")
    path = folder / "kernel.tileirbc"
    path.write_bytes(bytecode(case))
    return str(path)


def machine() -> str:
    """The number and the model of the processors, or the architecture if /proc/cpuinfo does not exist."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.machine()
    names = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def measure(child: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """The seconds of each stage in new processes."""
    words = [sys.executable, __file__, "--child", child, "--target", options.target, "--tile", options.tile]
    words += [] if options.bytecode is None else ["--bytecode", options.bytecode]
    runs = []
    for number in range(1, options.repeats + 1):
        show_progress(f"{child}: process {number} of {options.repeats}")
        output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        runs.append(json.loads(output.splitlines()[-1]))
    show_progress("")
    return {stage: [run[stage] for run in runs] for stage in runs[0]}


def ready_kernel(options: argparse.Namespace) -> Any:
    """The kernel, or the path of its bytecode, when all modules and dialects that a compile needs are loaded."""
    from tilec.dialect.mlir import PACKAGE, context
    from tilec.driver.stages import STAGES
    from tilec.language.kernel import find

    for package in ("tilec.ast_to_tile", "tilec.dialect", "tilec.lowering"):
        import_all(package)
    for module in (module for stage in STAGES for module in stage.modules):
        importlib.import_module(module)
    # MLIR loads it where a kernel first has one of its operations.
    importlib.import_module(f"{PACKAGE}.dialects.math")
    context()
    return find(KERNEL) if options.bytecode is None else options.bytecode


def compile_once(options: argparse.Namespace) -> dict[str, float]:
    """Seconds per stage of the first compile in this process."""
    import tilec

    kernel = ready_kernel(options)
    start = time.perf_counter()
    compiled = tilec.compile(kernel, target=options.target, signature=signature(options))
    total = time.perf_counter() - start
    seconds = {stage.name: stage.seconds for stage in compiled.stages}
    return {**seconds, "between": total - sum(seconds.values())}


def signature(options: argparse.Namespace) -> str | None:
    """The types of the arguments of the matmul; None for bytecode, which has them."""
    if options.bytecode is not None:
        return None
    tm, tn, tk = extents(options)
    return f"A: f16[?,?], B: f16[?,?], C: f16[?,?], tm={tm}, tn={tn}, tk={tk}"


def import_all(package: str) -> None:
    """Imports every module of a package."""
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        importlib.import_module(module.name)


def tileiras_once(options: argparse.Namespace) -> dict[str, float]:
    """Seconds per stage of cuTile and tileiras for the same kernel, of tileiras alone for bytecode."""
    if options.bytecode is not None:
        return {"tileiras": tileiras_compile().assembly_seconds(Path(options.bytecode), options.target)}
    importlib.import_module("cuda.tile.compilation")
    return tileiras_compile().compile_times(KERNEL, extents(options), options.target)


def tileiras_compile():
    sys.path.insert(0, str(KERNEL.parent))
    return importlib.import_module("tileiras_compile")


def installed() -> bool:
    return tileiras_compile().installed()


def extents(options: argparse.Namespace) -> tuple[int, int, int]:
    tm, tn, tk = (int(extent) for extent in options.tile.split(","))
    return tm, tn, tk


CHILDREN = {"tilec": compile_once, "tileiras": tileiras_once}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_100a", choices=TARGETS)
    parser.add_argument(
        "--tile", type=argument_types.extents, default="128,128,64", help="extents of a block's tile: M,N,K"
    )
    parser.add_argument("--case", help="a row of the sheet instead of the matmul")
    parser.add_argument("--repeats", type=argument_types.positive, default=7, help="number of processes")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--bytecode", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
