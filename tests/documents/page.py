"""Reads the blocks of a Markdown page and runs them in order in one folder.

Each block is fenced, and its info string says what it is:

    python            a program; all programs of a page share one namespace
    python k.py       a file that later blocks read; so is `mlir k.mlir`
    sh                commands, run by bash; `sh exit=1` where they fail
    text              what the block before prints on stdout and stderr

A comment `<!-- not run: REASON -->` on the line before a block excludes it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
EXIT = re.compile(r"exit=(\d+)")
# Times, sizes of machine code (which depend on the assembler and the length of paths) and temporary folders.
MASKED = (
    (re.compile(r" *\b[\d.]+ (ms|s)\b"), r" TIME \1"),
    (re.compile(r" +\d+ bytes"), " SIZE bytes"),
    # Strings of this stage are wrapped, and hold the path of the source.
    (re.compile(r"(ptx-mlir\b.*?) +\d+ lines"), r"\1 COUNT lines"),
    (re.compile(re.escape(str(Path(sys.prefix)))), "PREFIX"),
)


class PageError(Exception):
    """A block of a page that does not do what the page shows."""


@dataclass(frozen=True)
class Block:
    """One fenced block, without its fences."""

    line: int
    language: str
    argument: str
    text: str
    not_run: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order; indented blocks, which carry no language, are refused."""
    found: list[Block] = []
    lines = page.read_text().split("\n")
    start: int | None = None
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if start is None:
                start = number
                continue
            language, _, argument = lines[start - 1].removeprefix("```").partition(" ")
            marker = NOT_RUN.fullmatch(lines[start - 2]) if start > 1 else None
            text = "".join(f"{inner}\n" for inner in lines[start : number - 1])
            found.append(Block(start, language, argument, text, marker[1] if marker else ""))
            start = None
        elif start is None and line.startswith("    ") and not lines[number - 2].strip():
            raise PageError(f"{page.name}:{number}: expected a fenced block with a language, found an indented one")
    return found


def masked(text: str, folder: Path) -> str:
    """Text without what differs between two runs."""
    text = text.replace(f"{folder}{os.sep}", "").replace("\r", "")
    for pattern, mask in MASKED:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


class Runner:
    """Runs the blocks of one page in `folder`; `commands` holds `python` and `tilec` for bash."""

    def __init__(self, folder: Path, commands: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__page__"}
        self.printed = ""
        commands.mkdir()
        for name, words in {"python": "", "tilec": "-m tilec"}.items():
            (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (commands / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}

    def run(self, block: Block) -> None:
        """Runs one block, or compares it with what the block before printed; raises PageError."""
        if block.language == "text":
            expected, found = masked(block.text, self.folder), masked(self.printed, self.folder)
            if expected != found:
                raise PageError(f"line {block.line}: expected\n{expected}\nfound\n{found}")
        elif block.language == "sh":
            self._shell(block)
        elif block.language in ("python", "mlir") and block.argument:
            (self.folder / block.argument).write_text(block.text)
        elif block.language == "python":
            self._python(block)
        else:
            raise PageError(f"line {block.line}: expected python, sh, text or a file, found '{block.language}'")

    def _python(self, block: Block) -> None:
        # In a file, since the compiler reads the source of kernels.
        path = self.folder / f"line_{block.line}.py"
        path.write_text(block.text)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            exec(compile(block.text, str(path), "exec"), self.names)
        self.printed = out.getvalue()

    def _shell(self, block: Block) -> None:
        process = subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{block.text}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=self.environment,
        )
        stated = EXIT.fullmatch(block.argument)
        expected = int(stated[1]) if stated else 0
        # Decoded here, since a text stream would make a new line of each carriage return.
        self.printed = process.stdout.decode(errors="replace")
        if process.returncode != expected:
            statuses = f"expected status {expected}, found {process.returncode}"
            raise PageError(f"line {block.line}: {statuses}\n{self.printed}")
