"""The core suite has every test of most folders, one case per function of the others, and fixed examples."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parents[1]


def collected(folder: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    process = subprocess.run(
        [*command, str(TESTS / folder)], capture_output=True, text=True, check=True, cwd=TESTS.parent
    )
    return [line for line in process.stdout.splitlines() if "::" in line]


def test_a_folder_that_is_not_listed_is_in_the_core_suite() -> None:
    assert collected("tile_gpu", "-m", "core") == collected("tile_gpu")


def test_one_case_of_each_function_of_a_listed_folder_is_in_the_core_suite() -> None:
    core = Counter(test.split("[")[0] for test in collected("fuzz", "-m", "core"))
    assert core == dict.fromkeys((test.split("[")[0] for test in collected("fuzz")), 1)


def test_examples_of_hypothesis_do_not_change() -> None:
    assert settings().derandomize and settings().database is None
