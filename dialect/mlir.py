"""The only module that imports the upstream MLIR bindings; creates contexts with the dialects of tilec.

with register(ir.Context()):
    module = ir.Module.parse(text)
"""

from __future__ import annotations

import functools
import importlib
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from tilec.dialect import definitions
from tilec.errors import UsageError
from tilec.process.garbage_collector import suspended_garbage_collector

# The upstream distribution wins; torch-mlir ships the same bindings as wheels on PyPI.
_PACKAGES = ("mlir", "torch_mlir")


def _package() -> str:
    for name in _PACKAGES:
        # PyPI's own `mlir-python-bindings` is an empty placeholder, so the extension itself must be there.
        if find_spec(name) is not None and find_spec(f"{name}._mlir_libs") is not None:
            return name
    raise ImportError("tilec needs the MLIR Python bindings: install `torch-mlir`")


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


PACKAGE = _package()
# The type checker sees one package by name; at run time it is the installed one.
if TYPE_CHECKING:
    from torch_mlir import ir, passmanager, rewrite
    from torch_mlir.dialects import ext, irdl
else:
    ir = _module("ir")
    passmanager = _module("passmanager")
    rewrite = _module("rewrite")
    ext = _module("dialects.ext")
    irdl = _module("dialects.irdl")

# Every op that C++ hands to Python is looked up as a module of this prefix; a miss is a failed import of 15 us.
_module("dialects._ods_common")._cext.globals.append_dialect_search_prefix("tilec.dialect")


# The upstream dialects of the modules that tilec makes. ir.Context() loads all that MLIR has, for 10 ms, and the first
# run of `canonicalize` collects the patterns of all that are loaded.
_UPSTREAM = ("arith", "cf", "irdl", "math", "scf")


def register(context: ir.Context) -> ir.Context:
    """Loads the dialects of tilec into a context and returns it; idempotent.

    It is of one thread from then on. Raises UsageError for a context of other bindings than the ones in use.
    """
    if not isinstance(context, ir.Context):
        given = f"{type(context).__module__}.{type(context).__name__}"
        raise UsageError(f"expected a context of {ir.Context.__module__}, but got {given}")
    # Python verifiers and effects deadlock with the pass manager's threads.
    context.enable_multithreading(False)
    with suspended_garbage_collector(), context:
        for dialect in _dialects():
            if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                definitions.load(dialect, ir)
    return context


def context() -> ir.Context:
    """The entered context if it is registered, otherwise the process-wide one, which the caller has to enter."""
    current = ir.Context.current
    if current is not None and all(current.is_dialect_loaded(dialect.DIALECT_NAMESPACE) for dialect in _dialects()):
        return current
    return _own()


@functools.cache
def _own() -> ir.Context:
    """The process-wide context; loading the dialects takes milliseconds.

    MLIR loads any other dialect that it has where a text or a pass names it first.
    """
    context = ir.Context(load_on_create_dialects=[])
    for name in _UPSTREAM:
        context.get_dialect_descriptor(name)
    return register(context)


@functools.cache
def _dialects() -> list[type[ext.Dialect]]:
    # The registry imports the operations, which import this module.
    return importlib.import_module("tilec.dialect.registry").dialects()
