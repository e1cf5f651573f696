"""Short runs of all targets of fuzz.py, with fixed seeds and without coverage guidance."""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct

sys.path.insert(0, str(Path(__file__).parent))
INPUTS = 1_000
FIRST_PROGRAM, PROGRAMS, PER_TEST = 2_046, 40, 4
FIRST_EXITS, EXITS = 1, 12
KERNELS = 12
FIRST_MULTIPLIES, MULTIPLIES = 1, 12
# Among them attention of rank 3, slices along columns, and blocks without elements.
FIRST_SLICES, SLICES = 1, 12
# In the first one, three accumulators in tensor memory follow each other.
HASHED_MULTIPLIES = (27, 1, 2, 3, 4, 5, 6)
FIRST_MUTATION, MUTATIONS = 640, 100


@pytest.mark.parametrize("target", ["assembly", "bytecode"])
def test_readers_accept_or_report_mutated_inputs(target: str) -> None:
    module = importlib.import_module(target)
    source = random.Random(target)
    seeds = list(module.seeds())
    for _ in range(INPUTS):
        module.check(module.mutated(source.choice(seeds), source))


@pytest.mark.parametrize("first", range(FIRST_PROGRAM, FIRST_PROGRAM + PROGRAMS, PER_TEST))
def test_results_of_random_programs_agree(first: int) -> None:
    assert_results_agree("programs", first)


@pytest.mark.parametrize("first", range(FIRST_EXITS, FIRST_EXITS + EXITS, PER_TEST))
def test_results_of_random_control_flow_agree(first: int) -> None:
    assert_results_agree("exits", first)


@pytest.mark.parametrize(("kind", "first"), [("programs", FIRST_PROGRAM), ("programs", 2_054), ("exits", FIRST_EXITS)])
def test_checks_of_random_programs_hold(kind: str, first: int) -> None:
    """The programs are defined, so that no assertion of a checked build fails."""
    assert_results_agree(kind, first, checks=True)


def assert_results_agree(kind: str, first: int, **hints: bool) -> None:
    programs = importlib.import_module("program_fuzz")
    for seed in range(first, first + PER_TEST):
        program = programs.GENERATORS[kind](seed)
        program = replace(program, hints={**program.hints, **hints})
        failed = [outcome for outcome in programs.outcomes_in_subprocess(program) if outcome.failed]
        assert not failed, f"python tests/fuzz/fuzz.py {kind} --inputs 1 --seed {seed}: {failed}"


@pytest.mark.parametrize("first", range(0, KERNELS, PER_TEST))
def test_results_of_random_kernels_with_overwritten_arrays_agree(first: int, tmp_path: Path) -> None:
    failures = importlib.import_module("kernel_fuzz").failures
    for seed in range(first, first + PER_TEST):
        found = failures(seed, tmp_path)
        assert not found, f"python tests/fuzz/fuzz.py kernels --inputs 1 --seed {seed}: {found}"


@pytest.mark.parametrize("first", range(FIRST_MULTIPLIES, FIRST_MULTIPLIES + MULTIPLIES, PER_TEST))
def test_results_of_random_multiplies_agree(first: int, tmp_path: Path) -> None:
    assert_cases_agree("multiplies", "multiply_fuzz", first, tmp_path)


@pytest.mark.parametrize("first", range(FIRST_SLICES, FIRST_SLICES + SLICES, PER_TEST))
def test_results_of_random_kernels_over_slices_agree(first: int, tmp_path: Path) -> None:
    assert_cases_agree("slices", "slice_fuzz", first, tmp_path)


def assert_cases_agree(command: str, module: str, first: int, folder: Path) -> None:
    compared, random_case = importlib.import_module("compared_kernels"), importlib.import_module(module).random_case
    for seed in range(first, first + PER_TEST):
        failed = [outcome for outcome in compared.outcomes(random_case(seed), folder) if outcome.failed]
        assert not failed, f"python tests/fuzz/fuzz.py {command} --inputs 1 --seed {seed}: {failed}"


def test_code_does_not_depend_on_hashes() -> None:
    """Not on those of strings, nor on those of MLIR's objects, which are addresses and differ between processes."""
    program, found = Path(__file__).with_name("random_hashes.py"), set()
    for salt in ("1", "2", "3"):
        command = [sys.executable, program, salt, *map(str, HASHED_MULTIPLIES)]
        process = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True, check=True
        )
        found.add(process.stdout)
    assert len(found) == 1, "\n".join(found)


