"""`tilec interpret`: runs Tile IR as text or bytecode on the CPU, one tile block after another.

Undefined behavior is an error with its line, unless --no-checks is given (docs/checking.md). Each --arg is one argument
of the kernel, in order:

"""

from __future__ import annotations

import argparse
import sys
import time

from tilec.commands.argument import ARGUMENT_FORMS, define_arguments, grid_argument, read_argument
from tilec.driver.backends import run as run_entry

# The progress line appears after the first number of seconds, and is updated at this period in seconds.
_DELAY_S, _PERIOD_S = 2.0, 0.5


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{__doc__}{ARGUMENT_FORMS}"
    parser.add_argument("file", metavar="FILE", help="Tile IR as text or bytecode, or - for standard input")
    define_arguments(parser)
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", default="1", help="number of tile blocks (default: 1)")
    parser.add_argument("--entry", metavar="NAME", help="the entry to run if the module has several")
    parser.add_argument("--no-checks", action="store_true", help="do not report undefined behavior")


def run(arguments: argparse.Namespace) -> None:
    """Interprets the kernel and writes the output arrays; prints of the kernel go to standard output."""
    grid = grid_argument(arguments.grid, "--grid", least=0)
    given = [read_argument(text) for text in arguments.arg]
    progress = _Progress() if sys.stderr.isatty() else None
    run_entry(
        arguments.file,
        grid,
        [argument.value for argument in given],
        backend="interpret",
        entry=arguments.entry,
        check=not arguments.no_checks,
        progress=progress,
    )
    for argument in given:
        argument.save()


class _Progress:
    """A line on the terminal that counts tile blocks."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _DELAY_S
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        elif now >= self._due and done < total:
            print(f"\rinterpret: {done} of {total} tile blocks", end="", file=sys.stderr, flush=True)
            self._due, self._shown = now + _PERIOD_S, True
