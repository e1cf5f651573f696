"""`tilec opt`: reads a module, verifies it, runs passes over it, writes it as text or as Tile IR bytecode.

tilec opt k.mlir                              the text on standard output
tilec opt k.mlir -o k.tileirbc                bytecode of the newest version
tilec opt k.mlir -o k.tileirbc --bytecode-version 13.1
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tilec.dialect.bytecode.version import NEWEST, VERSIONS, Version
from tilec.errors import UsageError

_BYTECODE_SUFFIX = ".tileirbc"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="a module, - for standard input")
    parser.add_argument("--passes", metavar="NAME,...", default="", help="passes to run, in this order")
    parser.add_argument("--target", metavar="ARCH", default=None, help="for passes that depend on it")
    parser.add_argument("--generic", action="store_true", help="print MLIR's generic form")
    parser.add_argument(
        "--nvidia-generic",
        dest="generic",
        action="store_const",
        const="nvidia",
        help="print the generic form of NVIDIA's tools",
    )
    parser.add_argument("--locations", action="store_true", help="print beside each operation where it came from")
    parser.add_argument(
        "--hints",
        choices=("ignore", "warn", "error"),
        default="ignore",
        help="what to do about optimization hints that nothing follows (default: ignore)",
    )
    parser.add_argument(
        "--print-analysis",
        action="store_true",
        help="write beside each value what is known of it after the passes: runs, equal elements, divisors, bounds",
    )
    parser.add_argument("--list-passes", action="store_true", help="print the passes and what each does")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="PATH",
        default="-",
        help=f"file, - for stdout (default); *{_BYTECODE_SUFFIX} is bytecode",
    )
    parser.add_argument(
        "--bytecode-version",
        choices=[str(version) for version in VERSIONS],
        help=f"write bytecode of this version, whatever the name of the file (default: {NEWEST})",
    )


def run(arguments: argparse.Namespace) -> None:
    """Writes the module; VerificationError with the place where it is not valid, and then nothing is written."""
    from tilec.driver import opt_passes as passes

    if arguments.list_passes:
        for name, chosen in passes.PASSES.items():
            print(f"{name:28}{chosen.level:6}{chosen.summary}")
        return
    if arguments.file is None:
        raise UsageError("tilec opt needs a file, or - for standard input")
    version = _bytecode_version(arguments)
    module = passes.optimise(
        arguments.file,
        _names(arguments.passes) + (["annotate-analysis"] if arguments.print_analysis else []),
        arguments.target,
        arguments.hints,
        lambda warning: print(warning, file=sys.stderr),
    )
    if version is None:
        _write(passes.text(module, arguments.generic, arguments.locations).encode(), arguments.output)
    else:
        from tilec.dialect.bytecode.writer import write_module

        _write(write_module(module, version, arguments.file), arguments.output)


def _bytecode_version(arguments: argparse.Namespace) -> Version | None:
    """The version of the bytecode to write, None for text."""
    if arguments.bytecode_version is None and not arguments.output.endswith(_BYTECODE_SUFFIX):
        return None
    if arguments.generic:
        raise UsageError("--generic is a form of text: leave it out to write bytecode")
    if arguments.output == "-" and sys.stdout.isatty():
        raise UsageError("bytecode is not for a terminal: name a file with -o, or redirect the output")
    return Version.parse(arguments.bytecode_version or str(NEWEST))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _write(content: bytes, output: str) -> None:
    if output == "-":
        sys.stdout.buffer.write(content)
        return
    from tilec.runtime import artifact

    artifact.write(Path(output), content)
