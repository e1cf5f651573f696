"""`tilec completion`: prints a script that completes commands, options and files in a shell.

bash    tilec completion bash > ~/.local/share/bash-completion/completions/tilec
zsh     tilec completion zsh > ~/.zfunc/_tilec        with `fpath+=~/.zfunc` before compinit in ~/.zshrc
fish    tilec completion fish > ~/.config/fish/completions/tilec.fish
"""

from __future__ import annotations

import argparse
import importlib

from tilec.commands import json_output
from tilec.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
# Arguments with these placeholders name files.
_FILES = ("FILE", "SRC", "PATH")
_FOLDERS = ("DIR",)


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(arguments: argparse.Namespace) -> None:
    """Prints the script; raises UsageError if shtab is not installed."""
    try:
        shtab = importlib.import_module("shtab")
    except ImportError:
        raise UsageError("tilec completion needs shtab: pip install 'tilec[completion]'") from None
    from tilec.commands.command_line import complete_parser

    parser = complete_parser()
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    script = shtab.complete(parser, arguments.shell)
    if arguments.json:
        json_output.write("completion", {"shell": arguments.shell, "script": script})
    else:
        print(script)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options and arguments of a parser and of its commands."""
    found = []
    for action in parser._actions:
        found.append(action)
        if isinstance(action, argparse._SubParsersAction):
            found += [inner for command in action.choices.values() for inner in _actions(command)]
    return found
