"""A static sheet of machine code: tilec beside NVIDIA's tileiras and Triton, from the code that nvdisasm prints.

    python benchmarks/machine_code.py [--kernel gemm] [--target sm_100a] [--compiler tilec] [--json FILE [--resume]]
                                      [--markdown] [--timeout 120]

tilec and tileiras read the same bytecode, which cuTile's front end writes in this run; kernels that use tilex are of
tilec alone. No GPU is needed, but the extra `peers`: Triton has nvdisasm and cuobjdump. A loop is a natural loop of the
control-flow graph; those shown are the innermost ones around tensor core instructions, TMA loads and exponentials. The
modelled columns are the cost model's (`tilec compile --explain cost`).

Each compile is a process of its own, which ends after `--timeout` seconds of processor time. FILE is written after each
row; with `--resume`, rows that it has from the same versions of all compilers are kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import resource
import signal
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import argument_types
from progress import show_progress
from sheet import compilers, table
from sheet.cases import CASES, TARGETS, Case
from sheet.machine_code.counts import sheet_of
from sheet.machine_code.disassembly import ToolError
from sheet.machine_code.occupancy import blocks_per_processor
from sheet.timeline import timeline

import tilec
from tilec.errors import TilecError

_Job = tuple[Case, str, str]
_Row = dict[str, Any]
_Key = tuple[str, str, str]
_WARM_UP = "cuda_tile.module @m {\n  entry @k() {\n    return\n  }\n}\n"


def main() -> None:
    options = arguments()
    cases = [case for case in CASES if any(text in case.name for text in options.kernel)]
    if not cases:
        texts = " or ".join(f"'{text}'" for text in options.kernel)
        sys.exit(f"no kernel has {texts} in its name: {', '.join(case.name for case in CASES)}")
    versions = compilers.versions()
    rows = kept_rows(Path(options.json), versions) if options.resume else {}
    jobs = [
        (case, target, name)
        for case in cases
        for target in options.target
        for name in options.compiler
        if compilers.has_kernel(name, case)
    ]
    start_compilers(cases)
    for number, job in enumerate(jobs, 1):
        if is_measured(rows.get(_key(job))):
            continue
        show_progress(f"{number} of {len(jobs)}: {' '.join(_key(job))}")
        rows[_key(job)] = measure(job, options.timeout)
        if options.json:
            write_json(Path(options.json), versions, in_order(rows))
    show_progress("")
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    shown = [rows[_key(job)] for job in jobs if _key(job) in rows]
    print(table.page(shown, used) if options.markdown else f"{used}\n{table.text(shown)}")


def start_compilers(cases: list[Case]) -> None:
    """Imports the modules that all children share, so that the time of a compile excludes it."""
    tilec.compile(_WARM_UP)
    for module in {case.module for case in cases}:
        importlib.import_module(module)
    if any(case.triton for case in cases) and importlib.util.find_spec("triton"):
        importlib.import_module("sheet.triton_kernels")


def measure(job: _Job, timeout_s: int) -> _Row:
    """The row of a case for a compiler, from a process with a limit of processor time."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_row, args=(sender, job, timeout_s))
    process.start()
    sender.close()
    try:
        row: _Row = receiver.recv()
        return row
    except EOFError:
        process.join()
    is_late = process.exitcode == -signal.SIGXCPU
    failure = too_long(timeout_s) if is_late else f"the process ends with exit code {process.exitcode}"
    return {**_names(job), "failure": failure}


def too_long(timeout_s: int) -> str:
    return f"takes longer than {timeout_s} s"


def _send_row(sender: Connection, job: _Job, timeout_s: int) -> None:
    # The compilers that it starts have the same limit. Other programs of the machine do not count.
    resource.setrlimit(resource.RLIMIT_CPU, (timeout_s, timeout_s + 1))
    with tempfile.TemporaryDirectory() as folder:
        sender.send(_row(job, Path(folder), timeout_s))


def _key(job: _Job) -> _Key:
    case, target, name = job
    return case.name, target, name


def _names(job: _Job) -> _Row:
    return dict(zip(("kernel", "target", "compiler"), _key(job), strict=True))


def _row(job: _Job, folder: Path, timeout_s: int) -> _Row:
    """The row of a case for a compiler, with the reason as `failure` if it does not compile."""
    case, target, name = job
    try:
        result = compilers.COMPILERS[name](case, target, folder)
    except TimeoutError:
        return {**_names(job), "failure": too_long(timeout_s)}
    except (TilecError, ToolError) as error:
        # The text before names the file, by an absolute path.
        line = str(error).strip().splitlines()[0]
        return {**_names(job), "failure": line.rpartition("error: ")[2]}
    function = result.function
    blocks = blocks_per_processor(result.threads, function.registers, result.shared_bytes)
    return {
        **_names(job),
        "seconds": round(result.seconds, 3),
        "threads": result.threads,
        "registers": function.registers,
        "stack_bytes": function.stack_bytes,
        "shared_bytes": result.shared_bytes,
        "blocks_per_processor": blocks,
        **sheet_of(function.instructions, result.threads, result.array_bytes).fields(),
        "model": timeline(result.compiled, max(1, blocks), case.iterations) if result.compiled is not None else None,
    }


def kept_rows(path: Path, versions: dict[str, str]) -> dict[_Key, _Row]:
    """The rows of a file that the same versions wrote, by kernel, target and compiler."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    if found["versions"] != versions:
        sys.exit(f"{path} is of other versions: {found['versions']}; remove it or leave out --resume")
    return {(row["kernel"], row["target"], row["compiler"]): row for row in found["rows"]}


def is_measured(row: _Row | None) -> bool:
    """Whether a row has its time, or the reason why it has none."""
    return row is not None and row.get("seconds", 0) is not None


def in_order(rows: dict[_Key, _Row]) -> list[_Row]:
    """The rows of the kernels that the sheet has, in its order."""
    jobs = [(case, target, name) for case in CASES for target in TARGETS for name in compilers.COMPILERS]
    return [rows[_key(job)] for job in jobs if _key(job) in rows]


def write_json(path: Path, versions: dict[str, str], rows: list[_Row]) -> None:
    """Writes the versions and the rows, a row per line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{"versions": {json.dumps(versions)}, "rows": [\n{lines}\n]}}\n')


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", action="append", metavar="TEXT", help="kernels with a text in their name")
    parser.add_argument("--target", action="append", choices=TARGETS, help="a target (default: both)")
    parser.add_argument("--compiler", action="append", choices=tuple(compilers.COMPILERS), help="(default: all)")
    parser.add_argument("--json", metavar="FILE", help="write all figures, those of every loop and role")
    parser.add_argument("--resume", action="store_true", help="keep the rows that FILE has")
    parser.add_argument("--markdown", action="store_true", help="print a page of Markdown")
    parser.add_argument(
        "--timeout", type=argument_types.positive, default=120, metavar="S", help="seconds of a compile (default: 120)"
    )
    found = parser.parse_args()
    if found.resume and not found.json:
        parser.error("--resume needs --json FILE")
    found.kernel = found.kernel or [""]
    found.target = found.target or list(TARGETS)
    found.compiler = found.compiler or list(compilers.COMPILERS)
    return found


if __name__ == "__main__":
    main()
