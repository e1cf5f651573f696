"""`tilec compile`: a kernel or any stage's file, down to the stage that is asked for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tilec import compile_options
from tilec.driver.compiled import Compiled, StageResult, total_seconds
from tilec.driver.stages import compile as compile_entry
from tilec.errors import UsageError
from tilec.runtime import artifact as artifacts

EMITS = ("tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir", "ptx", "cubin", "all")
_HINTS = "; ".join(
    [f"{name}=on|off: {what}" for name, what in compile_options.SWITCHES.items()]
    + [f"{name}=N: {what}" for name, (what, _) in compile_options.SIZES.items()]
)


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("source", metavar="SRC", help="file.py:kernel, or the file of any stage (told by its content)")
    parser.add_argument("--entry", metavar="NAME", help="the entry, where a module has several")
    parser.add_argument("--target", metavar="ARCH", help="sm_100a or sm_90a (default: TILEC_TARGET, else sm_100a)")
    parser.add_argument("--emit", choices=EMITS, default="ptx", help="what to write (default: ptx)")
    parser.add_argument(
        "--sig", metavar="TEXT", help="signature, e.g. 'A: f16[?,?], B: f16[?,?] strides (1,?), TM=128'"
    )
    parser.add_argument("--hint", metavar="NAME=VALUE", action="append", default=[], help=_HINTS)
    parser.add_argument("--locations", action="store_true", help="write beside each operation where it came from")
    parser.add_argument(
        "--remarks", action="store_true", help="say on stderr what is not as fast or as hinted as one may expect"
    )
    parser.add_argument(
        "-o", dest="output", metavar="PATH", help="file, - for stdout (default); for all a stem or a folder"
    )


def run(arguments: argparse.Namespace) -> None:
    """Compiles, then writes what was asked for; nothing is written where the compile fails."""
    emit = arguments.emit
    compiled = compile_entry(
        arguments.source,
        entry=arguments.entry,
        target=arguments.target,
        signature=arguments.sig,
        hints=compile_options.hints_from_text(arguments.hint),
        stop="cubin" if emit == "all" else emit,
    )
    if arguments.remarks:
        for remark in compiled.remarks:
            print(remark, file=sys.stderr)
    if emit == "all":
        _write_all(compiled, arguments.output, arguments.locations)
    else:
        _write_one(_result(compiled, emit), compiled, arguments.output, arguments.locations)


def _result(compiled: Compiled, emit: str) -> StageResult:
    result = compiled.stage(emit)
    if result is None:
        raise UsageError(f"{compiled.source.name} begins below '{emit}'")
    return result


def _write_one(result: StageResult, compiled: Compiled, output: str | None, locations: bool) -> None:
    if output == "-" or (output is None and result.name != "cubin"):
        sys.stdout.buffer.write(result.content(locations))
        return
    path = Path(output) if output else Path(_default_stem(compiled) + result.suffix)
    artifacts.write(path, result.content(locations))
    if result.name in ("ptx", "cubin") and compiled.metadata is not None:
        artifacts.save_metadata(compiled.artifact, path)


def _default_stem(compiled: Compiled) -> str:
    if compiled.metadata is not None:
        return compiled.metadata.entry
    return artifacts.stem(compiled.source.path).name if compiled.source.path else "kernel"


def _write_all(compiled: Compiled, output: str | None, locations: bool) -> None:
    named = Path(output) if output else Path()
    base = compiled.save(named / _default_stem(compiled) if named.is_dir() else named, locations)
    for result in compiled.stages:
        print(f"{result.seconds * 1e3:9.1f} ms  {result.name:10}  {base}{result.suffix}")
    print(f"{total_seconds(compiled.stages) * 1e3:9.1f} ms  total")
    if compiled.metadata is not None:
        print(f"{'':14}launch      {base}{artifacts.METADATA_SUFFIX}")
