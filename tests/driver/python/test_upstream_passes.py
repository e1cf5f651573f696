"""examples/upstream_passes.py: passes of MLIR, of tilec and of a user transform one module."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tilec.dialect.mlir import ir, register
from tilec.driver.backends import run
from tilec.errors import UnsupportedError
from tilec.text_input.module import Module

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("upstream_passes", ROOT / "examples" / "upstream_passes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(example: ModuleType) -> ir.Module:
    user_context = register(ir.Context())
    with user_context:
        example.Own.load()
    return example.module_in(user_context)


def loop(module: ir.Module) -> list[str]:
    kernel = module.body.operations[0].regions[0].blocks[0].operations
    found = next(op for op in kernel if op.operation.name == "cuda_tile.for")
    return [op.operation.name for op in found.body.blocks[0].operations]


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_example_prints_its_pipelines(backend: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "upstream_passes.py")]
    process = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TILEC_BACKEND": backend})
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.splitlines()[:2] == [
        "first   14 operations, in the loop: load_view_tko, own.square, own.square, mulf, addf, continue; "
        "5 in the function",
        "second  15 operations, in the loop: load_view_tko, mulf, fma, continue; 5 in the function",
    ]
    assert process.stdout.splitlines()[2].startswith("PASSED")


def test_upstream_passes_transform_function_and_kernel(example: ModuleType, module: ir.Module) -> None:
    """cse and canonicalize simplify the function and merge constants of the kernel; symbol-dce removes a function."""
    before = str(module)
    assert (before.count("arith."), before.count("func.func"), before.count("dense<0> : tensor<i32>")) == (6, 2, 2)
    example.first_pipeline(module.context).run(module.operation)
    after = str(module)
    assert (after.count("arith."), after.count("func.func"), after.count("dense<0> : tensor<i32>")) == (4, 1, 1)


def test_passes_of_tilec_keep_a_user_operation_and_hoist_its_lowering(example: ModuleType, module: ir.Module) -> None:
    example.first_pipeline(module.context).run(module.operation)
    assert loop(module).count("own.square") == 2
    example.second_pipeline(module.context).run(module.operation)
    assert "own.square" not in str(module)
    # The loop-invariant product is hoisted; one of the two other products is fused.
    assert [name for name in loop(module) if "mul" in name or "fma" in name] == ["cuda_tile.mulf", "cuda_tile.fma"]


def test_interpreter_rejects_a_user_operation(example: ModuleType, module: ir.Module) -> None:
    example.first_pipeline(module.context).run(module.operation)
    with pytest.raises(UnsupportedError, match=r"mlir:15:17: error: the interpreter does not support 'own\.square'"):
        run(Module(module), (2,), (0, 0, 1.0), entry="squares", backend="interpret")
