"""A static sheet of machine code: tilec beside NVIDIA's tileiras and Triton, from the code that nvdisasm prints.

    python benchmarks/machine_code.py [--kernel gemm] [--target sm_100a] [--compiler tilec] [--json FILE] [--markdown]

tilec and tileiras read the same bytecode, which cuTile's front end writes in this run. No GPU is needed, but the extra
`peers`: Triton has nvdisasm and cuobjdump. A loop is a natural loop of the control-flow graph; those shown are the
innermost ones around tensor core instructions, TMA loads and exponentials. The modelled columns are the cost model's
(`tilec compile --explain cost`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sheet import compilers, table
from sheet.cases import CASES, TARGETS, Case
from sheet.counts import sheet_of
from sheet.disassembly import ToolError
from sheet.occupancy import blocks_per_processor
from sheet.timeline import timeline

from tilec.errors import TilecError


def main() -> None:
    options = arguments()
    cases = [case for case in CASES if options.kernel in case.name]
    if not cases:
        sys.exit(f"no kernel has '{options.kernel}' in its name: {', '.join(case.name for case in CASES)}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(case, target, name) for case in cases for target in options.target for name in options.compiler]
        for number, (case, target, name) in enumerate(jobs, 1):
            show_progress(f"{number} of {len(jobs)}: {case.name} {target} {name}")
            rows += measure(case, target, name, Path(folder))
    show_progress("")
    versions = compilers.versions()
    if options.json:
        write_json(Path(options.json), versions, rows)
    write = table.markdown if options.markdown else table.text
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(write(rows))


def measure(case: Case, target: str, name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The row of a case for a compiler, with the reason as `failure` if it does not compile; none without a kernel."""
    row: dict[str, Any] = {"kernel": case.name, "target": target, "compiler": name}
    start = time.perf_counter()
    try:
        result = compilers.COMPILERS[name](case, target, folder)
    except (TilecError, ToolError) as error:
        yield {**row, "failure": str(error).strip().splitlines()[0]}
        return
    if result is None:
        return
    function = result.function
    blocks = blocks_per_processor(result.threads, function.registers, result.shared_bytes)
    yield {
        **row,
        "seconds": round(time.perf_counter() - start, 3),
        "threads": result.threads,
        "registers": function.registers,
        "stack_bytes": function.stack_bytes,
        "shared_bytes": result.shared_bytes,
        "blocks_per_processor": blocks,
        **sheet_of(function.instructions, result.threads).fields(),
        "model": timeline(result.compiled, max(1, blocks), case.iterations) if result.compiled is not None else None,
    }


def write_json(path: Path, versions: dict[str, str], rows: list[dict[str, Any]]) -> None:
    """Writes the versions and the rows, a row per line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{"versions": {json.dumps(versions)}, "rows": [\n{lines}\n]}}\n')


def show_progress(text: str) -> None:
    """Replaces the progress line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="", metavar="TEXT", help="kernels with this text in their name")
    parser.add_argument("--target", action="append", choices=TARGETS, help="a target (default: both)")
    parser.add_argument("--compiler", action="append", choices=tuple(compilers.COMPILERS), help="(default: all)")
    parser.add_argument("--json", metavar="FILE", help="write all figures, those of every loop and role")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    found = parser.parse_args()
    found.target = found.target or list(TARGETS)
    found.compiler = found.compiler or list(compilers.COMPILERS)
    return found


if __name__ == "__main__":
    main()
