"""Compares the results of random kernels over slices in numpy, the interpreter and the simulator for both targets.

`python tests/fuzz/fuzz.py slices --inputs 1000 --seed 1` runs 1,000 kernels (random_slices.py), each with random
settings of the compiler. A kernel that fails is reduced and written to the working folder;
`python tests/fuzz/fuzz.py slices --input FILE` runs it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 registers the names of narrow floats with numpy.
import numpy as np
from compared_kernels import BLOCKS, Case, settings_of
from multiply_values import SMALL
from numpy_tiles import NumpyTiles
from random_slices import COLUMNS, HEADS, NUMBERS, ROWS, random_slices

# The elements around the regions: those of operands that are integers, and those of the result, which stay.
NOT_DATA, UNTOUCHED = 101, 12345


class SlicedArray(np.ndarray):
    """An array of numpy with the slices of tilec."""

    def slice(self, *, axis: int, start: int, stop: int) -> SlicedArray:
        return self[(slice(None),) * axis + (slice(int(start), int(stop)),)]


class SliceTiles(NumpyTiles):
    """The functions of the kernels over slices."""

    @staticmethod
    def cdiv(x: int, y: int) -> int:
        return -(-x // y)

    @staticmethod
    def num_tiles(array: np.ndarray, axis: int, shape: tuple[int, ...]) -> int:
        return -(-array.shape[axis] // shape[axis])

    @staticmethod
    def exp2(x: np.ndarray, flush_to_zero: bool = False) -> np.ndarray:
        return np.exp2(x)

    def load(self, array: np.ndarray, index: tuple[int, ...], shape: tuple[int, ...], **hints: Any) -> np.ndarray:
        return np.asarray(super().load(array, index, shape))

    def store(self, array: np.ndarray, index: tuple[int, ...], tile: np.ndarray, **hints: Any) -> None:
        super().store(array, index, tile)


@dataclass(frozen=True)
class SliceCase(Case):
    """A kernel over slices.

    Attributes:
        array: the element type of the operands.
        accumulator: the element type of the result.
        rank: the rank of the arrays.
        regions: by array and block, the first and the end of the rows, and of the columns, that are data.
        numbers: by position in P, its value in each block.
    """

    array: str
    accumulator: str
    rank: int
    regions: dict[str, tuple[tuple[tuple[int, int], tuple[int, int]], ...]]
    numbers: tuple[tuple[int, ...], ...]
    COMMAND = "slices"
    TILES = (SliceTiles,)

    def arguments(self) -> dict[str, Any]:
        """New arguments by name; data are integers of at most SMALL."""
        random = np.random.default_rng(self.seed)
        shape = (BLOCKS * ROWS, COLUMNS) if self.rank == 2 else (BLOCKS * ROWS, HEADS, COLUMNS)
        given = {}
        for name, of_blocks in self.regions.items():
            type = np.dtype(self.accumulator if name == "C" else self.array)
            around = UNTOUCHED if name == "C" else NOT_DATA if np.issubdtype(type, np.integer) else np.nan
            array = np.full(shape, around).astype(type)
            for (top, bottom), (left, right) in of_blocks:
                region = array[top:bottom, ..., left:right]
                region[...] = random.integers(-SMALL, SMALL + 1, region.shape).astype(type)
            given[name] = array
        numbers = np.zeros((BLOCKS, NUMBERS), np.int32)
        for number, values in enumerate(self.numbers):
            numbers[:, number] = values
        return {**given, "P": numbers.ravel()}

    def numpy_array(self, array: np.ndarray) -> np.ndarray:
        return array.view(SlicedArray)

    def simulator_options(self) -> dict[str, Any]:
        # The conversion of tf32 by TMA is not documented; small integers are exact.
        return {**super().simulator_options(), "allow_unconfirmed": self.array == "float32"}


def random_case(seed: int) -> SliceCase:
    """The case of a seed."""
    kernel = random_slices(seed)
    regions = {name: tuple((one.rows, one.columns) for one in of_blocks) for name, of_blocks in kernel.regions.items()}
    kind = kernel.kind
    return SliceCase(
        kernel.source, seed, settings_of(seed), kind.array, kind.accumulator, kernel.rank, regions, kernel.numbers
    )
