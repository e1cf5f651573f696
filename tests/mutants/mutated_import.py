"""Runs pytest with one module changed: `python mutated_import.py MODULE START LENGTH REPLACEMENT pytest-arguments`.

`--selection FILE` leaves the tests whose ids are lines of the file, and runs them in the order of the lines.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
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


class _Selection:
    """The plugin of pytest for `--selection`. Many ids on the command line would take long."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        parser.addoption("--selection", type=Path)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if path := config.getoption("selection"):
            order = {test: number for number, test in enumerate(path.read_text().splitlines())}
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


if __name__ == "__main__":
    module, start, length, replacement, *arguments = sys.argv[1:]
    sys.meta_path.insert(0, _Finder(module, (int(start), int(length), replacement)))
    sys.exit(pytest.main(arguments, plugins=[_Selection()]))
