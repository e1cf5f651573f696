"""Every pass on every module of the other tests preserves results, validity and locations."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from tilec.dialect.mlir import ir
from tilec.lowering.tile.passes import DEFAULT, PASSES, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "semantics"))

from vector_files import FOLDER, load_vectors, vector_name  # noqa: E402
from vector_module import ENTRY, case_of  # noqa: E402

TEXTS = sorted((TESTS / "dialect").glob("*assembly/*.mlir"))
# The passes that change results.
EXACT = tuple(name for name in PASSES if name not in ("expand-block-scaling", "fuse-fma"))
FILES = sorted(path.name for path in FOLDER.glob("*.json"))
# Each pipeline runs on every n-th vector, and each single pass on every SAMPLE_ALONE-th vector.
SAMPLES = {DEFAULT: 4, EXACT: 1}
SAMPLE_ALONE = 23


def check_vector(vector: dict, names: tuple[str, ...]) -> None:
    """Asserts that memory and printed text are unchanged by the passes, unless the program is undefined."""
    case = case_of(vector)
    if case.fails is not None or vector.get("undefined") is not None:
        return
    module = Module.parse(Module(case.module).to_text()).ir
    run(module, names, evaluate=evaluate)
    assert module.operation.verify()
    printed: list[str] = []
    case.run(partial(_execute, module, case.grid, printed))
    assert "".join(printed) == case.printed


def _execute(module: ir.Module, grid, printed: list[str], values, ranges) -> None:
    interpret(module, ENTRY, grid, values, ranges=ranges, check=True, write=printed.append)


@pytest.mark.parametrize("names", [DEFAULT, EXACT], ids=["default", "all"])
@pytest.mark.parametrize("file", FILES)
def test_passes_preserve_the_results_of_vectors(file: str, names: tuple[str, ...]) -> None:
    for number, vector in enumerate(json.loads((FOLDER / file).read_text())):
        if number % SAMPLES[names]:
            continue
        try:
            check_vector(vector, names)
        except Exception as error:
            error.add_note(f"vector {number} of {file}: {vector_name(vector)}")
            raise


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_preserves_the_results_of_vectors(name: str) -> None:
    for number, vector in enumerate(load_vectors()):
        if number % SAMPLE_ALONE == 0 and name in EXACT:
            try:
                check_vector(vector, (name,))
            except Exception as error:
                error.add_note(f"vector {number}: {vector_name(vector)}")
                raise


def locations(module: Module) -> set[str]:
    found = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.add(str(operation.location))
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit)
    return found


@pytest.mark.parametrize("name", [*PASSES, "default"])
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_passes_preserve_validity_and_locations_and_are_idempotent(path: Path, name: str) -> None:
    """New operations have the location of an existing one; a second run changes nothing."""
    module = Module.parse(path.read_text(), str(path))
    before = locations(module)
    names = DEFAULT if name == "default" else (name,)
    run(module.ir, names, evaluate=evaluate)
    module.verify()
    assert locations(module) <= before
    once = module.to_text()
    assert Module.parse(once).to_text() == once
    # MLIR's cse removes only operations that are dead before it runs, so a second run may remove more. The operations
    # that insert-checks inserts are checked by a second run.
    if name not in ("cse", "insert-checks"):
        run(module.ir, names, evaluate=evaluate)
        assert module.to_text() == once
