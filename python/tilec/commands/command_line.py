"""`tilec`: exit status 0 for success, 1 for invalid input or a failed run, 2 for an invalid command line."""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from tilec.commands import json_output
from tilec.driver.failure_folder import new_failure_folder
from tilec.errors import TilecError
from tilec.version import VERSION

# The exit status that shells report for a command that SIGINT ended: 128 plus the signal number.
INTERRUPTED = 130

# The errors of a write to a file system without space.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the commands and options that are spelled like the given ones."""

    given: Sequence[str] = ()
    commands: Mapping[str, argparse.ArgumentParser] = {}

    def error(self, message: str) -> NoReturn:
        close = [name for text in self.given for name in self._close(text)]
        super().error(message + (f"; did you mean {' or '.join(map(repr, dict.fromkeys(close)))}?" if close else ""))

    def _close(self, text: str) -> list[str]:
        """The name that an unknown command or option resembles."""
        name = text.partition("=")[0]
        command = self.commands.get(self.given[0])
        if name.startswith("--"):
            known = list((command or self)._option_string_actions)
        else:
            known = list(self.commands) if text is self.given[0] else []
        return [] if name in known else difflib.get_close_matches(name, known, 1)


def parser(command: str | None, given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of all commands; only the module of `command` is imported and has its options defined.

    Its errors suggest names for those of the texts `given` that are unknown.
    """
    return _parser([command] if command in COMMANDS else [], given)


def complete_parser() -> argparse.ArgumentParser:
    """The parser of all commands with all their options."""
    return _parser(COMMANDS)


def _parser(defined: Iterable[str], given: Sequence[str] = ()) -> argparse.ArgumentParser:
    top = _Parser(prog="tilec", description="an open compiler for GPU tile kernels", allow_abbrev=False)
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
        added.given = given
    top.given, top.commands = given, commands.choices
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status; raises only argparse's SystemExit."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser(argv[0] if argv else None, argv).parse_args(argv)
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
        # The reader of standard output has closed it.
        _discard_standard_output()
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            _discard_standard_output()
            print(f"error: cannot write standard output: {error.strerror}", file=sys.stderr)
        else:
            print(_internal_error(error), file=sys.stderr)
        return 1


def _discard_standard_output() -> None:
    """Python must not flush the rest of the output at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _internal_error(error: Exception) -> str:
    path = new_failure_folder() / "traceback.txt"
    path.write_text("".join(traceback.format_exception(error)))
    return f"error: {type(error).__name__}: {error}\nnote: this is a bug in tilec; the traceback is in {path}"
