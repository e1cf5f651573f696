"""Fixtures of folders of compiled kernels; adds this folder to the import path, because tests are not a package."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilec.commands.command_line import main

sys.path.insert(0, str(Path(__file__).parent))


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture
def tilec_compile(capsys: pytest.CaptureFixture[str]):
    """Runs `tilec compile` with the given arguments; returns the outcome."""

    def run(*arguments: object) -> Outcome:
        try:
            status = main(["compile", *map(str, arguments)])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of `write_sources`."""
    from kernels_folder import write_sources

    return write_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="session")
def compiled(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels of the directory compiled for both targets; tests must not change it."""
    folder = tmp_path_factory.mktemp("compiled") / "kernels"
    command = ["compile", sources, "--folder", folder, "--target", "sm_90a", "--target", "sm_100a"]
    assert main([str(argument) for argument in command]) == 0
    return folder
