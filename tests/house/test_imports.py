"""Imports follow the stage order and have no cycles; one module each reads the environment and imports MLIR.

Imports inside functions and imports for type checking are included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

# A module may import modules of its own row and of earlier rows. The longest matching prefix determines the row.
ORDER = (
    # Errors, options and remarks of all stages, the recursion limit, the time limit, which passes check, and the door
    # to NVIDIA's packages.
    (
        *("tilec.errors", "tilec.options", "tilec.compile_options", "tilec.remarks", "tilec.version"),
        *("tilec.element_types", "tilec.cache_files", "tilec.installation", "tilec.frozen", "tilec.hashing"),
        *("tilec.process.recursion_limit", "tilec.process.time_limit", "tilec.process.cuda_bindings"),
        "tilec.process.garbage_collector",
    ),
    ("tilec.dialect",),
    # Tables and analyses that several stages use: layouts, costs, schedules, targets, matrix units, TMA rules, device
    # functions.
    (
        *("tilec.lowering.layout", "tilec.lowering.model", "tilec.lowering.schedule", "tilec.lowering.math"),
        *("tilec.lowering.tma", "tilec.lowering"),
    ),
    ("tilec.lowering.tile.analysis",),
    ("tilec.lowering.tile.simplify",),
    ("tilec.lowering.tile.divide",),
    ("tilec.lowering.tile.expand",),
    ("tilec.lowering.tile",),
    ("tilec.lowering.tile_to_gpu.access",),
    ("tilec.lowering.plan.matrix",),
    ("tilec.lowering.plan",),
    ("tilec.lowering.tile_to_gpu.conversion",),
    ("tilec.lowering.tile_to_gpu.ops",),
    ("tilec.lowering.tile_to_gpu",),
    ("tilec.lowering.gpu.ir",),
    ("tilec.lowering.gpu.loops",),
    ("tilec.lowering.gpu.memory",),
    ("tilec.lowering.gpu.cost",),
    ("tilec.lowering.gpu.kernel_pass",),
    ("tilec.lowering.gpu.channels",),
    ("tilec.lowering.gpu.roles",),
    ("tilec.lowering.gpu.columns",),
    ("tilec.lowering.gpu.schedule",),
    ("tilec.lowering.gpu",),
    ("tilec.lowering.gpu_to_ptx.registers",),
    ("tilec.lowering.gpu_to_ptx.memory",),
    ("tilec.lowering.gpu_to_ptx.arithmetic",),
    ("tilec.lowering.gpu_to_ptx.tiles",),
    ("tilec.lowering.gpu_to_ptx.matrix",),
    ("tilec.lowering.gpu_to_ptx.control",),
    ("tilec.lowering.gpu_to_ptx",),
    ("tilec.lowering.ptx",),
    ("tilec.runtime",),
    ("tilec",),
)
RANKS = {prefix: rank for rank, row in enumerate(ORDER) for prefix in row}
# Known violations, as pairs of importing and imported module; an obsolete pair is an error.
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


def test_imports_follow_the_stage_order() -> None:
    edges = [(name, other) for name in FILES for other, _ in imported(name) if other in FILES]
    violations = {(name, other) for name, other in edges if rank(other) > rank(name)}
    assert violations - KNOWN == set(), "\n".join(f"{a} imports {b}" for a, b in sorted(violations - KNOWN))
    assert KNOWN - violations == set(), "imports that no longer exist: remove them from KNOWN"


def test_imports_have_no_cycles() -> None:
    """Imports inside functions are included; imports for type checking are never executed and are excluded."""
    edges = {name: {other for other, is_executed in imported(name) if is_executed and other in FILES} for name in FILES}
    visited: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in visited:
            for other in sorted(edges[name]):
                visit(other, (*path, name))
            visited.add(name)

    for name in FILES:
        visit(name, ())


def test_circles_of_types_stay_in_a_folder() -> None:
    """With imports for type checking, the modules of a circle are those of one folder."""
    edges = {name: sorted({other for other, _ in imported(name) if other in FILES}) for name in FILES}
    reached = {name: _reachable(name, edges) for name in FILES}
    for name, others in edges.items():
        for other in others:
            if name in reached[other]:
                assert FILES[name].parent == FILES[other].parent, f"{name} and {other} need each other"


def _reachable(name: str, edges: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for other in edges[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def test_only_options_reads_the_environment() -> None:
    attributes = [
        (name, node) for name, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    ]
    assert {name for name, node in attributes if node.attr in ("environ", "environb", "getenv")} == {"tilec.options"}


def test_only_one_module_imports_mlir() -> None:
    for name in FILES:
        for other, _ in imported(name):
            assert other.partition(".")[0] not in ("mlir", "torch_mlir") or name == "tilec.dialect.mlir", name


def test_no_module_has_the_name_of_a_function_of_the_package() -> None:
    import tilec

    modules = {name.removeprefix("tilec.") for name in FILES if name.count(".") == 1}
    conflicts = {name for name in modules & set(dir(tilec)) if callable(getattr(tilec, name))}
    assert not conflicts


@pytest.mark.parametrize("name", sorted(FILES))
def test_module_name_is_not_vague(name: str) -> None:
    assert name.rpartition(".")[2] not in VAGUE
