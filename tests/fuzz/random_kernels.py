"""Random kernels in Python that read and overwrite the same arrays; numpy runs the same source, statement by statement.

The kernels test the order of memory accesses: tiles of different shapes overlap, and only some accesses can use TMA.
Values are small integers, which every type represents exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
from compiler_settings import random_requests
from numpy_tiles import NumpyTiles

# A block accesses only the rows from ROWS * block.
ROWS, BLOCKS = 64, 2
# Rows of 60 and 37 elements have partial tiles; those of 37 are not aligned for TMA.
COLUMNS = (64, 64, 60, 37)
TYPES = {"X": ("float32", "int32", "float16"), "Y": ("float32", "int16", "int64"), "H": ("float16",)}
# Most accesses are to X, so that many of them overlap.
DRAWN_ARRAYS = ("X", "X", "X", "Y", "Y", "H")
# Bounds of values, so that sums of 64 products are exact in float32.
LIMIT = 8


@dataclass(frozen=True)
class RandomKernel:
    """`source` defines `kernel(X, Y, H, P)`; `types` are the element types of the arrays."""

    source: str
    types: dict[str, str]
    columns: int
    hints: dict[str, bool | int]

    def arrays(self, seed: int) -> list[np.ndarray]:
        """New arguments: three arrays of BLOCKS * ROWS rows, and 16 small indices."""
        random = np.random.default_rng(seed)
        shape = BLOCKS * ROWS, self.columns
        tiles = [random.integers(-LIMIT, LIMIT + 1, shape).astype(dtype) for dtype in self.types.values()]
        return [*tiles, random.integers(0, ROWS, (16,)).astype(np.int32)]

    def expected(self, seed: int) -> list[np.ndarray]:
        """The arrays after the kernel, computed by numpy."""
        arrays = self.arrays(seed)
        for block in range(BLOCKS):
            scope = {"ct": NumpyTiles(block), "clamp": lambda tile: np.clip(tile, -LIMIT, LIMIT)}
            exec(self.source, scope)
            scope["kernel"](*arrays)
        return arrays


def random_kernel(seed: int) -> RandomKernel:
    """The kernel of a seed."""
    return _Writer(Random(seed)).kernel()


class _Writer:
    """Writes the statements; `tiles` are the names, shapes and types of the tiles in scope."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.types = {name: random.choice(types) for name, types in TYPES.items()}
        self.columns = random.choice(COLUMNS)
        self.lines: list[str] = []
        self.tiles: list[tuple[str, tuple[int, int], str]] = []
        self.numbers: list[str] = []
        self.count = 0

    def kernel(self) -> RandomKernel:
        self.lines = ["def kernel(X, Y, H, P):", "    block = ct.bid(0)"]
        self.body("    ", depth=2, maximum=6)
        hints: dict[str, bool | int] = {
            name: False for name in ("roles", "pipeline", "tma") if self.random.random() < 0.15
        }
        sizes = (("num_ctas", (2, 4)), ("stages", (1, 2, 3)), ("warps", (4, 8)))
        hints |= {name: self.random.choice(values) for name, values in sizes if self.random.random() < 0.2}
        hints |= random_requests(self.random)
        return RandomKernel("\n".join(self.lines) + "\n", self.types, self.columns, hints)

    def body(self, indent: str, depth: int, maximum: int) -> None:
        tiles, numbers = list(self.tiles), list(self.numbers)
        for _ in range(self.random.randint(2, maximum)):
            kinds = [self.load, self.load, self.store, self.store, self.store, self.gather, self.scatter, self.number]
            kinds += [self.multiply, self.change]
            if depth:
                kinds += [self.loop, self.loop, self.branch]
            self.random.choice(kinds)(indent, depth)
        self.store(indent, depth)
        self.tiles, self.numbers = tiles, numbers

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def line(self, indent: str, text: str) -> None:
        self.lines.append(indent + text)

    def index(self, count: int) -> str:
        """A number below `count`: a constant, a loop counter, or a value from memory."""
        if self.numbers and self.random.random() < 0.5:
            return f"{self.random.choice(self.numbers)} % {count}" if count > 1 else "0"
        return str(self.random.randrange(count))

    def tile_index(self, shape: tuple[int, int]) -> str:
        rows = ROWS // shape[0]
        return f"(block * {rows} + {self.index(rows)}, {self.index(self.tiles_across(shape[1]))})"

    def tiles_across(self, extent: int) -> int:
        """The number of tiles of a row; the last tile may be partly outside."""
        return -(-self.columns // extent)

    def shape(self) -> tuple[int, int]:
        return self.random.choice((1, 4, 8, 16, 32, 64, 64)), self.random.choice((1, 4, 16, 32, 64, 64))

    def array(self) -> str:
        return self.random.choice(DRAWN_ARRAYS)

    def load(self, indent: str, depth: int) -> None:
        array, shape, name = self.array(), self.shape(), self.name()
        self.line(indent, f"{name} = {self.loaded(array, self.tile_index(shape), shape)}")
        self.tiles.append((name, shape, self.types[array]))

    def loaded(self, array: str, tile_index: str, shape: tuple[int, int]) -> str:
        return f"ct.load({array}, {tile_index}, {shape}, padding_mode=ct.PaddingMode.ZERO)"

    def tile(self, indent: str) -> tuple[str, tuple[int, int], str]:
        if not self.tiles:
            self.load(indent, 0)
        return self.random.choice(self.tiles)

    def change(self, indent: str, depth: int) -> None:
        (tile, shape, type), name = self.tile(indent), self.name()
        kind = self.random.randrange(4)
        if kind == 0:
            self.line(indent, f"{name} = clamp({tile} + {self.random.randint(1, 3)})")
        elif kind == 1:
            self.line(indent, f"{name} = ct.permute({tile}, (1, 0))")
            shape = (shape[1], shape[0])
        elif kind == 2:
            self.line(indent, f"{name} = clamp(ct.broadcast_to(ct.sum({tile}, 1, keepdims=True), {shape}))")
        else:
            other = self.random.choice([entry for entry in self.tiles if entry[1:] == (shape, type)])
            self.line(indent, f"{name} = clamp({tile} - {other[0]} - 1)")
        self.tiles.append((name, shape, type))

    def store(self, indent: str, depth: int) -> None:
        tile, shape, _ = self.tile(indent)
        array = self.array()
        self.line(indent, f"ct.store({array}, {self.tile_index(shape)}, {tile}.astype(ct.{self.types[array]}))")

    def indices(self, indent: str, shape: tuple[int, int]) -> str:
        """Index tiles of a region of the rows of the block, with columns in reverse."""
        height, width = shape
        row, column = self.index(ROWS // height), self.index(self.tiles_across(width))
        rows = f"(block * {ROWS} + {row} * {height} + ct.arange({height}, dtype=ct.int32))"
        columns = f"({width - 1} + {column} * {width} - ct.arange({width}, dtype=ct.int32))"
        name = self.name()
        self.line(indent, f"{name} = ({rows}[:, None], {columns}[None, :])")
        return name

    def gather(self, indent: str, depth: int) -> None:
        array, shape = self.array(), self.shape()
        index_tiles, name = self.indices(indent, shape), self.name()
        self.line(indent, f"{name} = ct.gather({array}, {index_tiles})")
        self.tiles.append((name, shape, self.types[array]))

    def scatter(self, indent: str, depth: int) -> None:
        tile, shape, _ = self.tile(indent)
        array, index_tiles = self.array(), self.indices(indent, shape)
        self.line(indent, f"ct.scatter({array}, {index_tiles}, {tile}.astype(ct.{self.types[array]}))")

    def number(self, indent: str, depth: int) -> None:
        name = self.name()
        self.line(indent, f"{name} = ct.load(P, ({self.random.randrange(16)},), ())")
        self.numbers.append(name)

    def multiply(self, indent: str, depth: int) -> None:
        """A product of tiles of H, over one or several tiles of K, and a store of the result."""
        depth_k, columns = self.random.choice((16, 32, 64)), self.random.choice((16, 32, 64))
        acc, k = self.name(), self.name()
        array = self.array()
        self.line(indent, f"{acc} = ct.zeros(({ROWS}, {columns}), ct.float32)")
        self.line(indent, f"for {k} in range({self.tiles_across(depth_k)}):")
        column = self.index(self.tiles_across(columns))
        left = self.loaded("H", f"(block, {k})", (ROWS, depth_k))
        right = self.loaded("H", f"(block * {ROWS // depth_k} + {k}, {column})", (depth_k, columns))
        self.line(indent, f"    {acc} = ct.mma({left}, {right}, {acc})")
        if self.random.random() < 0.3:
            shape = (self.random.choice((1, 8, ROWS)), 16)
            self.line(indent, f"    s = {self.loaded(array, self.tile_index(shape), shape)}")
            self.line(indent, f"    ct.store(Y, {self.tile_index(shape)}, clamp(s + 1).astype(ct.{self.types['Y']}))")
        name = self.name()
        self.line(indent, f"{name} = clamp({acc})")
        self.tiles.append((name, (ROWS, columns), "float32"))

    def loop(self, indent: str, depth: int) -> None:
        name, tiles, numbers = self.name(), list(self.tiles), list(self.numbers)
        self.line(indent, f"for {name} in range({self.random.choice((1, 2, 3, 5))}):")
        self.numbers.append(name)
        self.body(indent + "    ", depth - 1, 4)
        self.tiles, self.numbers = tiles, numbers

    def branch(self, indent: str, depth: int) -> None:
        if not self.numbers:
            self.number(indent, depth)
        number = self.random.choice(self.numbers)
        self.line(indent, f"if {number} % 2 == {self.random.randrange(2)}:")
        self.body(indent + "    ", depth - 1, 3)
        if self.random.random() < 0.5:
            self.line(indent, "else:")
            self.body(indent + "    ", depth - 1, 3)
