"""`import tilec` loads the kernel language alone: what compiles, runs or reads arrays is loaded when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Top-level packages, and modules of the standard library whose import takes milliseconds.
EXPENSIVE = (
    *("numpy", "ml_dtypes", "torch_mlir", "mlir", "cuda", "torch", "cupy", "jax"),
    *("ctypes", "json", "hashlib", "tempfile", "subprocess", "pathlib", "argparse", "logging", "importlib.util"),
)
STAGES = (
    *("tilec.dialect", "tilec.lowering", "tilec.runtime.arrays", "tilec.runtime.launch", "tilec.driver"),
    "tilec.commands",
)


def loaded_after(program: str) -> set[str]:
    """The modules that a program loads, in a process of its own."""
    listing = "import sys; before = set(sys.modules); {}; print(*(set(sys.modules) - before))"
    command = [sys.executable, "-c", listing.format(program)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return loaded_after("import tilec")


@pytest.mark.parametrize("name", [*EXPENSIVE, *STAGES])
def test_import_of_tilec_does_not_load(loaded: set[str], name: str) -> None:
    assert name not in loaded


def test_element_types_load_numpy_when_an_array_is_described() -> None:
    program = (
        "import tilec; from tilec.language.datatypes import from_numpy; import numpy; from_numpy(numpy.dtype('f2'))"
    )
    assert "numpy" in loaded_after(program)


def test_every_public_name_can_be_imported() -> None:
    program = "import tilec; assert all(hasattr(tilec, name) for name in dir(tilec))"
    assert "tilec.driver.stages" in loaded_after(program)
