"""Scripts import what exists: nothing runs the scripts of benchmarks/ on every change, some need a GPU.

Imports inside functions are included. Names are looked up in the text of the module, so that packages which a script
alone needs are not imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
# Scripts find the modules of these folders without a package.
SEARCHED = (BENCHMARKS, BENCHMARKS / "hopper", ROOT / "examples")
SCRIPTS = sorted(path for folder in (BENCHMARKS, ROOT / "examples") for path in folder.rglob("*.py"))


def source_of(module: str, script: Path) -> Path | None:
    """The file or the folder of a module of tilec or beside the script; None if compiled, or of another package."""
    if module.split(".")[0] == "tilec":
        spec = util.find_spec(module)
        if spec is None:
            raise ModuleNotFoundError(module)
        source = Path(spec.origin or next(iter(spec.submodule_search_locations or ())))
        return None if source.suffix == ".so" else source
    parts = Path(*module.split("."))
    for folder in (script.parent, *SEARCHED):
        for file in (folder / parts.with_suffix(".py"), folder / parts / "__init__.py"):
            if file.exists():
                return file
    return None


def names_in(source: Path) -> set[str]:
    """The names that a module has: assigned, defined or imported, or modules of its package."""
    folder = source.parent if source.name == "__init__.py" else source
    found = {path.name.split(".")[0] for path in folder.iterdir()} if folder.is_dir() else set()
    if source.suffix != ".py":
        return found
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def missing_imports(script: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(script.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        try:
            source = source_of(node.module, script)
        except ModuleNotFoundError:
            yield f"line {node.lineno}: there is no module {node.module}"
            continue
        if source is None:
            continue
        for alias in node.names:
            if alias.name not in names_in(source) and "__getattr__" not in names_in(source):
                yield f"line {node.lineno}: {node.module} has no {alias.name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_script_imports_what_exists(script: Path) -> None:
    assert list(missing_imports(script)) == []


def test_check_finds_a_missing_name(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    lines = ("from tilec.options import Missing", "from tilec.nowhere import name", "from h200_check import ru")
    script.write_text("\n".join(lines))
    assert list(missing_imports(script)) == [
        "line 1: tilec.options has no Missing",
        "line 2: there is no module tilec.nowhere",
        "line 3: h200_check has no ru",
    ]
