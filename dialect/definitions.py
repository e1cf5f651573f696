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
    if kept is None:
        dialect.load()
        if path is not None:
            _keep(path, dialect._mlir_module)
    else:
        _load_definition(dialect, ir.Module.parse(kept))
    # The definition that `load` stores would keep this context alive until the next load.
    dialect._mlir_module = None


def _load_definition(dialect: Any, definition: Any) -> None:
    """Runs `ext.Dialect.load` with the given definition in place of one that is built from the classes."""
    dialect._emit_module = staticmethod(lambda: definition)
    try:
        dialect.load()
    finally:
        del dialect._emit_module


def _keep(path: Path, definition: Any) -> None:
    bytecode = io.BytesIO()
    definition.operation.write_bytecode(bytecode)
    # A cache folder that cannot be written costs time only.
    with contextlib.suppress(OSError):
        cache_files.write(path, bytecode.getvalue())
        files = sorted(path.parent.glob("*.mlirbc"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-KEPT_FILES]:
            file.unlink(missing_ok=True)
