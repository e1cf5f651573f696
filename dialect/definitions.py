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


def load(dialect: Any, ir: Any, ext: Any) -> None:
    """Loads a dialect into the entered context.

    Args:
        dialect: the `ext.Dialect` class.
        ir: the module `ir` of the bindings.
        ext: their module `dialects.ext`.
    """
    folder = cache_files.folder("dialects")
    path = None if folder is None else Path(folder, f"{dialect.DIALECT_NAMESPACE}-{fingerprint()[:32]}.mlirbc")
    kept = None if path is None else cache_files.read(path)
    if kept is None:
        definition = dialect._emit_module()
        ext.PassManager.parse("builtin.module(canonicalize,cse)").run(definition.operation)
        if path is not None:
            _keep(path, definition)
    else:
        definition = ir.Module.parse(kept)
    _load_definition(dialect, definition, ir, ext)


def _load_definition(dialect: Any, definition: Any, ir: Any, ext: Any) -> None:
    """As `ext.Dialect.load`, but the bindings get no class of operations with `is_generic`.

    They create an OpView of these for a quarter of the time of an object of a class, and each time that C++ hands them
    an operation, also to ask for its effects.
    """
    ext.irdl.load_dialects(definition)
    for op in dialect.operations:
        op._attach_traits()
    registry = ext._cext
    registry.globals._register_dialect_impl(dialect.DIALECT_NAMESPACE, dialect, replace=True)
    for type in dialect.types:
        registry.register_type_caster(ir.DynamicType.lookup_typeid(type.type_name), replace=True)(type)
    for attribute in dialect.attributes:
        registry.register_type_caster(ir.DynamicAttr.lookup_typeid(attribute.attr_name), replace=True)(attribute)
    for op in dialect.operations:
        if not getattr(op, "is_generic", False):
            registry.register_operation(dialect, replace=True)(op)
            registry.register_op_adaptor(op, replace=True)(op.Adaptor)


def _keep(path: Path, definition: Any) -> None:
    bytecode = io.BytesIO()
    definition.operation.write_bytecode(bytecode)
    # A cache folder that cannot be written costs time only.
    with contextlib.suppress(OSError):
        cache_files.write(path, bytecode.getvalue())
        files = sorted(path.parent.glob("*.mlirbc"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-KEPT_FILES]:
            file.unlink(missing_ok=True)
