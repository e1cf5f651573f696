"""Mutations of the compiler can be applied, and mutations of sizes are caught; compiler.py runs all mutations."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from compiler_mutations import FOLDERS, Mutation, all_mutations, modules, sampled

FOLDER = Path(__file__).parent
SIZES = FOLDER.parent / "tile_gpu" / "test_sizes.py"
# The module of a decision, its text, and the mutated text. Change the row if the text of the decision changes.
DECISIONS = {
    "no memory for scratch": ("gpu.ir.scratch_use", "SCRATCH_RESERVE_BYTES = 16384", "SCRATCH_RESERVE_BYTES = 0"),
    "vectors of 4 bytes": ("tile_to_gpu.access.alignment", "VECTOR_BYTES = 16", "VECTOR_BYTES = 4"),
    "one accumulator": ("gpu.channels.pipeline", "if needed + columns <= target.tensor_memory_columns", "if False"),
    "always four warps": ("plan.warp_choice", "WARP_COUNTS = (4, 8, 16)", "WARP_COUNTS = (4,)"),
}


def mutation_of(name: str, old: str, new: str) -> Mutation:
    module = f"tilec.lowering.{name}"
    path = dict(modules())[module]
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: expected '{old}' once"
    start = text.index(old)
    return Mutation(module, str(path), text.count("\n", 0, start) + 1, "named", start, len(old), new)


def passes(mutation: Mutation) -> bool:
    command = [sys.executable, str(FOLDER / "mutated_import.py")]
    command += [mutation.module, str(mutation.start), str(mutation.length), mutation.replacement]
    command += [str(SIZES), "-q", "-x", "-p", "no:cacheprovider"]
    process = subprocess.run(command, capture_output=True, check=False, cwd=FOLDER.parents[1])
    assert process.returncode in (0, 1), process.stdout.decode()
    return process.returncode == 0


@pytest.mark.parametrize("decision", DECISIONS)
def test_mutations_of_sizes_are_caught(decision: str) -> None:
    assert not passes(mutation_of(*DECISIONS[decision]))


def test_mutation_without_a_change_passes() -> None:
    module, old, _ = DECISIONS["vectors of 4 bytes"]
    assert passes(mutation_of(module, old, old))


def test_mutations_are_distinct_valid_programs() -> None:
    for mutation in sampled(100, 1):
        text = Path(mutation.path).read_text()
        assert ast.dump(ast.parse(mutation.apply(text))) != ast.dump(ast.parse(text)), str(mutation)


def test_every_stage_has_mutations_and_samples_are_deterministic() -> None:
    stages = [mutation.module.split(".")[2] for mutation in all_mutations()]
    assert all(stages.count(folder) >= 100 for folder in FOLDERS)
    assert sampled(60, 3) == sampled(60, 3) != sampled(60, 4)
