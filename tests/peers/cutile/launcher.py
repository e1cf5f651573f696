"""Exports kernels of cuTile Python as bytecode, reads and verifies it, and interprets or simulates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutile.export import entry_arguments, export

import tilec


@dataclass(frozen=True)
class Launcher:
    """Launches `kernels` by name in the interpreter or, with a `target`, in the simulator of that GPU.

    With `check` the interpreter reports undefined behaviour as an error or propagates it as poison.
    """

    kernels: Mapping[str, Any]
    version: str
    check: bool = True
    target: str | None = None

    def __call__(self, kernel: str, grid: Sequence[int], arguments: Sequence[Any]) -> None:
        module = tilec.Module.parse(export(self.kernels[kernel], arguments, self.version), f"{kernel}.tileirbc")
        listed_arrays = [array for argument in arguments if isinstance(argument, list) for array in argument]
        entry_values = entry_arguments(arguments)
        if self.target is None:
            tilec.run(module, grid, entry_values, backend="interpret", check=self.check, memory=listed_arrays or None)
            return
        tilec.run(
            module, grid, entry_values, backend="simulate", target=self.target, unchecked_global=bool(listed_arrays)
        )
