"""A row of the sheet: a kernel with its arguments."""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The kernels that are also compared with numpy in the tests.
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "peers"))

# Slices of arrays, of which Tile IR of cuTile's front end states too little for TMA.
SLICES = {"slices_in_bounds": True}
SM100, SM90 = "sm_100a", "sm_90a"
TARGETS = (SM100, SM90)


@dataclass(frozen=True)
class Array:
    """A row-major array argument; its extents are multiples of 16 elements and its rows of 16 bytes.

    Attributes:
        dtype: the name of the element type in cuTile.
        rank: the number of dimensions.
        known: the first extents that are compiled into the kernel, of a kernel that uses tilex.
    """

    dtype: str
    rank: int
    known: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scalar:
    """A number that is known at launch, with the name of its type in cuTile."""

    dtype: str


@dataclass(frozen=True)
class Case:
    """A kernel with its arguments; a plain value is compiled into the kernel.

    Attributes:
        module: the module that defines the kernel.
        triton: the name of the equivalent kernel in triton_kernels, if there is one, and its constants.
        iterations: of each loop that multiplies, the mean over the tile blocks of a launch; empty for one such loop.
        hints: the hints of tilec for the case.
        is_tilex: whether the kernel uses what Tile IR lacks, so that tilec alone compiles it.
    """

    name: str
    module: str
    kernel: str
    arguments: tuple[Any, ...]
    triton: str | None = None
    constants: dict[str, int] = field(default_factory=dict)
    iterations: tuple[float, ...] = ()
    hints: dict[str, bool] = field(default_factory=dict)
    is_tilex: bool = False

    @property
    def function(self) -> Any:
        """The kernel."""
        return getattr(importlib.import_module(self.module), self.kernel)

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters of a kernel of tilec."""
        return list(inspect.signature(self.function.function).parameters)


def matrices(dtype: str, result: str = "float16", count: int = 2) -> tuple[Array, ...]:
    """The operands of a product, of one type, and its result."""
    return (*(Array(dtype, 2) for _ in range(count)), Array(result, 2))


def tile_constants(tile: tuple[int, int, int]) -> dict[str, int]:
    """The rows, columns and depth of a tile by their names in Triton."""
    return dict(zip(("TM", "TN", "TK"), tile, strict=True))
