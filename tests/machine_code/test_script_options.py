"""Each script of benchmarks/ and tests/fuzz/ prints its options, and refuses one that it does not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "benchmarks", ROOT / "tests" / "fuzz")
SCRIPTS = sorted(
    path for folder in FOLDERS for path in folder.rglob("*.py") if 'if __name__ == "__main__":' in path.read_text()
)
SECONDS = 120


def run(script: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(script), *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_help_names_the_script(script: Path) -> None:
    process = run(script, "--help")
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith(f"usage: {script.name}") and process.stderr == ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_unknown_option_is_refused(script: Path) -> None:
    process = run(script, "--unknown-option")
    assert process.returncode == 2 and process.stdout == ""
    assert f"{script.name}: error: " in process.stderr and "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("parse.py", "none"), "argument operations: invalid int value: 'none'"),
        (("parse.py", "4"), "argument operations: expected at least 5, got 4"),
        (("compile_time.py", "--tile", "128,64"), "expected three extents M,N,K such as 128,128,64, got '128,64'"),
        (("compile_time.py", "--repeats", "0"), "expected a whole number above 0, got '0'"),
        (("compile_instructions.py", "--target", "sm_80"), "invalid choice: 'sm_80' (choose from"),
        (("start.py", "--target", "sm_80"), "invalid choice: 'sm_80' (choose from"),
        (("launch.py", "--site", "none"), "expected a folder, but there is none at 'none'"),
        (("tilegym_kernels.py", "none"), "expected a folder, but there is none at 'none'"),
        (("hopper/report.py", "none"), "none has no machine.txt, timing.json, constants.json, replay.md: expected"),
        (("h200_check.py", "run", "none"), "expected a folder that make wrote, but none has no tilec"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_value_is_explained(words: tuple[str, ...], message: str) -> None:
    process = run(ROOT / "benchmarks" / words[0], *words[1:])
    assert process.returncode == 2 and message in process.stderr
    assert "Traceback" not in process.stderr
