"""Reads the blocks of a Markdown page and runs them in order in one folder.

The info string of a fenced block determines its kind:

    python                     a program; all programs of a page share one namespace
    python k.py, mlir k.mlir, toml k.toml
                               a file that later blocks read
    sh                         commands for bash; `sh exit=1` if their status is 1
    text                       the output of the previous block on stdout and stderr
    {NAME}                     a directive of MyST, which is not run

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
    # Strings of this stage are wrapped and contain the path of the source.
    (re.compile(r"(ptx-mlir\b.*?) +\d+ lines"), r"\1 COUNT lines"),
    (re.compile(re.escape(str(Path(sys.prefix)))), "PREFIX"),
)


class PageError(Exception):
    """Raised if a block of a page does not behave as the page shows."""


@dataclass(frozen=True)
class Block:
    """One fenced block, without its fences."""

    line: int
    language: str
    argument: str
    text: str
    not_run: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order; raises PageError for indented blocks, which have no language."""
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
            if not language.startswith("{"):
                found.append(Block(start, language, argument, text, marker[1] if marker else ""))
            start = None
        elif start is None and line.startswith("    ") and not lines[number - 2].strip():
            raise PageError(f"{page.name}:{number}: expected a fenced block with a language, found an indented one")
    return found


def masked(text: str, folder: Path) -> str:
    """The text with values that differ between runs replaced by placeholders."""
    text = text.replace(f"{folder}{os.sep}", "").replace("\r", "")
    for pattern, mask in MASKED:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


class Runner:
    """Runs the blocks of one page in `folder`; the folder `commands` is created with `python` and `tilec` for bash."""

    def __init__(self, folder: Path, commands: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__page__"}
        self.printed = ""
        commands.mkdir()
        for name, options in {"python": "", "tilec": "-m tilec"}.items():
            (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n')
            (commands / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}

    def run(self, block: Block) -> None:
        """Runs one block, or compares it with the output of the previous block; raises PageError."""
        if block.language == "text":
            expected, found = masked(block.text, self.folder), masked(self.printed, self.folder)
            if expected != found:
                raise PageError(f"line {block.line}: expected\n{expected}\nfound\n{found}")
        elif block.language == "sh":
            self._shell(block)
        elif block.language in ("python", "mlir", "toml") and block.argument:
            (self.folder / block.argument).write_text(block.text)
        elif block.language == "python":
            self._python(block)
        else:
            raise PageError(f"line {block.line}: expected python, sh, text or a file, found '{block.language}'")

    def _python(self, block: Block) -> None:
        # The compiler reads the source of kernels from a file.
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
        exit_status = EXIT.fullmatch(block.argument)
        expected = int(exit_status[1]) if exit_status else 0
        # A text stream would convert carriage returns to newlines.
        self.printed = process.stdout.decode(errors="replace")
        if process.returncode != expected:
            statuses = f"expected status {expected}, found {process.returncode}"
            raise PageError(f"line {block.line}: {statuses}\n{self.printed}")
