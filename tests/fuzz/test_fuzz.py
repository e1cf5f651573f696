"""A short slice of what fuzz.py does at length: the same targets and mutations, with a fixed seed and no guidance."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
INPUTS = 1_000
FIRST_PROGRAM, PROGRAMS, TOGETHER = 2_046, 40, 4
FIRST_EXITS, EXITS = 1, 20
KERNELS = 20


@pytest.mark.parametrize("target", ["assembly", "bytecode"])
def test_nothing_escapes(target: str) -> None:
    module = importlib.import_module(target)
    source = random.Random(target)
    seeds = list(module.seeds())
    for _ in range(INPUTS):
        module.check(module.mutated(source.choice(seeds), source))


@pytest.mark.parametrize("first", range(FIRST_PROGRAM, FIRST_PROGRAM + PROGRAMS, TOGETHER))
def test_random_programs_have_one_answer(first: int) -> None:
    _agree("programs", first)


@pytest.mark.parametrize("first", range(FIRST_EXITS, FIRST_EXITS + EXITS, TOGETHER))
def test_random_control_flow_has_one_answer(first: int) -> None:
    _agree("exits", first)


def _agree(kind: str, first: int) -> None:
    programs = importlib.import_module("program_fuzz")
    for seed in range(first, first + TOGETHER):
        failed = [one for one in programs.outcomes_apart(programs.GENERATORS[kind](seed)) if one.failed]
        assert not failed, f"python tests/fuzz/fuzz.py {kind} --inputs 1 --seed {seed}: {failed}"


@pytest.mark.parametrize("first", range(0, KERNELS, TOGETHER))
def test_random_kernels_that_overwrite_what_they_read_have_one_answer(first: int, tmp_path: Path) -> None:
    failures = importlib.import_module("kernel_fuzz").failures
    for seed in range(first, first + TOGETHER):
        found = failures(seed, tmp_path)
        assert not found, f"python tests/fuzz/fuzz.py kernels --inputs 1 --seed {seed}: {found}"