def test_a_kernel_that_fails_is_reduced_to_what_its_failure_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here every number that a kernel stores is wrong: a tile that is not zero and its store remain.

    The kernel of this seed has such a tile that one statement makes.
    """
    compared, multiplies = (importlib.import_module(name) for name in ("compared_kernels", "multiply_fuzz"))
    case = multiplies.random_case(6)
    double_results(compared, monkeypatch)
    outcome = next(one for one in compared.outcomes_in_process(case, tmp_path) if one.failed)
    path = compared.write_reduced(case, outcome, tmp_path)
    lines = path.read_text().splitlines()
    kernel = lines[next(number for number, line in enumerate(lines) if line.startswith("def kernel")) + 1 :]
    assert len(kernel) == 3 and "ct.store" in kernel[-1], kernel
    assert compared.repeat(multiplies.MultiplyCase, path) == 1


def double_results(compared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the numbers that kernels store wrong in the simulator."""
    simulated = compared._simulated

    def doubled(case: Any, *given: Any) -> list[np.ndarray]:
        before, results = case.arguments(), simulated(case, *given)
        pairs = zip(case.RESULTS, results, strict=True)
        return [np.where(result == before[name], result, result * 2) for name, result in pairs]

    monkeypatch.setattr(compared, "_simulated", doubled)


def test_kernels_over_slices_have_all_kinds_of_statements() -> None:
    slices = importlib.import_module("slice_fuzz")
    sources = [slices.random_case(seed).source for seed in range(1, 60)]
    assert len(set(sources)) == len(sources)
    for part in (".slice(axis=0", ".slice(axis=1", ".slice(axis=2", "ct.exp2", "ct.mma", "ct.load(P", "> 0:", "ct.sum"):
        assert any(part in source for source in sources), part


def test_mutated_kernels_compile_or_have_an_error_of_the_user() -> None:
    failure = importlib.import_module("kernel_mutations").failure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for seed in range(FIRST_MUTATION, FIRST_MUTATION + MUTATIONS):
            problem = failure(seed)
            assert problem is None, f"python tests/fuzz/fuzz.py mutations --inputs 1 --seed {seed}: {problem}"


def test_seeds_of_mutations_compile() -> None:
    mutations = importlib.import_module("kernel_mutations")
    seeds = importlib.import_module("mutation_seeds")
    for name, signature in seeds.SIGNATURES.items():
        assert ct.compile(getattr(seeds, name), signature=signature, stop="tile").tile
    assert len(set(map(mutations.mutated, range(50)))) > 45


def test_failures_of_mutations_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    mutations = importlib.import_module("kernel_mutations")
    source, name = "import time\ndef kernel(): pass\nSIGNATURES = {'kernel': ''}\n", "kernel"
    monkeypatch.setattr(mutations, "LONGEST_S", 0.2)
    for change, expected in (
        ("1 / 0", "ZeroDivisionError"),
        ("while True: pass", "no end after"),
        ("from tilec.errors import InternalError; raise InternalError('broken')", "internal error"),
        ("from tilec.errors import InputError; raise InputError('<x object at 0x12>')", "message with"),
        ("from tilec.errors import InputError; raise InputError('a mistake')", ""),
    ):
        monkeypatch.setattr(mutations, "mutated", lambda _, change=change: (source + change, name))
        found = mutations.failure(1)
        assert found is not None and expected in found if expected else found is None


def test_sign_of_zeros_in_packed_floats_counts_without_sums_only() -> None:
    """Two elements of f4E2M1FN share a byte, and code 8 is the negative zero."""
    program_fuzz, program_text = map(importlib.import_module, ("program_fuzz", "program_text"))
    expected, other_zero, other = (np.array(codes, np.uint8) for codes in ([0x08, 0x51], [0x80, 0x51], [0x80, 0x59]))
    output = program_text.Parameter("%a0", "tile<ptr<f4E2M1FN>>", expected, output=True)
    for sums, found, is_equal in ((True, other_zero, True), (True, other, False), (False, other_zero, False)):
        program = program_text.Program([output], program_text.Block([], (), ""), 1, {}, sums=sums)
        assert not program_fuzz._difference(program, {"%a0": found}, {"%a0": expected}) == is_equal
