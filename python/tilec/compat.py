"""Runs a cuTile Python program unchanged: imports of `cuda.tile` and its public modules import tilec.

    python -m tilec.compat PROGRAM [ARGUMENT ...]
    python -m tilec.compat -m MODULE [ARGUMENT ...]
    python -m tilec.compat -c CODE [ARGUMENT ...]

Other packages below `cuda`, such as `cuda.bindings`, remain importable. Of the private modules of cuTile there are the
names of `tilec.capabilities`, which programs use. The environment variables TILEC_BACKEND and
TILEC_TARGET select where the kernels run.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tilec import capabilities
from tilec.errors import InputError, UsageError

PACKAGE = "cuda.tile"
# Module of cuTile Python -> module of tilec.
MODULES = {PACKAGE: "tilec", **{f"{PACKAGE}.{name}": f"tilec.{name}" for name in ("compilation", "jax", "tune")}}
_COMMAND_FILE = "<command>"


def install() -> None:
    """Makes later imports of `cuda.tile` import tilec; idempotent.

    Raises:
        InputError: cuTile Python is already imported.

    Example:
        >>> from tilec import compat
        >>> compat.install()
        >>> import cuda.tile
        >>> cuda.tile is ct
        True
    """
    if any(isinstance(finder, _TileFinder) for finder in sys.meta_path):
        return
    if PACKAGE in sys.modules:
        raise InputError(f"'{PACKAGE}' is already imported: call tilec.compat.install() before the first import of it")
    sys.meta_path.insert(0, _TileFinder())
    sys.meta_path.append(_NamespaceFinder())


class _TileFinder(importlib.abc.MetaPathFinder):
    """Finds `cuda.tile` and all modules below it."""

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in MODULES:
            return importlib.util.spec_from_loader(name, _AliasLoader(MODULES[name]))
        if not f"{name}.".startswith(f"{PACKAGE}."):
            return None
        private = capabilities.MODULES.get(name.removeprefix(f"{PACKAGE}."))
        if private is not None:
            return importlib.util.spec_from_loader(name, _NamesLoader(private), is_package=True)
        if any(part.startswith("_") for part in name.split(".")):
            message = f"'{name}' is a private module of cuTile Python, which tilec does not have"
        else:
            message = f"no module named '{name}': the public modules are {', '.join(MODULES)}"
        raise ModuleNotFoundError(message, name=name)


class _NamespaceFinder(importlib.abc.MetaPathFinder):
    """Finds an empty package `cuda` if no package below `cuda` is installed; it must be the last finder."""

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, None, is_package=True) if name == PACKAGE.partition(".")[0] else None


class _AliasLoader(importlib.abc.Loader):
    """Loads a module of tilec under a second name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has replaced the specification of the module by that of its second name.
        module.__spec__ = self._spec


class _NamesLoader(importlib.abc.Loader):
    """Loads a module with some names."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._names)


def main(arguments: Sequence[str]) -> int:
    """Runs a program, a module or code as `python` does, and returns 0, or 2 for an invalid command line."""
    match arguments:
        case ["-h" | "--help", *_]:
            print(__doc__)
        case ["-m", module, *_]:
            install()
            sys.argv[:] = arguments[1:]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *_]:
            install()
            sys.argv[:] = ["-c", *arguments[2:]]
            _run_code(code)
        case [program, *_] if os.path.exists(program):
            install()
            sys.argv[:] = arguments
            _run_program(program)
        case _:
            found = f"'{arguments[0]}'" if arguments else "no argument"
            print(f"error: expected a Python file, '-m MODULE' or '-c CODE', got {found}", file=sys.stderr)
            return UsageError.exit_status
    return 0


def _run_program(program: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")


def _run_code(code: str) -> None:
    # The compiler reads the source of kernels from this cache.
    linecache.cache[_COMMAND_FILE] = len(code), None, code.splitlines(keepends=True), _COMMAND_FILE
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(code, _COMMAND_FILE, "exec"), vars(module))


if __name__ == "__main__":
    # The module `__main__` is a second copy of this file; the program must see the state of `tilec.compat`.
    sys.exit(import_module("tilec.compat").main(sys.argv[1:]))
