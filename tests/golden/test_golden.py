"""The PTX of a few kernels is what it was; `make golden` writes it anew where it is meant to change."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def beside(name: str) -> ModuleType:
    """The module of a file in this folder, which is not a package."""
    spec = importlib.util.spec_from_file_location(f"golden_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS, PTX = beside("kernels"), beside("golden_ptx")


@pytest.mark.parametrize("target", KERNELS.TARGETS)
@pytest.mark.parametrize("name", KERNELS.SIGNATURES)
def test_ptx_is_as_it_was(name: str, target: str) -> None:
    assert PTX.compiled_ptx(name, KERNELS.SIGNATURES[name], target) == PTX.golden_file(name, target).read_text()
