"""Fixtures that run `tilec` in this process."""

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
    """Runs `tilec` with the given arguments; returns the outcome."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> Outcome:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = self.capsys.readouterr()
        return Outcome(status, captured.out, captured.err)


@pytest.fixture
def tilec(capsys: pytest.CaptureFixture[str]) -> Tilec:
    return Tilec(capsys)
