"""`tilec opt`: reads and verifies a module, runs passes over it, and writes it as text or as Tile IR bytecode.

tilec opt k.mlir                              write text to standard output
tilec opt k.mlir -o k.tileirbc                write bytecode of the newest version
tilec opt k.mlir -o k.tileirbc --bytecode-version 13.1
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tilec.commands import json_output
from tilec.dialect.bytecode.version import NEWEST, VERSIONS, Version
from tilec.driver.pass_observer import PassObserver
from tilec.errors import CompilerWarning, UsageError

_BYTECODE_SUFFIX = ".tileirbc"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="a module, or - for standard input")
    parser.add_argument("--passes", metavar="NAME,...", default="", help="passes to run, in this order")
    parser.add_argument(
        "--target", metavar="ARCH", default=None, help="target of passes that depend on it: sm_100a or sm_90a"
    )
    parser.add_argument("--generic", action="store_true", help="print the generic form of MLIR")
    parser.add_argument(
        "--nvidia-generic",
        dest="generic",
        action="store_const",
        const="nvidia",
        help="print the generic form of NVIDIA's tools",
    )
    parser.add_argument("--locations", action="store_true", help="print the source location of each operation")
    parser.add_argument(
        "--hints",
        choices=("ignore", "warn", "error"),
        default="ignore",
        help="treatment of optimization hints without effect (default: ignore)",
    )
    parser.add_argument(
        "--print-analysis",
        action="store_true",
        help="annotate each value with the analysis result after the passes: runs, equal elements, divisors, bounds",
    )
    parser.add_argument(
        "--print-after",
        metavar="NAME,...",
        default="",
        help="write the module after these passes, or after all, to standard error",
    )
    parser.add_argument("--time-passes", action="store_true", help="write the time of each pass to standard error")
    parser.add_argument("--list-passes", action="store_true", help="list the passes with their levels and summaries")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="PATH",
        default="-",
        help=f"output file, or - for standard output (default); *{_BYTECODE_SUFFIX} is written as bytecode",
    )
    parser.add_argument(
        "--bytecode-version",
        choices=[str(version) for version in VERSIONS],
        help=f"write bytecode of this version, regardless of the file name (default: {NEWEST})",
    )


def run(arguments: argparse.Namespace) -> None:
    """Writes the transformed module; raises VerificationError and writes nothing if the module is invalid."""
    from tilec.driver import opt_passes as passes

    if arguments.list_passes and arguments.json:
        rows = [{"name": name, "level": each.level, "summary": each.summary} for name, each in passes.PASSES.items()]
        json_output.write("passes", {"passes": rows})
        return
    if arguments.list_passes:
        for name, chosen in passes.PASSES.items():
            print(f"{name:28}{chosen.level:6}{chosen.summary}")
        return
    if arguments.file is None:
        raise UsageError("tilec opt needs a file, or - for standard input")
    version = _bytecode_version(arguments)
    warnings: list[CompilerWarning] = []
    observer = PassObserver(_names(arguments.print_after), passes.PASSES, arguments.locations)
    module = passes.optimise(
        arguments.file,
        _names(arguments.passes) + (["annotate-analysis"] if arguments.print_analysis else []),
        arguments.target,
        arguments.hints,
        warnings.append,
        observer.observe,
    )
    if arguments.time_passes:
        sys.stderr.write(observer.times())
    if version is None:
        content = passes.text(module, arguments.generic, arguments.locations).encode()
    else:
        from tilec.dialect.bytecode.writing.writer import write_module

        content = write_module(module, version, arguments.file)
    if arguments.json:
        _write_json(content, version, arguments.output, warnings)
        return
    for warning in warnings:
        print(warning, file=sys.stderr)
    _write(content, arguments.output)


def _write_json(content: bytes, version: Version | None, output: str, warnings: list[CompilerWarning]) -> None:
    """Writes the module to its file, and text without a file into the JSON."""
    if output != "-":
        _write(content, output)
    elif version is not None:
        raise UsageError("--json contains text only: set -o to write bytecode")
    found = [{"message": each.message, "location": json_output.location(each.location)} for each in warnings]
    text, file = (content.decode(), None) if output == "-" else (None, output)
    json_output.write("opt", {"text": text, "file": file, "warnings": found})


def _bytecode_version(arguments: argparse.Namespace) -> Version | None:
    """The version of the bytecode to write; None for text."""
    if arguments.bytecode_version is None and not arguments.output.endswith(_BYTECODE_SUFFIX):
        return None
    if arguments.generic:
        raise UsageError("--generic applies to text only: remove it to write bytecode")
    if arguments.output == "-" and sys.stdout.isatty() and not arguments.json:
        raise UsageError("cannot write bytecode to a terminal: set -o to a file, or redirect the output")
    return Version.parse(arguments.bytecode_version or str(NEWEST))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _write(content: bytes, output: str) -> None:
    if output == "-":
        sys.stdout.buffer.write(content)
        return
    from tilec.runtime.artifact import artifact

    artifact.write(Path(output), content)
