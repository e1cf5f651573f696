"""`tilec`: exit status 0 for success, 1 for invalid input or a failed run, 2 for an invalid command line."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from importlib import import_module

from tilec.commands import json_output
from tilec.driver.failure_folder import new_failure_folder
from tilec.errors import TilecError
from tilec.version import VERSION

# The exit status that shells report for a command that SIGINT ended: 128 plus the signal number.
INTERRUPTED = 130

# Each command is the module tilec.commands.NAME, whose `define` adds its options and whose `run` executes it.
COMMANDS = {
    "compile": "compile a kernel or the file of any stage",
    "explain": "show the PTX and the machine code of a source line",
    "opt": "verify and transform a module",
    "dialect": "list operations, or print dialects as IRDL",
    "interpret": "run Tile IR on the CPU and check it",
    "simulate": "run PTX on the CPU and check it",
    "tune": "time a kernel with each combination of candidates",
    "cache": "list or remove compiled kernels that are kept on disk",
    "info": "show the installation",
    "completion": "print a script for the completion of a shell",
}


def parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of all commands; only the module of `command` is imported and has its options defined."""
    return _parser([command] if command in COMMANDS else [])


def complete_parser() -> argparse.ArgumentParser:
    """The parser of all commands with all their options."""
    return _parser(COMMANDS)


def _parser(defined: Iterable[str]) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="tilec", description="an open compiler for GPU tile kernels", allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"tilec {VERSION}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        added = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if name in defined:
            module = import_module(f"tilec.commands.{name}")
            added.description = module.__doc__
            module.define(added)
            json_output.define(added)
            added.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status; raises only argparse's SystemExit."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser(argv[0] if argv else None).parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
        return 0
    except TilecError as error:
        if arguments.json:
            json_output.write_error(error)
        else:
            print(error, file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of standard output has closed it; Python must not flush to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        print(_internal_error(error), file=sys.stderr)
        return 1


def _internal_error(error: Exception) -> str:
    path = new_failure_folder() / "traceback.txt"
    path.write_text("".join(traceback.format_exception(error)))
    return f"error: {type(error).__name__}: {error}\nnote: this is a bug in tilec; the traceback is in {path}"
