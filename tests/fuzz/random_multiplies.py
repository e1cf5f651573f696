"""Random kernels in Python with chains of matrix multiplies, attention-like loops and accumulators in control flow.

Numpy runs the same source, statement by statement. All values are multiples of 1/32 that every type on their path
represents exactly, so results are compared bit for bit. Loop bounds and conditions are constants, arguments or elements
of memory. Every store of an iteration has elements of its own, so that an iteration that is wrong is seen at the end;
some stores of persistent tiles follow those of the tiles before, in the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from multiply_values import BLOCKS, EXTENT, ITERATIONS, LARGEST, LIMIT, SMALL, TILES, Kind, Tile
from random_attention import AttentionWriter

# Helpers of the kernels; the results are integers of at most SMALL that depend on all low bits of the tile.
HELPERS = """\
def small(tile):
    return ct.floor(tile) - ct.floor(tile * 0.25) * 4 - 1


def small_integer(tile):
    return (tile & 3) - 1


"""


@dataclass(frozen=True)
class MultiplyKernel:
    """`source` defines `kernel(A, B, H, P, D, C, n0, n1)`; C has `slots` rows and `cells` columns of cells.

    A, B, H and C lack their last `missing` rows and columns.
    """

    source: str
    kind: Kind
    slots: int
    cells: int
    missing: tuple[int, int]


def random_multiplies(seed: int) -> MultiplyKernel:
    """The kernel of a seed."""
    return _Writer(Random(seed)).kernel()


class _Writer(AttentionWriter):
    """Writes the statements of a kernel."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        # Where `return`, and `break` or `continue`, may stand.
        self.can_return, self.can_exit = True, False

    def kernel(self) -> MultiplyKernel:
        self.line("", "def kernel(A, B, H, P, D, C, n0: int, n1: int):")
        self.line("    ", "block = ct.bid(0)")
        indent, cells, order = "    ", BLOCKS, ""
        kind = self.random.choice(("once",) * 7 + ("strided", "tiles", "attention") * 2 + ("counted",))
        if kind == "strided":
            self.line(indent, f"for t in range(block, {self.random.choice(('3', 'n0 + 1'))}, ct.num_blocks(0)):")
        elif kind == "tiles":
            most = self.random.choice((str(TILES), "2 * n0 + 1", "n1"))
            self.line(indent, f"for t in range(block, {most}, ct.num_blocks(0)):")
        elif kind == "counted":
            # The block that is first takes the next tile.
            order = self.random.choice(("", ", memory_order=ct.MemoryOrder.RELAXED"))
            self.line(indent, f"t = ct.atomic_add(D, 0, 1{order})")
            self.line(indent, f"while t < {self.random.choice(('3', 'n0 + 1'))}:")
        if kind not in ("once", "attention"):
            cells = TILES if kind == "tiles" else ITERATIONS
            indent, self.cell, self.can_return = "        ", "t", False
            self.numbers.append("t")
        if kind == "attention" and not self.is_integer:
            self.write_attention(indent, is_alone=True)
        elif kind in ("tiles", "attention"):
            self.tile_of_product(indent)
        else:
            self.body(indent, self.random.choice((1, 2, 2)), self.random.choice((2, 3, 5)))
        if kind == "counted":
            self.line(indent, f"t = ct.atomic_add(D, 0, 1{order})")
        source = HELPERS + "\n".join(self.lines) + "\n"
        return MultiplyKernel(source, self.kind, max(self.slots, 1), cells * self.cell_width, self.missing)

    # Statements.

    def body(self, indent: str, depth: int, most: int) -> None:
        """Statements, the last of which stores a tile; definitions in the body are not visible after it."""
        tiles, numbers, repeats = list(self.tiles), list(self.numbers), self.body_repeats
        self.body_repeats = self.repeats()
        for _ in range(self.random.randint(1, most)):
            kinds: list[Callable[[str, int], None]] = [self.multiply] * 3 + [self.multiply_together]
            kinds += [self.attention, self.change, self.load, self.store, self.number]
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
        rows = self.random.choice((64, 64, 64, 128, 128, 256, self.random.choice((8, 16, 32))))
        acc = self.start(indent, (rows, self.random.choice((16, 32, 64, 64, 128, 128, 256 if rows < 256 else 64))))
        if self.random.random() < 0.7:
            counter, repeats = self.name(), self.repeats()
            self.line(indent, f"for {counter} in range({self.random.choice(('0', '0', '1'))}, {self.trips()}):")
            self.enter(counter)
            inside, number = self.unrolled(indent + "    ", counter)
            products = self.random.choice((1, 1, 1, 2))
            times = self.repeats() // repeats
            added = times * sum(self.add_product(inside, acc, number) for _ in range(products))
            if self.random.random() < 0.15:
                self.store_tile(inside, acc)
            self.leave_loops(number, counter)
        else:
            added = self.add_product(indent, acc, self.random.choice(self.numbers))
        result = replace(acc, bound=SMALL + added)
        self.keep(result)
        if self.random.random() < 0.5:
            self.epilogue(indent, result)

    def tile_of_product(self, indent: str) -> None:
        """A product over K and its epilogue: nothing else multiplies, and little is before the loop over K."""
        rows = self.random.choice((64, 64, 128, 128, 256))
        acc, counter = self.start(indent, (rows, self.random.choice((32, 64, 128)))), self.name()
        if self.random.random() < 0.1:
            self.store(indent, 0)
        start, end = self.random.choice(("0", "0", "n1")), self.random.choice(("n0", "n1 + 1", str(ITERATIONS - 1)))
        self.line(indent, f"for {counter} in range({start}, {end}):")
        repeats = self.repeats()
        self.enter(counter)
        inside, number = self.unrolled(indent + "    ", counter)
        times = self.repeats() // repeats
        depth = self.random.choice((32, 64, 64, 128))
        left, right = self.loaded("A", (rows, depth), number), self.loaded("B", (depth, acc.shape[1]), number)
        element = f".astype(ct.{self.kind.operand})" if self.kind.array != self.kind.operand else ""
        result = replace(acc, bound=SMALL + times * depth * SMALL * SMALL)
        sums = acc.name
        if not self.is_integer and times == ITERATIONS and self.random.random() < 0.2:
            # The elements are multiples of a 16th, as a loop has two iterations at most.
            sums, result = f"{sums} * 2.0**-{self.random.choice((1, 2))}", replace(result, bound=result.bound * 16)
        self.line(inside, f"{acc.name} = ct.mma({left}{element}, {right}{element}, {sums})")
        self.leave_loops(number, counter)
        self.keep(result)
        self.epilogue(indent, result)
        for _ in range(self.random.randrange(3)):
            self.random.choice((self.change, self.load, self.store))(indent, 0)
        if self.random.random() < 0.3:
            # Each tile of a block is stored in one place: the last one stays.
            self.cell = "block"
            self.store(indent, 0)

    def unrolled(self, indent: str, counter: str) -> tuple[str, str]:
        """The indent and the number of the step of a body, which some loops unroll."""
        if self.random.random() < 0.75:
            return indent, counter
        step = self.name()
        self.line(indent, f"for {step} in ct.static_iter(range({self.random.choice((1, 2, 2, ITERATIONS))})):")
        self.enter(step)
        return indent + "    ", f"({counter} + {step})"

    def leave_loops(self, number: str, counter: str) -> None:
        """Leaves a loop, and the one inside that `unrolled` has written for its number."""
        if number != counter:
            self.leave_loop()
        self.leave_loop()

    def multiply_together(self, indent: str, depth: int) -> None:
        """Two or three products over the same tiles of K, which usually have an operand in common."""
        rows, size = self.random.choice((64, 64, 128)), self.random.choice((32, 32, 64, 64, 256))
        number = self.random.choice((2, 2, 3))
        accs = [self.start(indent, (rows, self.random.choice((32, 64, 64, 128)))) for _ in range(number)]
        counter = self.name()
        self.line(indent, f"for {counter} in range({self.trips()}):")
        self.enter(counter)
        inside = indent + "    "
        left = self.operand(inside, "A", (rows, size), counter)
        for acc in accs:
            if self.random.random() < 0.2:
                left = self.operand(inside, "A", (rows, size), counter)
            right = self.operand(inside, "B", (size, acc.shape[1]), counter)
            self.line(inside, f"{acc.name} = ct.mma({left}, {right}, {acc.name})")
        self.leave_loop()
        results = [replace(acc, bound=SMALL + ITERATIONS * size * SMALL * SMALL) for acc in accs]
        for result in results:
            self.keep(result)
        first, second = results[:2]
        if first.shape == second.shape and self.random.random() < 0.5:
            # A gated linear unit.
            name = self.name()
            self.line(indent, f"{name} = {first.name} * {self.reduced(second.name)}")
            self.keep(replace(first, name=name, bound=first.bound * SMALL))
        self.store_tile(indent, self.random.choice(results))

    def keep(self, tile: Tile) -> None:
        """Further statements may use a tile unless it is so large that most of them could not."""
        if tile.elements <= LARGEST // 2:
            self.tiles.append(tile)

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
        if self.random.random() < 0.15:
            # The deeper ones are divided if little shared memory is left.
            depth = self.random.choice((128, 256))
        elif 32 <= rows <= 128 and self.random.random() < 0.2:
            depth = rows
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

    def attention(self, indent: str, depth: int) -> None:
        if self.is_integer:
            self.multiply(indent, depth)
        else:
            self.write_attention(indent)

    def epilogue(self, indent: str, tile: Tile) -> None:
        """Bias, a nonlinear function and several stores."""
        rows, columns = tile.shape
        name = self.name()
        column = self.random.randrange(min(EXTENT // columns, 2))
        bias = f"ct.load(H, ({self.random.randrange(4)}, {column}), (1, {columns}){self.padding})"
        self.line(indent, f"{name} = ct.maximum({tile.name} + {bias}.astype(ct.{tile.element}), 0)")
        result = Tile(name, tile.shape, tile.element, tile.bound + SMALL, self.repeats())
        for one in (tile, result)[self.random.randrange(2) :]:
            self.store_tile(indent, one)
        if not self.is_integer and self.random.random() < 0.3:
            sums = self.name()
            self.line(indent, f"{sums} = ct.broadcast_to(ct.sum({name}, 1, keepdims=True), ({rows}, 16))")
            self.store_tile(indent, Tile(sums, (rows, 16), "float32", 1 << 20))
        self.keep(result)

    def accumulators(self) -> list[Tile]:
        """Tiles to which the iterations of the current loops can add products."""
        return [
            tile
            for tile in self.tiles
            if tile.element == self.kind.accumulator
            and tile.shape[0] >= 64
            and tile.bound + self.repeats() * EXTENT * SMALL * SMALL < LIMIT
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

    def number(self, indent: str, depth: int) -> None:
        """A number from memory, or of a tile that threads compute."""
        name = self.name()
        text = f"ct.load(P, ({self.random.randrange(16)},), ())"
        if self.tiles and self.random.random() < 0.4:
            text = f"(ct.max({self.reduced(self.random.choice(self.tiles).name)}).astype(ct.int32) + 1)"
        self.line(indent, f"{name} = {text} % {ITERATIONS}")
        self.numbers.append(name)

    # Control flow.

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
