"""The one door to the upstream MLIR bindings, and the process-wide context with every dialect of tilec in it."""

from __future__ import annotations

import functools
import importlib
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

# The upstream distribution wins; torch-mlir ships the same bindings as wheels on PyPI.
_PACKAGES = ("mlir", "torch_mlir")


def _package() -> str:
    for name in _PACKAGES:
        # PyPI's own `mlir-python-bindings` is an empty placeholder, so the extension itself must be there.
        if find_spec(name) is not None and find_spec(f"{name}._mlir_libs") is not None:
            return name
    raise ImportError("tilec needs the MLIR Python bindings: install `torch-mlir` or `mlir-python-bindings`")


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


PACKAGE = _package()
# A type checker is shown one of the packages by name; at run time it is whichever is installed.
if TYPE_CHECKING:
    from torch_mlir import ir, passmanager, rewrite
    from torch_mlir.dialects import ext, irdl
else:
    ir = _module("ir")
    passmanager = _module("passmanager")
    rewrite = _module("rewrite")
    ext = _module("dialects.ext")
    irdl = _module("dialects.irdl")
_globals = _module("dialects._ods_common")._cext.globals


@functools.cache
def context() -> ir.Context:
    """The context that all modules of this process live in; enter it (`with context():`) to build IR.

    One context only: types, attributes and caches of tilec are shared, and loading the dialects costs milliseconds.
    """
    # Every op that C++ hands to Python is looked up as a module of this prefix; a miss is a failed import of 15 us.
    _globals.append_dialect_search_prefix("tilec.dialect")
    made = ir.Context()
    # Python verifiers and effects deadlock under the pass manager's threads.
    made.enable_multithreading(False)
    registry = importlib.import_module("tilec.dialect.registry")
    with made:
        for dialect in registry.dialects():
            dialect.load()
    return made
