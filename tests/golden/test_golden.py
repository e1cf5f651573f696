"""The PTX of the kernels is equal to the golden files; `make golden` updates the files after an intended change."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def load_module(name: str) -> ModuleType:
    """The module of a file in this folder, which is not a package."""
    spec = importlib.util.spec_from_file_location(f"golden_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS, PTX = load_module("kernels"), load_module("golden_ptx")


@pytest.mark.parametrize("target", KERNELS.TARGETS)
@pytest.mark.parametrize("name", KERNELS.SIGNATURES)
def test_ptx_equals_the_golden_file(name: str, target: str) -> None:
    assert PTX.compiled_ptx(name, KERNELS.SIGNATURES[name], target) == PTX.golden_file(name, target).read_text()
