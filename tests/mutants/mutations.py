"""Mutations of one synchronization instruction of a kernel: it is deleted, or a phase is not flipped.

Mutations are found by the instructions of a PTX text, independently of the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WAIT = re.compile(r"mbarrier\.(?:try|test)_wait\S* (%p\d+), ")
_FLIP = re.compile(r"xor\.b32 (%r\d+), (%r\d+), 1;")
_DELETED = {
    "proxy fence": re.compile(r"fence\.proxy\.async"),
    "expect_tx": re.compile(r"mbarrier\.arrive\.expect_tx"),
    "commit": re.compile(r"(tcgen05\.commit|cp\.async\.bulk\.commit_group|wgmma\.commit_group)\b"),
}


@dataclass(frozen=True)
class Mutant:
    """PTX with one changed instruction: the kind of the change, its line number (from one), and the line."""

    kind: str
    line: int
    instruction: str
    ptx: str

    def __str__(self) -> str:
        return f"{self.kind} in line {self.line}: {self.instruction}"


def mutants(ptx: str) -> Iterator[Mutant]:
    """All mutants of a PTX text, in the order of its lines."""
    lines = ptx.splitlines()
    for number, line in enumerate(lines):
        for kind, changed in _changes(lines, number):
            text = "\n".join([*lines[:number], changed, *lines[number + _length(lines, number) :]]) + "\n"
            yield Mutant(kind, number + 1, line.split("//")[0].strip(), text)


def _length(lines: list[str], first: int) -> int:
    """The number of lines of the instruction that begins in a line."""
    count = 1
    while not lines[first + count - 1].split("//")[0].rstrip().endswith(";"):
        count += 1
    return count


def _changes(lines: list[str], number: int) -> Iterator[tuple[str, str]]:
    line = lines[number].split("//")[0]
    if found := _WAIT.search(line):
        # Without the wait, the loop around it ends after one iteration.
        yield "wait", f"    setp.eq.b32 {found[1]}, 0, 0;"
    if found := _FLIP.search(line):
        yield "phase flip", f"    mov.b32 {found[1]}, {found[2]};"
    for kind, pattern in _DELETED.items():
        if pattern.search(line):
            yield kind, ""
