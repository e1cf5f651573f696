"""`import tilec` loads nothing else: each public name is loaded when it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tilec

# Top-level packages, and modules of the standard library whose import takes milliseconds.
EXPENSIVE = (
    *("numpy", "ml_dtypes", "torch_mlir", "mlir", "cuda", "torch", "cupy", "jax"),
    *("ctypes", "json", "hashlib", "tempfile", "subprocess", "pathlib", "argparse", "logging", "importlib.util"),
    *("ast", "dataclasses", "inspect", "linecache", "threading", "tokenize"),
)
STAGES = (
    *("tilec.dialect", "tilec.lowering", "tilec.runtime.arrays", "tilec.runtime.launch.launch", "tilec.driver"),
    *("tilec.commands", "tilec.errors", "tilec.language"),
)
# What a kernel is declared with; the other functions of the language are loaded when they are used.
DECLARATION = "from tilec import Constant, kernel"


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


@pytest.mark.parametrize(
    "name", ["numpy", *(f"tilec.language.operations.{name}" for name in ("math", "memory", "view"))]
)
def test_declaration_of_a_kernel_does_not_load(name: str) -> None:
    assert name not in loaded_after(DECLARATION)


def test_launch_loads_no_reader_of_text_or_of_folders() -> None:
    found = loaded_after("from tilec import launch")
    assert not {"tilec.specialization.signature_text", "tilec.runtime.artifact.kernel_folder", "cuda.bindings"} & found


def _declared_for_type_checkers() -> set[str]:
    """The names of the block `if TYPE_CHECKING` of the package."""
    assert tilec.__file__ is not None
    (block,) = (node for node in ast.parse(Path(tilec.__file__).read_text()).body if isinstance(node, ast.If))
    aliases = [alias for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    targets = [target for node in block.body if isinstance(node, ast.Assign) for target in node.targets]
    assigned = {target.id for target in targets if isinstance(target, ast.Name)}
    return {alias.asname or alias.name for alias in aliases} | assigned


def test_type_checkers_and_programs_see_the_same_names() -> None:
    assert _declared_for_type_checkers() == {*tilec._DEFINED_IN, *tilec._MODULES}


def test_star_import_has_the_names_of_the_language_and_not_those_of_the_compiler() -> None:
    names: dict[str, object] = {}
    exec("from tilec import *", names)
    assert names["kernel"] is tilec.kernel and names["min"] is tilec.min and names["TileError"] is tilec.TilecError
    assert not {"compile", "run", "launch"} & set(names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tilec' has no attribute 'lod'"):
        _ = tilec.lod
