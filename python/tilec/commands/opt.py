"""`tilec opt`: reads a module, verifies it, runs passes over it, prints it."""

from __future__ import annotations

import argparse
import sys

from tilec.errors import UsageError


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="the text of a module, - for standard input")
    parser.add_argument("--passes", metavar="NAME,...", default="", help="passes to run, in this order")
    parser.add_argument("--target", metavar="ARCH", default=None, help="for passes that depend on it")
    parser.add_argument("--generic", action="store_true", help="print MLIR's generic form")
    parser.add_argument("--list-passes", action="store_true", help="print the passes and what each does")


def run(arguments: argparse.Namespace) -> None:
    """Prints the module; VerificationError with the place where it is not valid."""
    from tilec import passes

    if arguments.list_passes:
        for name, chosen in passes.PASSES.items():
            print(f"{name:28}{chosen.level:6}{chosen.summary}")
        return
    if arguments.file is None:
        raise UsageError("tilec opt needs a file, or - for standard input")
    sys.stdout.write(
        passes.optimise(_read(arguments.file), _names(arguments.passes), arguments.target, arguments.generic)
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _read(file: str) -> str:
    # A newline tells text from a path.
    return sys.stdin.read() + "\n" if file == "-" else file
