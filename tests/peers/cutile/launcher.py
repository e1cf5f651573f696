"""Runs kernels of cuTile Python in the interpreter: exported as bytecode, read, verified, interpreted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutile.export import entry_arguments, export

import tilec


@dataclass(frozen=True)
class Launcher:
    """Launches `kernels` by name; with `check`, what the language leaves undefined is an error or poison."""

    kernels: Mapping[str, Any]
    version: str
    check: bool = True

    def __call__(self, kernel: str, grid: Sequence[int], arguments: Sequence[Any]) -> None:
        module = tilec.Module.parse(export(self.kernels[kernel], arguments, self.version), f"{kernel}.tileirbc")
        behind = [array for argument in arguments if isinstance(argument, list) for array in argument]
        given, memory = entry_arguments(arguments), behind or None
        tilec.run(module, grid, given, backend="interpret", check=self.check, memory=memory)
