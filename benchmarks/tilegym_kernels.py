"""The kernels that the tests of NVIDIA's TileGym reach: whether tilec compiles them and is right, and with which units.

    python benchmarks/tilegym_kernels.py CHECKOUT [--target sm_100a] [--records FOLDER] [--reuse] [--output FILE]

CHECKOUT is a checkout of github.com/NVIDIA/TileGym. Its own tests run with tilec as cuda.tile, in the simulator, on
arrays in host memory (tilegym_host/): sizes are shrunk, and searches of ct.tune take their first configuration. The
bytecode of each kernel's first launch is compiled by tilec, and by tileiras if it is installed. Needs PyTorch, pytest
and the extra `peers`. --records keeps the records and figures, and --reuse takes those of an earlier run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import argument_types
from progress import show_progress
from sheet import compilers
from sheet.case import TARGETS
from sheet.machine_code.counts import sheet_of
from sheet.machine_code.disassembly import ToolError, disassemble
from sheet.machine_code.occupancy import blocks_per_processor
from sheet.timeline import timeline
from tilegym_host.kernel_records import RECORDS, kernel_records
from tilegym_host.table import KernelRow, document
from tileiras_compile import command_of_tileiras, installed

import tilec
from tilec.errors import TilecError

BENCHMARKS = Path(__file__).parent
TILEIRAS_LIMIT_S = 120
# The suites of TileGym with kernels.
SUITES = ("tests/ops", "tests/suites")


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        root = options.records or Path(temporary)
        if not options.reuse:
            for target in options.target:
                run_tests(options.checkout, target, root / target)
        rows = [row for target in options.target for row in rows_of(root / target, target)]
        measure_all(rows, options.jobs)
    text = document(rows, compilers.versions(), revision(options.checkout))
    if options.output:
        options.output.write_text(text)
    else:
        print(text)


def run_tests(checkout: Path, target: str, folder: Path) -> None:
    """Runs TileGym's tests for a target; the records are written to a folder."""
    plugins = ["-p", "tilegym_host.plugin", "-p", "no:cacheprovider"]
    words = ["-m", "pytest", *plugins, "-q", "--records", folder.absolute()]
    environment = {
        **os.environ,
        "TILEC_TARGET": target,
        "PYTHONPATH": os.pathsep.join([str(BENCHMARKS.absolute()), str(checkout.absolute() / "src")]),
    }
    subprocess.run([sys.executable, *map(str, words), *SUITES], cwd=checkout, env=environment)


def rows_of(folder: Path, target: str) -> list[KernelRow]:
    """A row for each kernel in the records of a target, in alphabetical order; ends the program if there are none."""
    if not (folder / RECORDS).exists():
        sys.exit(f"error: {folder} has no {RECORDS}: no test of TileGym ran for {target}; they need pytest and PyTorch")
    return [KernelRow(name, target, record) for name, record in sorted(kernel_records(folder).items())]


def measure_all(rows: Sequence[KernelRow], jobs: int) -> None:
    """Adds the figures of both compilers to the rows of kernels that compiled; several processes measure them."""
    compiled = [row for row in rows if not row.record.error]
    sources, targets = [row.record.bytecode for row in compiled], [row.target for row in compiled]
    with ProcessPoolExecutor(jobs) as executor:
        for compiler in (by_tilec, by_tileiras):
            figures = executor.map(measure, itertools.repeat(compiler), sources, targets)
            for number, (row, found) in enumerate(zip(compiled, figures, strict=True), 1):
                show_progress(f"{number} of {len(compiled)} {compiler.__name__}: {row.kernel} {row.target}")
                row.figures.update(found)
    show_progress("")


def measure(compiler: Callable[[Path, str], dict[str, Any]], source: Path, target: str) -> dict[str, Any]:
    """The figures of a compiler for a kernel; those of an earlier run lie beside the bytecode."""
    kept = source.with_suffix(f".{compiler.__name__}.json")
    if not kept.exists():
        kept.write_text(json.dumps(compiler(source, target)))
    return json.loads(kept.read_text())


def by_tilec(source: Path, target: str) -> dict[str, Any]:
    """Figures of the first launch of a kernel: units, TMA, spills, the model and the time of the compile."""
    start = time.perf_counter()
    try:
        compiled = tilec.compile(str(source), target=target)
    except TilecError as error:
        return {"error": error.message}
    seconds = time.perf_counter() - start
    result = compilers.result_of_tilec(compiled, source.with_suffix(".tilec.cubin"), seconds)
    function, threads = result.function, result.threads or 1
    blocks = max(1, blocks_per_processor(threads, function.registers, result.shared_bytes))
    return {
        "seconds": seconds,
        "counts": sheet_of(function.instructions, threads).fields()["whole"],
        "ptx": compiled.ptx,
        "remarks": [(remark.topic, remark.message) for remark in compiled.remarks],
        "model": timeline(compiled, blocks),
    }


def by_tileiras(source: Path, target: str) -> dict[str, Any]:
    """The time of tileiras on the same bytecode and its spills, or why it refuses; nothing if it is not installed."""
    if not installed():
        return {}
    path = source.with_suffix(".tileiras.cubin")
    start = time.perf_counter()
    try:
        process = subprocess.run(
            command_of_tileiras(source, path, target), capture_output=True, text=True, timeout=TILEIRAS_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return {"tileiras_error": f"more than {TILEIRAS_LIMIT_S} seconds"}
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        return {"tileiras_error": (process.stderr.strip().splitlines() or [str(process.returncode)])[0]}
    try:
        function = disassemble(path, entry_of(source))
    except ToolError as error:
        return {"tileiras_seconds": seconds, "tileiras_error": str(error)}
    counts = sheet_of(function.instructions, function.threads or 1).fields()["whole"]
    return {"tileiras_seconds": seconds, "tileiras_counts": counts}


def entry_of(source: Path) -> str:
    return tilec.Module.read(source).entries[0]


def revision(checkout: Path) -> str:
    """The commit of the checkout."""
    words = ["git", "-C", str(checkout), "log", "-1", "--format=%h of %cs"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip() or "unknown"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=argument_types.folder, help="of github.com/NVIDIA/TileGym")
    parser.add_argument("--target", action="append", choices=TARGETS, help="a target (default: both)")
    parser.add_argument("--records", type=Path, help="the folder of the records and the bytecode")
    parser.add_argument("--reuse", action="store_true", help="take the records of an earlier run from this folder")
    parser.add_argument(
        "--jobs", type=argument_types.positive, default=1, help="processes that compile; more disturb the times"
    )
    parser.add_argument("--output", type=Path, help="the Markdown file (default: standard output)")
    found = parser.parse_args()
    if found.reuse and found.records is None:
        parser.error("--reuse needs --records: expected the folder of an earlier run")
    found.target = found.target or list(TARGETS)
    for folder in (found.records / target for target in found.target if found.records and not found.reuse):
        # The new records would follow the earlier ones, and the earlier figures would be kept.
        if (folder / RECORDS).exists():
            parser.error(f"--records: {folder} has the records of an earlier run: add --reuse, or remove the folder")
    return found


if __name__ == "__main__":
    main()
