"""`tilec interpret`: runs Tile IR as text or bytecode on the CPU, one tile block after another.

Undefined behavior is an error with its line, unless --no-checks is given (docs/checking.md). Each --arg is one argument
of the kernel, in order:

"""

from __future__ import annotations

import argparse

from tilec.commands import json_output
from tilec.commands.argument import ARGUMENT_FORMS, define_arguments, grid_argument, read_argument
from tilec.driver.backends import run as run_entry
from tilec.process.progress import progress

# A run of fewer tile blocks shows no progress.
_FEWEST_BLOCKS = 16


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
    printed: list[str] = []
    total = grid[0] * grid[1] * grid[2]
    with progress("interpret", total if total >= _FEWEST_BLOCKS else 0) as advance:
        run_entry(
            arguments.file,
            grid,
            [argument.value for argument in given],
            backend="interpret",
            entry=arguments.entry,
            check=not arguments.no_checks,
            progress=lambda done, total: advance("tile blocks"),
            print=printed.append if arguments.json else None,
        )
    for argument in given:
        argument.save()
    if arguments.json:
        outputs = [str(argument.output) for argument in given if argument.output is not None]
        json_output.write("interpret", {"blocks": total, "outputs": outputs, "printed": "".join(printed)})
