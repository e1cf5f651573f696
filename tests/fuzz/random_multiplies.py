"""Random kernels in Python with chains of matrix multiplies, attention-like loops and accumulators in control flow.

Numpy runs the same source, statement by statement. All values are multiples of 1/32 that every type on their path
represents exactly, so results are compared bit for bit. Loop bounds and conditions are constants, arguments or elements
of memory. Every store of an iteration has elements of its own, so that an iteration that is wrong is seen at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

BLOCKS = 2
# Operands and outputs are cells of CELL by CELL elements; the arrays A, B and H have CELLS by CELLS of them.
CELL, CELLS = 128, 2
EXTENT = CELL * CELLS
# Every loop runs fewer times than this, and each block computes fewer persistent tiles.
ITERATIONS = 3
SMALL = 2
# A bound of tiles that a loop changes, and the limit of sums that float32 represents exactly.
CARRIED, LIMIT = 1 << 20, 1 << 23


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
# Helpers of the kernels; the results are integers of at most SMALL that depend on all low bits of the tile.
HELPERS = """\
def small(tile):
    return ct.floor(tile) - ct.floor(tile * 0.25) * 4 - 1


def small_integer(tile):
    return (tile & 3) - 1


"""


@dataclass(frozen=True)
class Tile:
    """A tile in scope: its elements are at most `bound`; `repeats` is the most iterations of the loops around it."""

    name: str
    shape: tuple[int, int]
    element: str
    bound: int
    repeats: int = 1


@dataclass(frozen=True)
class Attention:
    """The names of the values of an attention: `shape` is rows, width and keys; `earlier` are carried weights."""

    q: str
    largest: str
    total: str
    acc: str
    shape: tuple[int, int, int]
    earlier: str | None


@dataclass(frozen=True)
class MultiplyKernel:
    """`source` defines `kernel(A, B, H, P, C, n0, n1)`; C has `slots` rows and `cells` columns of cells."""

    source: str
    kind: Kind
    slots: int
    cells: int


def random_multiplies(seed: int) -> MultiplyKernel:
    """The kernel of a seed."""
    return _Writer(Random(seed)).kernel()


class _Writer:
    """Writes the statements of a kernel; `tiles` and `numbers` are in scope."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.kind = random.choice(KINDS)
        self.is_integer = self.kind.accumulator == "int32"
        self.lines: list[str] = []
        self.tiles: list[Tile] = []
        self.numbers = ["n0", "n1"]
        # The counters of the enclosing loops: each store has a slot per iteration.
        self.counters: list[str] = []
        self.count = self.slots = 0
        # Where `return`, and `break` or `continue`, may stand.
        self.can_return, self.can_exit = True, False
        self.cell = "block"
        # The iterations around the current body, without those of loops over K.
        self.body_repeats = 1

    def kernel(self) -> MultiplyKernel:
        self.line("", "def kernel(A, B, H, P, C, n0: int, n1: int):")
        self.line("    ", "block = ct.bid(0)")
        indent, cells = "    ", BLOCKS
        if self.random.random() < 0.25:
            cells = ITERATIONS
            self.line(indent, f"for t in range(block, {self.random.choice(('3', 'n0 + 1'))}, ct.num_blocks(0)):")
            indent, self.cell, self.can_return = "        ", "t", False
            self.numbers.append("t")
        self.body(indent, self.random.choice((1, 2, 2)), self.random.choice((2, 3, 5)))
        return MultiplyKernel(HELPERS + "\n".join(self.lines) + "\n", self.kind, max(self.slots, 1), cells)

    # Statements.

    def body(self, indent: str, depth: int, most: int) -> None:
        """Statements, the last of which stores a tile; definitions in the body are not visible after it."""
        tiles, numbers, repeats = list(self.tiles), list(self.numbers), self.body_repeats
        self.body_repeats = self.repeats()
        for _ in range(self.random.randint(1, most)):
            kinds: list[Callable[[str, int], None]] = [self.multiply] * 4 + [self.attention, self.change, self.load]
            kinds += [self.store, self.number]
            if self.accumulators():
                kinds += [self.accumulate] * 4
            if depth:
                kinds += [self.loop, self.loop, self.while_loop, self.branch, self.branch]
            if self.can_exit or self.can_return:
                kinds.append(self.leave)
            self.random.choice(kinds)(indent, depth)
        self.store(indent, depth)
        names = {tile.name for tile in tiles}
        changed = {tile.name: tile for tile in self.tiles if tile.name in names}
        self.tiles = [changed.get(tile.name, tile) for tile in tiles]
        self.numbers, self.body_repeats = numbers, repeats

    def multiply(self, indent: str, depth: int) -> None:
        """A product, usually over several tiles of K, whose operands may be results of other products."""
        acc = self.start(indent, (self.random.choice((64, 64, 128)), self.random.choice((16, 32, 64, 64, 128))))
        if self.random.random() < 0.7:
            counter = self.name()
            self.line(indent, f"for {counter} in range({self.random.choice(('0', '0', '1'))}, {self.trips()}):")
            self.enter(counter)
            products = self.random.choice((1, 1, 1, 2))
            added = ITERATIONS * sum(self.add_product(indent + "    ", acc, counter) for _ in range(products))
            if self.random.random() < 0.15:
                self.store_tile(indent + "    ", acc)
            self.leave_loop()
        else:
            added = self.add_product(indent, acc, self.random.choice(self.numbers))
        self.tiles.append(replace(acc, bound=SMALL + added))
        if self.random.random() < 0.5:
            self.epilogue(indent, self.tiles[-1])

    def start(self, indent: str, shape: tuple[int, int]) -> Tile:
        """A new accumulator: zero, a number, a computed tile, or a tile from memory."""
        acc = self.name()
        kind = self.random.choice(("zero", "zero", "zero", "number", "tile"))
        element = f"ct.{self.kind.accumulator}"
        if kind == "tile":
            self.line(indent, f"{acc} = {self.loaded('H', shape)}.astype({element})")
        else:
            number = 0 if kind == "zero" else self.random.randint(1, SMALL)
            self.line(indent, f"{acc} = ct.full({shape}, {number}, dtype={element})")
        return Tile(acc, shape, self.kind.accumulator, SMALL, self.repeats())

    def add_product(self, indent: str, acc: Tile, number: str, may_convert: bool = True) -> int:
        """Adds a product to an accumulator; returns the bound of the product."""
        left, right, bound = self.operands(indent, acc.shape, number, may_convert)
        self.line(indent, f"{acc.name} = ct.mma({left}, {right}, {acc.name})")
        return bound

    def operands(self, indent: str, shape: tuple[int, int], number: str, may_convert: bool) -> tuple[str, str, int]:
        """Both operands, one of which may be a result in scope, and the bound of their product."""
        rows, columns = shape
        choices = [
            (tile, place) for tile in self.tiles for place in self.places(tile, shape) if tile.shape[0] * tile.shape[1]
        ]
        if choices and self.random.random() < 0.6:
            tile, place = self.random.choice(choices)
            text, bound = self.converted(indent, tile, may_convert)
            depth = tile.shape[place in ("left", "transposed right")]
            if place.startswith("transposed"):
                text = f"ct.permute({text}, (1, 0))"
            if place.endswith("left"):
                return text, self.operand(indent, "B", (depth, columns), number), depth * bound * SMALL
            return self.operand(indent, "A", (rows, depth), number), text, depth * bound * SMALL
        depth = self.random.choice((32, 32, 64, 16 if self.kind.exact > 127 else 32))
        left = self.operand(indent, "A", (rows, depth), number)
        return left, self.operand(indent, "B", (depth, columns), number), depth * SMALL * SMALL

    def places(self, tile: Tile, shape: tuple[int, int]) -> list[str]:
        """Where a result can be an operand of a product of a shape."""
        if tile.element != self.kind.accumulator:
            return []
        rows, columns = shape
        fits = {
            "left": tile.shape[0] == rows,
            "right": tile.shape[1] == columns,
            "transposed left": tile.shape[1] == rows,
            "transposed right": tile.shape[0] == columns,
        }
        return [place for place, possible in fits.items() if possible]

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
        name, kind = self.name(), self.random.choice(("load",) * 6 + ("transposed", "transposed", "gather", "computed"))
        if kind == "transposed":
            text = f"ct.permute({self.loaded(array, shape[::-1], number)}, (1, 0))"
        elif kind == "gather":
            text = self.gathered(array, shape)
        elif kind == "computed":
            text = self.reduced(self.loaded("H", shape, number) + " + 1")
            text = text.replace(" + 1", f".astype(ct.{self.kind.accumulator}) + 1")
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
        row, column = (f"{n} % {EXTENT // extent}" for n, extent in zip(numbers, shape, strict=True))
        return f"ct.load({array}, ({row}, {column}), {shape})"

    def gathered(self, array: str, shape: tuple[int, int]) -> str:
        row = f"{self.random.choice(self.numbers)} % 4"
        rows = f"(ct.arange({shape[0]}, dtype=ct.int32) * 3 + {row}) % {EXTENT}"
        return f"ct.gather({array}, (({rows})[:, None], ct.arange({shape[1]}, dtype=ct.int32)[None, :]))"

    def attention(self, indent: str, depth: int) -> None:
        """Softmax of powers of two: a carried maximum, sum and accumulator, in one or two loops."""
        if self.is_integer:
            return self.multiply(indent, depth)
        # The rows of 256 are two chains of multiplies.
        rows = self.random.choice((64, 64, 128, 256))
        width, keys = self.random.choice((32, 64)), self.random.choice((32, 64))
        q = self.operand(indent, "A", (rows, width), self.random.choice(self.numbers))
        largest, total, acc = (self.name() for _ in range(3))
        self.line(indent, f"{largest} = ct.full(({rows}, 1), -3, dtype=ct.float32)")
        self.line(indent, f"{total} = ct.full(({rows}, 1), 0, dtype=ct.float32)")
        self.line(indent, f"{acc} = ct.full(({rows}, {width}), 0, dtype=ct.float32)")
        state = Attention(q, largest, total, acc, (rows, width, keys), self.earlier_weights(indent, rows, keys))
        split = self.random.choice(("", "", "n0", "n1"))
        for bounds in (f"0, {split}", f"{split}, {ITERATIONS}") if split else (f"0, {self.trips()}",):
            j = self.name()
            self.line(indent, f"for {j} in range({bounds}):")
            self.enter(j)
            self.attend(indent + "    ", state, j, is_causal=bool(split) and bounds.startswith(split))
            self.leave_loop()
        result = Tile(acc, (rows, width), "float32", 2 * ITERATIONS * keys * SMALL << 5, self.repeats())
        self.store_tile(indent, result)
        if rows <= CELL:
            self.tiles.append(result)
        sums = self.name()
        self.line(indent, f"{sums} = ct.broadcast_to({total}, ({rows}, 16))")
        self.store_tile(indent, Tile(sums, (rows, 16), "float32", result.bound))
        return None

    def earlier_weights(self, indent: str, rows: int, keys: int) -> str | None:
        """A name of weights that an iteration leaves for the next one, in some kernels."""
        if self.random.random() < 0.8:
            return None
        name = self.name()
        zeros = f"ct.full(({rows}, {keys}), 0, dtype=ct.float32)"
        self.line(indent, f"{name} = {zeros}.astype(ct.{self.kind.operand})")
        return name

    def attend(self, indent: str, state: Attention, j: str, is_causal: bool) -> None:
        """One block of keys."""
        rows, width, keys = state.shape
        scores, peak, p, alpha = (self.name() for _ in range(4))
        places = ("values", "weights", "keys", "end")
        exit_place = self.random.choice(places) if self.random.random() < 0.2 else ""
        if exit_place == "keys":
            self.leave_attention(indent)
        k = self.operand(indent, "B", (width, keys), j)
        is_early = state.earlier is not None or self.random.random() < 0.4
        v = self.operand(indent, "B", (keys, width), j) if is_early else ""
        if state.earlier is not None:
            self.line(indent, f"{state.acc} = ct.mma({state.earlier}, {v}, {state.acc})")
        product = f"ct.mma({state.q}, {k}, ct.full(({rows}, {keys}), 0, dtype=ct.float32))"
        self.line(indent, f"{scores} = {self.reduced(product)}")
        if is_causal:
            columns = f"{j} * 16 + ct.arange({keys}, dtype=ct.int32)[None, :]"
            mask = f"ct.arange({rows}, dtype=ct.int32)[:, None] >= {columns}"
            self.line(indent, f"{scores} = ct.where({mask}, {scores}, ct.full(({rows}, {keys}), -3, dtype=ct.float32))")
        self.line(indent, f"{peak} = ct.maximum({state.largest}, ct.max({scores}, 1, keepdims=True))")
        if exit_place == "weights":
            self.leave_attention(indent)
        self.line(indent, f"{p} = ct.exp2({scores} - {peak})")
        self.line(indent, f"{alpha} = ct.exp2({state.largest} - {peak})")
        self.line(indent, f"{state.total} = {state.total} * {alpha} + ct.sum({p}, 1, keepdims=True)")
        self.line(indent, f"{state.acc} = {state.acc} * {alpha}")
        self.line(indent, f"{state.largest} = {peak}")
        if exit_place == "values":
            self.leave_attention(indent)
        if state.earlier is not None:
            self.line(indent, f"{state.earlier} = {p}.astype(ct.{self.kind.operand})")
        else:
            v = v or self.operand(indent, "B", (keys, width), j)
            self.line(indent, f"{state.acc} = ct.mma({p}.astype(ct.{self.kind.operand}), {v}, {state.acc})")
        if exit_place == "end":
            self.leave_attention(indent)

    def leave_attention(self, indent: str) -> None:
        self.line(indent, f"if {self.condition()}:")
        self.line(indent, f"    {self.random.choice(('break', 'continue'))}")

    def epilogue(self, indent: str, tile: Tile) -> None:
        """Bias, a nonlinear function and several stores."""
        rows, columns = tile.shape
        name = self.name()
        bias = f"ct.load(H, ({self.random.randrange(4)}, {self.random.randrange(2)}), (1, {columns}))"
        self.line(indent, f"{name} = ct.maximum({tile.name} + {bias}.astype(ct.{tile.element}), 0)")
        result = Tile(name, tile.shape, tile.element, tile.bound + SMALL, self.repeats())
        for one in (tile, result)[self.random.randrange(2) :]:
            self.store_tile(indent, one)
        if not self.is_integer and self.random.random() < 0.3:
            sums = self.name()
            self.line(indent, f"{sums} = ct.broadcast_to(ct.sum({name}, 1, keepdims=True), ({rows}, 16))")
            self.store_tile(indent, Tile(sums, (rows, 16), "float32", 1 << 20))
        self.tiles.append(result)

    def accumulators(self) -> list[Tile]:
        """Tiles to which the iterations of the current loops can add products."""
        return [
            tile
            for tile in self.tiles
            if tile.element == self.kind.accumulator
            and tile.shape[0] >= 64
            and tile.bound + self.repeats() * CELL * SMALL * SMALL < LIMIT
        ]

    def accumulate(self, indent: str, depth: int) -> None:
        """Another product added to a tile in scope, or the tile changed in place."""
        tile = self.random.choice(self.accumulators())
        kind = self.random.choice(("product", "product", "product", "negate", "small"))
        added = 0
        if kind == "product":
            added = self.add_product(indent, tile, self.random.choice(self.numbers), may_convert=False)
        elif kind == "negate":
            self.line(indent, f"{tile.name} = 0 - {tile.name}")
        else:
            self.line(indent, f"{tile.name} = {self.reduced(tile.name)}")
        times = self.repeats() // tile.repeats
        changed = replace(tile, bound=tile.bound + times * added)
        self.tiles[self.tiles.index(tile)] = changed

    def change(self, indent: str, depth: int) -> None:
        """A tile computed from another one."""
        if not self.tiles:
            return self.load(indent, depth)
        tile, name = self.random.choice(self.tiles), self.name()
        shape, bound = tile.shape, self.bound(tile)
        kind = self.random.randrange(3)
        if kind == 0:
            self.line(indent, f"{name} = ct.permute({tile.name}, (1, 0))")
            shape = shape[1], shape[0]
        elif kind == 1 and not self.is_integer and tile.element == "float32":
            self.line(indent, f"{name} = small({tile.name})")
            bound = SMALL
        else:
            self.line(indent, f"{name} = {tile.name} + {tile.name}")
            bound *= 2
        self.tiles.append(Tile(name, shape, tile.element, bound, self.repeats()))
        return None

    def load(self, indent: str, depth: int) -> None:
        shape, name = (self.random.choice((64, 128)), self.random.choice((16, 32, 64))), self.name()
        self.line(indent, f"{name} = {self.loaded('H', shape)}.astype(ct.{self.kind.accumulator})")
        self.tiles.append(Tile(name, shape, self.kind.accumulator, SMALL, self.repeats()))

    def store(self, indent: str, depth: int) -> None:
        if not self.tiles:
            self.load(indent, depth)
        self.store_tile(indent, self.random.choice(self.tiles[-3:]))

    def store_tile(self, indent: str, tile: Tile) -> None:
        """A store to cells of C that no other store or block writes, nor another iteration of the two inner loops."""
        rows, columns = (max(CELL // extent, 1) for extent in tile.shape)
        # A tile may have the rows of several slots.
        high = max(tile.shape[0] // CELL, 1)
        first = -(-self.slots // high)
        slot, size = str(first), 1
        for counter in self.counters[-2:]:
            slot, size = f"{slot} + {counter} * {size}", size * ITERATIONS
        self.slots = (first + size) * high
        text = f"({slot}) * {rows}" if rows > 1 else slot
        column = f"{self.cell} * {columns}" if columns > 1 else self.cell
        self.line(indent, f"ct.store(C, ({text}, {column}), {tile.name}.astype(C.dtype))")

    def number(self, indent: str, depth: int) -> None:
        name = self.name()
        self.line(indent, f"{name} = ct.load(P, ({self.random.randrange(16)},), ()) % {ITERATIONS}")
        self.numbers.append(name)

    # Control flow.

    def trips(self) -> str:
        """A number of iterations below ITERATIONS: a constant, an argument, a counter, or an element of memory."""
        kind = self.random.choice(("constant", "argument", "argument", "number", "memory"))
        if kind == "constant":
            return str(self.random.randrange(1, ITERATIONS))
        if kind == "memory":
            return f"ct.load(P, ({self.random.randrange(16)},), ()) % {ITERATIONS}"
        return self.random.choice(("n0", "n1")) if kind == "argument" else self.random.choice(self.numbers)

    def condition(self) -> str:
        number = self.random.choice(self.numbers)
        if self.random.random() < 0.3:
            number = f"ct.load(P, (({number}) % 16,), ())"
        return f"{number} {self.random.choice(('% 2 == 0', '% 2 == 1', '> 1', '< 2'))}"

    def repeats(self) -> int:
        return int(ITERATIONS ** len(self.counters))

    def enter(self, counter: str) -> None:
        self.counters.append(counter)
        self.numbers.append(counter)

    def leave_loop(self) -> None:
        self.numbers.remove(self.counters.pop())

    def loop(self, indent: str, depth: int) -> None:
        counter = self.name()
        self.line(indent, f"for {counter} in range({self.trips()}):")
        self.inside(indent + "    ", depth, counter)

    def while_loop(self, indent: str, depth: int) -> None:
        """A loop with a counter of its own; it counts first, so that `continue` does not repeat an iteration."""
        counter, limit, now = self.name(), self.name(), self.name()
        self.line(indent, f"{counter} = 0")
        self.line(indent, f"{limit} = {self.trips()}")
        self.line(indent, f"while {counter} < {limit}:")
        self.line(indent, f"    {now} = {counter}")
        self.line(indent, f"    {counter} = {counter} + 1")
        self.inside(indent + "    ", depth, now)

    def inside(self, indent: str, depth: int, counter: str) -> None:
        saved = self.can_return, self.can_exit
        self.can_return, self.can_exit = False, True
        self.enter(counter)
        self.body(indent, depth - 1, 3)
        self.leave_loop()
        self.can_return, self.can_exit = saved

    def branch(self, indent: str, depth: int) -> None:
        self.line(indent, f"if {self.condition()}:")
        self.body(indent + "    ", depth - 1, 2)
        if self.random.random() < 0.5:
            self.line(indent, "else:")
            self.body(indent + "    ", depth - 1, 2)

    def leave(self, indent: str, depth: int) -> None:
        word = "return" if self.can_return and not self.can_exit else self.random.choice(("break", "continue"))
        self.line(indent, f"if {self.condition()}:")
        self.line(indent, f"    {word}")

    # Text.

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def line(self, indent: str, text: str) -> None:
        self.lines.append(indent + text)
