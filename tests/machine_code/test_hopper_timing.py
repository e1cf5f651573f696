"""benchmarks/hopper/timing.py copies all modules that its run on a GPU imports, and launches each kernel of Triton."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hopper.timing import arguments_of_triton, copy_modules
from sheet.cases import DENSE, Array, Case

SHEET = Path(__file__).parents[2] / "benchmarks" / "sheet"
# The imports of `child` and `_by_triton` that need neither a GPU nor torch nor Triton.
MODULES = "sheet.cases, sheet.triton_compiler, hopper.more_cases, tilec.runtime.artifact.artifact"
IMPORTS = f"import {MODULES}; print(sheet.__file__)"
IN_TRITON = [case for case in DENSE if case.triton]


def test_modules_of_a_run_are_copied(tmp_path: Path) -> None:
    copy_modules(tmp_path)
    # Without the modules of this checkout, which PYTHONPATH may name.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", IMPORTS]
    process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert Path(process.stdout.strip()).parent == tmp_path / "sheet"


def array(rank: int) -> Any:
    shape = (16, 32, 64, 128)[:rank]
    return SimpleNamespace(data_ptr=None, shape=shape, stride=lambda _: shape[-1], numel=lambda: 16)


@pytest.mark.parametrize("case", IN_TRITON, ids=lambda case: case.name)
def test_arguments_are_all_parameters_of_the_kernel_of_triton(case: Case) -> None:
    functions = ast.parse((SHEET / "triton_kernels.py").read_text()).body
    (kernel,) = (each for each in functions if isinstance(each, ast.FunctionDef) and each.name == case.triton)
    names = [parameter.arg for parameter in kernel.args.args]
    arrays = [array(each.rank) for each in case.arguments if isinstance(each, Array)]
    numbers = (0.5, 0) if case.triton == "attention" else (1e-5,) * (case.triton in ("layer_norm", "rms_norm"))
    arguments = arguments_of_triton(case, SimpleNamespace(arguments=(*arrays, *numbers)))
    assert len(arguments) + len(case.constants) == len(names)
    assert names[len(arguments) :] == list(case.constants)
    assert arguments[: len(arrays)] == arrays
    assert all(isinstance(each, (int, float)) for each in arguments[len(arrays) :])
