"""Imports go in stage order and never in circles; environment and MLIR have one door each; no file is named utils.

Every import counts, also those inside functions and for type checking alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

# A module may import what stands in its own row or above. The longest prefix decides.
ORDER = (
    # What every level obeys and says, and the bound of recursion that passes and interpreter raise.
    (
        *("tilec.errors", "tilec.options", "tilec.compile_options", "tilec.remarks", "tilec.version"),
        "tilec.element_types",
        "tilec.process.recursion_limit",
    ),
    ("tilec.dialect",),
    # Facts and algebra that every stage reads: layouts, costs, targets, matrix units, rules of TMA, device functions.
    ("tilec.lowering.layout", "tilec.lowering.model", "tilec.lowering.math", "tilec.lowering.tma", "tilec.lowering"),
    ("tilec.lowering.tile",),
    ("tilec.lowering.tile_to_gpu",),
    ("tilec.lowering.gpu",),
    ("tilec.lowering.gpu_to_ptx",),
    ("tilec.lowering.ptx",),
    ("tilec.runtime",),
    ("tilec",),
)
RANKS = {prefix: rank for rank, row in enumerate(ORDER) for prefix in row}
# Still to be moved, from module to module; a row that holds no longer has to go.
KNOWN: set[tuple[str, str]] = set()
VAGUE = ("utils", "util", "helpers", "helper", "common", "core", "misc")


def _files() -> dict[str, Path]:
    spec = util.find_spec("tilec")
    assert spec is not None and spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    files: dict[str, Path] = {}
    folders = [(root, "tilec")]
    while folders:
        folder, package = folders.pop()
        for path in sorted(folder.iterdir()):
            if path.is_dir() and (path / "__init__.py").exists():
                folders.append((path, f"{package}.{path.name}"))
            elif path.suffix == ".py":
                files[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path
    return files


FILES = _files()
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}


def imported(name: str) -> Iterator[tuple[str, bool]]:
    """The imports of a module, modules of the package by their full name, and whether they are executed at run time."""
    types_only = {inner for node in ast.walk(TREES[name]) if _is_type_checking(node) for inner in ast.walk(node)}
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node not in types_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{FILES[name]}:{node.lineno}: imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in FILES else str(node.module)), node not in types_only


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def rank(name: str) -> int:
    prefix = name
    while prefix not in RANKS:
        prefix = prefix.rpartition(".")[0]
    return RANKS[prefix]


def test_imports_go_in_stage_order() -> None:
    edges = [(name, other) for name in FILES for other, _ in imported(name) if other in FILES]
    against = {(name, other) for name, other in edges if rank(other) > rank(name)}
    assert against - KNOWN == set(), "\n".join(f"{a} imports {b}" for a, b in sorted(against - KNOWN))
    assert KNOWN - against == set(), "these imports are gone: take them out of KNOWN"


def test_no_module_imports_itself_through_others() -> None:
    """An import inside a function counts; one for type checking alone is never executed."""
    edges = {name: {other for other, runs in imported(name) if runs and other in FILES} for name in FILES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in sorted(edges[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in FILES:
        visit(name, ())


def test_the_environment_is_read_in_one_file() -> None:
    attributes = [
        (name, node) for name, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    ]
    assert {name for name, node in attributes if node.attr in ("environ", "environb", "getenv")} == {"tilec.options"}


def test_mlir_has_one_door() -> None:
    for name in FILES:
        for other, _ in imported(name):
            assert other.partition(".")[0] not in ("mlir", "torch_mlir") or name == "tilec.dialect.mlir", name


def test_no_module_has_the_name_of_a_function_of_the_package() -> None:
    import tilec

    modules = {name.removeprefix("tilec.") for name in FILES if name.count(".") == 1}
    both = {name for name in modules & set(dir(tilec)) if callable(getattr(tilec, name))}
    assert not both


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_is_named_after_its_idea(name: str) -> None:
    assert name.rpartition(".")[2] not in VAGUE
