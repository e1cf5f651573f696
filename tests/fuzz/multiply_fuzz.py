"""Compares the results of random multiplies in numpy, the interpreter and the simulator for both targets.

`python tests/fuzz/fuzz.py multiplies --inputs 20000 --seed 1` runs 20,000 kernels (random_multiplies.py), each with
random settings of the compiler (compiler_settings.py). A kernel that fails is reduced and written to the working
folder; `python tests/fuzz/fuzz.py multiplies --input FILE` runs it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 registers the names of narrow floats with numpy.
import numpy as np
from compared_kernels import Case, settings_of
from multiply_values import CELL, EXTENT, ITERATIONS, SMALL
from numpy_tiles import NumpyTiles, WideTiles
from random_multiplies import random_multiplies


@dataclass(frozen=True)
class MultiplyCase(Case):
    """A kernel of multiplies, and the types and sizes of its arrays."""

    array: str
    accumulator: str
    slots: int
    cells: int
    missing: tuple[int, int]
    COMMAND = "multiplies"
    TILES = (NumpyTiles, WideTiles)

    def arguments(self) -> dict[str, Any]:
        """New arguments by name; operands, and the result before, are integers of at most SMALL."""
        random = np.random.default_rng(self.seed)
        shapes = {"A": (EXTENT, EXTENT), "B": (EXTENT, EXTENT), "H": (EXTENT, EXTENT)}
        values = {name: random.integers(-SMALL, SMALL + 1, shape) for name, shape in shapes.items()}
        values["P"], values["D"] = random.integers(0, 16, (EXTENT,)), np.zeros(1)
        values["C"] = random.integers(-SMALL, SMALL + 1, (self.slots * CELL, self.cells * CELL))
        types = {"A": self.array, "B": self.array, "H": "float32", "P": "int32", "D": "int32", "C": self.accumulator}
        arrays = {name: value.astype(types[name]) for name, value in values.items()}
        for name in ("A", "B", "H", "C"):
            # Views, so that rows stay aligned for TMA.
            rows, columns = (size - missing for size, missing in zip(arrays[name].shape, self.missing, strict=True))
            arrays[name] = arrays[name][:rows, :columns]
        return {**arrays, "n0": int(random.integers(0, ITERATIONS)), "n1": int(random.integers(0, ITERATIONS))}

    def simulator_options(self) -> dict[str, Any]:
        # The conversion of tf32 by TMA is not documented; small integers are exact.
        return {**super().simulator_options(), "allow_unconfirmed": self.array == "float32"}


def random_case(seed: int) -> MultiplyCase:
    """The case of a seed."""
    kernel = random_multiplies(seed)
    kind, sizes = kernel.kind, (kernel.slots, kernel.cells, kernel.missing)
    return MultiplyCase(kernel.source, seed, settings_of(seed), kind.array, kind.accumulator, *sizes)
