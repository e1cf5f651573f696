"""Loads dialects from the bytecode of their IRDL definitions, which is kept in the cache folder.

Building the definitions from the operation classes takes more than twice as long.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

from tilec import cache_files
from tilec.installation import fingerprint

# Each installed version of tilec has one file per dialect.
KEPT_FILES = 32


def load(dialect: Any, ir: Any) -> None:
    """Loads a dialect into the entered context.

    Args:
        dialect: the `ext.Dialect` class.
        ir: the module `ir` of the bindings.
    """
    folder = cache_files.folder("dialects")
    path = None if folder is None else Path(folder, f"{dialect.DIALECT_NAMESPACE}-{fingerprint()[:32]}.mlirbc")
    kept = None if path is None else cache_files.read(path)
    definition = dialect._emit_module() if kept is None else ir.Module.parse(kept)
    _load_definition(dialect, definition)
    if kept is None and path is not None:
        _keep(path, definition)
    # The definition that `load` stores would keep this context alive until the next load.
    dialect._mlir_module = None


def _load_definition(dialect: Any, definition: Any) -> None:
    """Runs `ext.Dialect.load` with the given definition, and without the classes of operations with `is_generic`.

    The bindings create an OpView of these for a quarter of the time of an object of a class, and each time that C++
    hands them an operation, also to ask for its effects.
    """
    operations = dialect.operations
    generic = [op for op in operations if getattr(op, "is_generic", False)]
    dialect._emit_module = staticmethod(lambda: definition)
    dialect.operations = [op for op in operations if op not in generic]
    try:
        dialect.load()
    finally:
        del dialect._emit_module
        dialect.operations = operations
    for op in generic:
        op._attach_traits()


def _keep(path: Path, definition: Any) -> None:
    bytecode = io.BytesIO()
    definition.operation.write_bytecode(bytecode)
    # A cache folder that cannot be written costs time only.
    with contextlib.suppress(OSError):
        cache_files.write(path, bytecode.getvalue())
        files = sorted(path.parent.glob("*.mlirbc"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-KEPT_FILES]:
            file.unlink(missing_ok=True)
