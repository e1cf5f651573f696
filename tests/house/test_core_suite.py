"""The core suite has some cases of each test function, as a table says, and fixed examples."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parents[1]


def collected(folder: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    process = subprocess.run(
        [*command, str(TESTS / folder)], capture_output=True, text=True, check=True, cwd=TESTS.parent
    )
    return [line for line in process.stdout.splitlines() if "::" in line]


@pytest.mark.parametrize(("folder", "most"), [("tile_gpu", 60), ("layout", 10)])
def test_cases_of_each_function_in_the_core_suite(folder: str, most: int) -> None:
    core = Counter(test.split("[")[0] for test in collected(folder, "-m", "core"))
    every = Counter(test.split("[")[0] for test in collected(folder) if "test_random_layouts.py" not in test)
    assert core == Counter({name: min(most, count) for name, count in every.items()})


def test_slices_have_each_test_once() -> None:
    slices = [collected("layout", "--slice", f"{part}/3") for part in range(3)]
    assert all(slices) and sorted(sum(slices, [])) == sorted(collected("layout"))


def test_examples_of_hypothesis_do_not_change() -> None:
    assert settings().derandomize and settings().database is None


def test_tests_of_peers_are_in_the_folders_of_their_command() -> None:
    root = TESTS.parent
    (listed,) = re.findall(r"^PEERS := (.*)", (root / "Makefile").read_text(), re.MULTILINE)
    folders = [root / folder for folder in listed.split()]
    marked = [
        path
        for path in TESTS.rglob("test_*.py")
        if re.search(r"^(@pytest\.mark\.|pytestmark = pytest\.mark\.)peers", path.read_text(), re.MULTILINE)
    ]
    assert marked and all(any(map(path.is_relative_to, folders)) for path in marked)
