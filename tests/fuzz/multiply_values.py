"""The parts of random multiplies that all their statements use: names, numbers, loads, operands and stores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

BLOCKS = 2
# Operands and outputs are cells of CELL by CELL elements; the arrays A, B and H have CELLS by CELLS of them, from which
# the last rows and columns are missing in some kernels.
CELL, CELLS = 128, 2
EXTENT = CELL * CELLS
MISSING = (1, 8, 40)
# Every loop runs fewer times than this, and each block computes fewer persistent tiles; those that are one product and
# its epilogue are TILES at most in all blocks.
ITERATIONS, TILES = 3, 5
SMALL = 2
# A bound of tiles that a loop changes, and the limit of sums that float32 represents exactly.
CARRIED, LIMIT = 1 << 20, 1 << 23
# The elements of the largest tile that further statements may use.
LARGEST = CELL * EXTENT


@dataclass(frozen=True)
class Kind:
    """The types of a multiply: arrays, operands, accumulator; operands represent integers up to `exact`."""

    array: str
    operand: str
    accumulator: str
    exact: int


KINDS = (
    Kind("float16", "float16", "float32", 2048),
    Kind("float16", "float16", "float32", 2048),
    Kind("bfloat16", "bfloat16", "float32", 256),
    Kind("float32", "tfloat32", "float32", 2048),
    Kind("float8_e4m3fn", "float8_e4m3fn", "float32", 16),
    Kind("float8_e5m2", "float8_e5m2", "float32", 8),
    Kind("int8", "int8", "int32", 127),
    # Operands that are converted before the multiply, so that they cannot come from TMA.
    Kind("float32", "float16", "float32", 2048),
    Kind("float16", "float8_e4m3fn", "float32", 16),
)


@dataclass(frozen=True)
class Tile:
    """A tile in scope: its elements are at most `bound`; `repeats` is the most iterations of the loops around it."""

    name: str
    shape: tuple[int, int]
    element: str
    bound: int
    repeats: int = 1

    @property
    def elements(self) -> int:
        return self.shape[0] * self.shape[1]


class ValueWriter:
    """Writes the statements that load, compute and store tiles; `tiles` and `numbers` are in scope."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.kind = random.choice(KINDS)
        self.is_integer = self.kind.accumulator == "int32"
        # The last rows and columns that the arrays A, B and H do not have.
        is_ragged, last = random.random() < 0.4, [random.choice(MISSING), random.choice(MISSING)]
        self.missing = random.choice(((last[0], last[1]), (last[0], 0), (0, last[1]))) if is_ragged else (0, 0)
        self.lines: list[str] = []
        self.tiles: list[Tile] = []
        self.numbers = ["n0", "n1"]
        # The counters of the enclosing loops: each store has a slot per iteration.
        self.counters: list[str] = []
        self.count = self.slots = 0
        # The index of the current cell of C, and the cells of C that its widest tile has.
        self.cell, self.cell_width = "block", 1
        # The iterations around the current body, without those of loops over K.
        self.body_repeats = 1

    @property
    def padding(self) -> str:
        """The argument of loads from arrays without their last rows or columns."""
        return ", padding_mode=ct.PaddingMode.ZERO" if any(self.missing) else ""

    # Operands.

    def converted(self, indent: str, tile: Tile, may_convert: bool) -> tuple[str, int]:
        """A result as an operand: converted if that is exact, else after elementwise operations."""
        name = self.name()
        bound = self.bound(tile)
        if may_convert and bound <= self.kind.exact and self.random.random() < 0.7:
            text = tile.name
        else:
            text, bound = self.reduced(tile.name), SMALL
        self.line(indent, f"{name} = {text}.astype(ct.{self.kind.operand})")
        return name, bound

    def bound(self, tile: Tile) -> int:
        """A bound of the elements; a loop around the current statement may change a tile from outside."""
        return tile.bound if tile.repeats == self.body_repeats else CARRIED

    def reduced(self, text: str) -> str:
        return f"small_integer({text})" if self.is_integer else f"small({text})"

    def operand(self, indent: str, array: str, shape: tuple[int, int], number: str) -> str:
        """A name of a new tile of the type of operands: loaded, transposed, gathered, or computed."""
        kinds = ("load",) * 7 + ("transposed",) * 2 + ("gather", "indexed", "computed")
        name, kind = self.name(), self.random.choice(kinds)
        if kind == "transposed":
            text = f"ct.permute({self.loaded(array, shape[::-1], number)}, (1, 0))"
        elif kind == "gather":
            text = self.gathered(array, shape)
        elif kind == "indexed":
            text = self.indexed(array, shape)
        elif kind == "computed":
            text = self.reduced(f"{self.loaded('H', shape, number)}.astype(ct.{self.kind.accumulator}) + 1")
            self.line(indent, f"{name} = {text}.astype(ct.{self.kind.operand})")
            return name
        else:
            text = self.loaded(array, shape, number)
        if self.kind.array != self.kind.operand:
            text += f".astype(ct.{self.kind.operand})"
        self.line(indent, f"{name} = {text}")
        # A tile that feeds a multiply and registers.
        if kind == "load" and self.random.random() < 0.15:
            other = self.name()
            self.line(indent, f"{other} = {name}.astype(ct.float32)")
            self.store_tile(indent, Tile(other, shape, "float32", SMALL))
        return name

    def loaded(self, array: str, shape: tuple[int, int], number: str | None = None) -> str:
        """A load of a tile; its index along one dimension depends on a number in scope."""
        numbers = [number or self.random.choice(self.numbers), str(self.random.randrange(4))]
        if self.random.random() < 0.5:
            numbers.reverse()
        if self.random.random() < (0.4 if shape[0] == shape[1] else 0.1):
            # A tile on the diagonal: both positions are one number if it is square.
            numbers[1] = numbers[0]
        row, column = (f"{n} % {EXTENT // extent}" for n, extent in zip(numbers, shape, strict=True))
        return f"ct.load({array}, ({row}, {column}), {shape}{self.padding})"

    def gathered(self, array: str, shape: tuple[int, int]) -> str:
        row = f"{self.random.choice(self.numbers)} % 4"
        rows = f"(ct.arange({shape[0]}, dtype=ct.int32) * 3 + {row}) % {EXTENT - self.missing[0]}"
        return f"ct.gather({array}, (({rows})[:, None], ct.arange({shape[1]}, dtype=ct.int32)[None, :]))"

    def indexed(self, array: str, shape: tuple[int, int]) -> str:
        """Rows whose numbers are in memory, of which some are outside of an array without its last rows."""
        rows = f"ct.load(P, ({self.random.choice(self.numbers)} % {EXTENT // shape[0]},), ({shape[0]},)) * 16 + "
        rows += str(self.random.randrange(16))
        # The first column is inside of every array.
        columns = f"ct.Slice({self.random.choice((0, EXTENT - max(shape[1], 64)))}, {shape[1]})"
        return f"ct.load_advanced_indexing({array}, ({rows}, {columns}), padding_mode=ct.PaddingMode.ZERO)"

    def store_tile(self, indent: str, tile: Tile) -> None:
        """A store to cells of C that no other store or block writes, nor another iteration of the two inner loops."""
        rows, columns = (max(CELL // extent, 1) for extent in tile.shape)
        # A tile may have the rows of several slots, and the columns of several cells.
        high = max(tile.shape[0] // CELL, 1)
        self.cell_width = max(self.cell_width, tile.shape[1] // CELL)
        first = -(-self.slots // high)
        slot, size = str(first), 1
        for counter in self.counters[-2:]:
            slot, size = f"{slot} + {counter} * {size}", size * ITERATIONS
        self.slots = (first + size) * high
        # The slots of a high tile are counted in its own rows.
        text = f"({slot}) * {rows}" if rows > 1 else slot
        column = f"{self.cell} * {columns}" if columns > 1 else self.cell
        place, value = f"({text}, {column})", f"{tile.name}.astype(C.dtype)"
        # The stores of large tiles are divided.
        if self.random.random() < (0.4 if tile.elements >= 8192 else 0.2):
            value = f"{value} + {self.overwritten(indent, place, tile)}"
        self.line(indent, f"ct.store(C, {place}, {value})")
        if self.random.random() < 0.05:
            self.store_tile(indent, self.loaded_again(indent, place, tile))

    def overwritten(self, indent: str, place: str, tile: Tile) -> str:
        """The elements that the next store overwrites, which may also be loaded twice, turned, or stored elsewhere."""
        kind = self.random.choice(("once", "once", "once", "twice", "transposed", "stored"))
        old = self.loaded_again(indent, place, tile)
        if kind == "transposed" and tile.shape[0] == tile.shape[1]:
            return f"{self.reduced(old.name)} + {self.reduced(f'ct.permute({old.name}, (1, 0))')}"
        if kind == "twice":
            return f"{self.reduced(old.name)} + {self.reduced(self.loaded_again(indent, place, tile).name)}"
        if kind == "stored":
            self.store_tile(indent, old)
        return self.reduced(old.name)

    def loaded_again(self, indent: str, place: str, tile: Tile) -> Tile:
        """The elements of a result that a tile is, or was, stored to."""
        name = self.name()
        self.line(indent, f"{name} = ct.load(C, {place}, {tile.shape}{self.padding})")
        return replace(tile, name=name, element=self.kind.accumulator)

    # Numbers.

    def trips(self) -> str:
        """A number of iterations below ITERATIONS: a constant, an argument, a counter, or an element of memory."""
        kind = self.random.choice(("constant", "argument", "argument", "number", "memory"))
        if kind == "constant":
            return str(self.random.randrange(1, ITERATIONS))
        if kind == "memory":
            return f"ct.load(P, ({self.random.randrange(16)},), ()) % {ITERATIONS}"
        return self.random.choice(("n0", "n1")) if kind == "argument" else self.random.choice(self.numbers)

    def condition(self) -> str:
        if self.counters and self.random.random() < 0.4:
            return self.condition_of_counter()
        number = self.random.choice(self.numbers)
        if self.random.random() < 0.3:
            number = f"ct.load(P, (({number}) % 16,), ())"
        return f"{number} {self.random.choice(('% 2 == 0', '% 2 == 1', '> 1', '< 2'))}"

    def condition_of_counter(self) -> str:
        """A condition on the counter of the innermost loop that changes in one iteration, or in two."""
        i, n = self.counters[-1], self.random.choice([*self.numbers, str(self.random.randrange(ITERATIONS))])
        wordings = (
            f"{i} >= {n}", f"({i} + 1) * 16 > {n} * 16", f"{i} * -3 > 2 - {n} * 3", f"{n} - {i} <= 1", f"-{i} < -{n}",
            f"({i} * 16 + 31) // 32 > {n}", f"{n} * 64 < {i} * 64 + 63", f"ct.minimum({i}, 1) >= {n}", f"{i} == {n}",
            f"2 * {i} - 1 < {n}", f"5 - ({i} + 1) // 2 <= {n} + 3", f"({i} - {n}) * 8 - 1 >= 0",
        )  # fmt: skip
        texts = self.random.sample(wordings, self.random.choice((1, 1, 1, 2)))
        return f" {self.random.choice(('and', 'or'))} ".join(texts)

    def repeats(self) -> int:
        return int(ITERATIONS ** len(self.counters))

    def enter(self, counter: str) -> None:
        self.counters.append(counter)
        self.numbers.append(counter)

    def leave_loop(self) -> None:
        self.numbers.remove(self.counters.pop())

    # Text.

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def line(self, indent: str, text: str) -> None:
        self.lines.append(indent + text)
