"""Runs `tilec` in this process, and kernels to run it on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tilec.commands.command_line import main

KERNELS = Path(__file__).parent / "kernels.py"


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


class Tilec:
    """`tilec(word, ...)` is the outcome of that command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: object) -> Outcome:
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = self.capsys.readouterr()
        return Outcome(status, captured.out, captured.err)


@pytest.fixture
def tilec(capsys: pytest.CaptureFixture[str]) -> Tilec:
    return Tilec(capsys)
