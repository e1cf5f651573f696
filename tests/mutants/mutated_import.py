"""Runs pytest with one module changed: `python mutated_import.py MODULE START LENGTH REPLACEMENT pytest-arguments`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

import pytest


class _MutatedLoader(importlib.machinery.SourceFileLoader):
    """Compiles the mutated text without the bytecode cache, which has the original code."""

    mutation: tuple[int, int, str]

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        start, length, replacement = self.mutation
        text = self.get_data(path).decode()
        return compile(text[:start] + replacement + text[start + length :], path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, mutation: tuple[int, int, str]) -> None:
        self._module, self._mutation = module, mutation

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _MutatedLoader(name, spec.origin)
            spec.loader.mutation = self._mutation
        return spec


if __name__ == "__main__":
    module, start, length, replacement, *arguments = sys.argv[1:]
    sys.meta_path.insert(0, _Finder(module, (int(start), int(length), replacement)))
    sys.exit(pytest.main(arguments))
