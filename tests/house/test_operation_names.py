"""Passes name operations of tile_gpu by their classes, and every class says what passes need to know."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

from tilec.dialect.mlir import context, ext
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.tile_gpu import categories
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, interface_of
from tilec.errors import UnsupportedError

PREFIX = "tile_gpu."
OURS = sorted(name for name in OPERATIONS if name.startswith(PREFIX))


def _modules() -> Iterator[Path]:
    """The modules of the package but those of the dialects."""
    spec = util.find_spec("tilec")
    assert spec is not None and spec.submodule_search_locations
    root = spec.submodule_search_locations[0]
    for folder, folders, files in os.walk(root, followlinks=True):
        if folder == root:
            folders.remove("dialect")
        yield from (Path(folder, file) for file in files if file.endswith(".py"))


def names_of_operations(text: str) -> Iterator[tuple[int, str]]:
    """The strings of a module that begin as names of operations, and their lines; not docstrings."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            if node.value.startswith(PREFIX):
                yield node.lineno, node.value


def test_operations_are_named_by_their_classes() -> None:
    found = [
        f"{path}:{line}: '{name}': write the OPERATION_NAME of the class in dialect/tile_gpu/"
        for path in _modules()
        for line, name in names_of_operations(path.read_text())
    ]
    assert not found, "\n".join(found)
    assert any(path.match("lowering/gpu/passes.py") for path in _modules())


def test_a_name_in_code_is_found_and_one_in_a_docstring_is_not() -> None:
    text = '"""tile_gpu.get waits."""\nGET = "tile_gpu.get"\ndef f(name):\n    return f"tile_gpu.{name}"\n'
    assert list(names_of_operations(text)) == [(2, "tile_gpu.get"), (4, "tile_gpu.")]


@pytest.mark.parametrize("name", OURS)
def test_every_operation_has_an_interface_of_its_own_class(name: str) -> None:
    operation = OPERATIONS[name]
    assert isinstance(vars(operation)["interface"], Interface)
    assert interface_of(name) is operation.interface


def test_an_operation_without_an_interface_is_an_error() -> None:
    for name in ("tile_gpu.teleport", "cuda_tile.mmaf", "ptx.add"):
        with pytest.raises(UnsupportedError, match=f"'{name}' has no interface"):
            interface_of(name)


def test_operations_of_other_dialects_may_have_effects() -> None:
    record = interface_of("other.forward")
    assert (record.category, record.executor, record.is_pure) == (Category.FOREIGN, Executor.COMPUTE, False)


def test_operations_that_mlir_may_remove_and_merge_are_pure() -> None:
    """MLIR reads the trait. Reductions have none, as their regions have operations."""
    context()
    for name in OURS:
        is_pure = ext.Pure in getattr(OPERATIONS[name], "_traits", ())
        assert interface_of(name).is_pure == (is_pure or name in ("tile_gpu.reduce", "tile_gpu.scan")), name


def test_executors_of_readme() -> None:
    """The table of the README names the role that issues each operation (dialect/tile_gpu/README.md, Roles)."""
    assert interface_of("tile_gpu.tma_gather").executor is Executor.LOAD
    assert interface_of("tile_gpu.copy_view").executor is Executor.COPY
    assert interface_of("tile_gpu.tcgen05_copy_scales").executor is Executor.MULTIPLY
    assert interface_of("tile_gpu.gdc_wait").executor is Executor.EVERY
    assert interface_of("tile_gpu.wgmma").executor is Executor.COMPUTE
    assert interface_of("arith.addi").executor is Executor.ANY
    assert interface_of("scf.condition").executor is Executor.COMPUTE


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (categories.DECLARATIONS, {"allocate", "list_word", "make_channel", "make_tensor_map", "shared"}),
        (categories.STEPS, {"put_begin", "put_commit", "get", "release"}),
        (categories.STEPS_AND_SKIPS, {"put_begin", "put_commit", "get", "release", "skip"}),
        (categories.GLOBAL_LOADS, {"load_view", "load_global"}),
        (categories.GLOBAL_STORES, {"store_view", "store_global"}),
        (categories.TMA_LOADS, {"tma_load", "tma_gather"}),
        (categories.COPIES_OF_THREADS, {"copy_global", "copy_view"}),
        (categories.TENSOR_MEMORY_MULTIPLIES, {"tcgen05_mma", "tcgen05_mma_scaled", "tcgen05_mma_sparse"}),
        (categories.REGISTER_MULTIPLIES, {"wgmma", "mma_sync", "dot"}),
        (categories.PLACED_MULTIPLIES, {"multiply", "multiply_scaled", "multiply_sparse"}),
        (
            categories.TENSOR_CORE_OPERATIONS,
            {
                *("tcgen05_mma", "tcgen05_mma_scaled", "tcgen05_mma_sparse"),
                *("tcgen05_copy_scales", "tcgen05_copy_rows", "tcgen05_shift_rows"),
            },
        ),
        (categories.CALLS, {"assert", "print", "allocate"}),
    ],
)
def test_categories(found: tuple[str, ...], expected: set[str]) -> None:
    assert sorted(found) == sorted(f"{PREFIX}{name}" for name in expected)


def test_loads_and_stores_have_a_memory() -> None:
    for name in OURS:
        record = interface_of(name)
        if record.category in (Category.LOAD, Category.STORE, Category.COPY, Category.ATOMIC, Category.MULTICAST):
            assert isinstance(record.memory, Memory), name
