"""A fixture that runs the body of a Tile IR entry on numpy arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilec.dialect.assembly.reader import read_module
from tilec.dialect.mlir import context
from tilec.runtime.interpret.run import run

Execute = Callable[..., None]


def _execute(parameters: str, body: str, *values: Any, grid: Any = 1, outside: str = "", **settings: Any) -> None:
    """Runs `entry @k(parameters) { body return }`; arrays are passed by address."""
    ends = re.search(r"\breturn\s*$", body)
    text = f"cuda_tile.module @m {{ {outside}\nentry @k({parameters}) {{{body}{'' if ends else ' return'} }} }}"
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    ranges = [_range(array) for array in arrays]
    numbers = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in values]
    run(module, "k", grid, numbers, **{"ranges": ranges, **settings})


def _range(array: np.ndarray) -> tuple[int, int, bool]:
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high - low, array.flags.writeable


@pytest.fixture
def execute() -> Execute:
    return _execute
