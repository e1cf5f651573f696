"""Random kernels over slices of arrays, whose starts and stops are loaded, computed or constant.

A block of the grid has a region of each array, and slices of it; the elements outside of all regions are not data: NaN
or large numbers in operands, a number that must stay in the result. Numpy runs the same source, statement by statement.
All values are multiples of 1/32 that every type on their path represents exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from compared_kernels import BLOCKS
from multiply_values import KINDS, Kind
from random_multiplies import HELPERS

# The rows and columns of an array for each block, and the rows between the regions of two blocks.
ROWS, COLUMNS = 160, 144
# The scores of keys outside of a slice; the weights of attention are then at least 2 ** -5.
MASKED = -3
# The heads of arrays of rank 3, of which one is a tile.
HEADS = 2
# The numbers in memory that a block may load as a start, a stop or a length.
NUMBERS = 32


@dataclass(frozen=True)
class Region:
    """The elements of an array that a block uses: rows and columns, each with the first and the end."""

    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True)
class SliceKernel:
    """`source` defines `kernel(A, B, C, P)`; `regions` are those of A, B and C by block, `numbers` those of P."""

    source: str
    kind: Kind
    rank: int
    regions: dict[str, tuple[Region, ...]]
    numbers: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _View:
    """A slice in scope: its array, and its extents in each block."""

    name: str
    array: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def random_slices(seed: int) -> SliceKernel:
    """The kernel of a seed."""
    return _Writer(Random(seed)).kernel()


class _Writer:
    """Writes the statements; the numbers that they load differ between blocks."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.kind = random.choice(KINDS)
        self.is_integer = self.kind.accumulator == "int32"
        # A dimension of one element, which a reshape removes, is between the rows and the columns.
        self.rank = random.choice((2, 2, 3))
        self.lines: list[str] = []
        self.numbers: list[tuple[int, ...]] = []
        self.views: list[_View] = []
        self.count = 0

    def kernel(self) -> SliceKernel:
        self.line("", "def kernel(A, B, C, P):")
        self.line("    ", "block = ct.bid(0)")
        regions = {name: self.regions() for name in ("A", "B", "C")}
        for name, of_blocks in regions.items():
            self.region(name, of_blocks)
        for _ in range(self.random.randint(1, 4)):
            self.slice("    ", self.random.choice(self.views))
        kinds = [self.product, self.product, self.attention, self.elementwise, self.rows, self.row_sums, self.copy]
        kinds += [self.again]
        for _ in range(self.random.randint(1, 4)):
            self.random.choice(kinds)("    ")
        source = HELPERS + "\n".join(self.lines) + "\n"
        return SliceKernel(source, self.kind, self.rank, regions, tuple(self.numbers))

    # Text.

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def line(self, indent: str, text: str) -> None:
        self.lines.append(indent + text)

    # Numbers and slices.

    def regions(self) -> tuple[Region, ...]:
        """Random regions, which are empty in few blocks, and whole in some kernels."""
        whole = self.random.random() < 0.2
        found = []
        for block in range(BLOCKS):
            spans = []
            for extent in (ROWS, COLUMNS):
                step = self.random.choice((1, 1, 8, 16))
                first = 0 if whole else self.random.randrange(0, 33, step)
                least = 0 if self.random.random() < 0.05 else extent // 2
                spans.append((first, extent if whole else self.random.randint(max(first, least), extent)))
            rows, columns = spans
            found.append(Region((rows[0] + block * ROWS, rows[1] + block * ROWS), columns))
        return tuple(found)

    def number(self, values: tuple[int, ...]) -> str:
        """A number that has these values in the blocks."""
        if len(set(values)) == 1 and self.random.random() < 0.3:
            return str(values[0])
        addend = self.random.choice((0, 0, 1, 7))
        if len(self.numbers) == NUMBERS:
            return str(values[0]) if len(set(values)) == 1 else f"({values[0]} + block * {values[1] - values[0]})"
        self.numbers.append(tuple(value + addend for value in values))
        text = f"ct.load(P, (block * {NUMBERS} + {len(self.numbers) - 1},), ())"
        return f"({text} - {addend})" if addend else text

    def region(self, array: str, of_blocks: tuple[Region, ...]) -> None:
        """The slice of an array that a block uses."""
        rows, columns = ([getattr(one, axis) for one in of_blocks] for axis in ("rows", "columns"))
        name = self.name()
        start, stop = self.bounds("    ", rows)
        self.line("    ", f"{name} = {array}.slice(axis=0, start={start}, stop={stop})")
        if any(one != (0, COLUMNS) for one in columns):
            start, stop = self.bounds("    ", columns)
            self.line("    ", f"{name} = {name}.slice(axis={self.rank - 1}, start={start}, stop={stop})")
        extents = (tuple(stop - start for start, stop in one) for one in (rows, columns))
        self.views.append(_View(name, array, *extents))

    def bounds(self, indent: str, spans: list[tuple[int, int]]) -> tuple[str, str]:
        """The text of a start and of a stop, which may be a start and a length."""
        start = self.name()
        self.line(indent, f"{start} = {self.number(tuple(one[0] for one in spans))}")
        if self.random.random() < 0.5:
            return start, f"{start} + {self.number(tuple(one[1] - one[0] for one in spans))}"
        return start, self.number(tuple(one[1] for one in spans))

    def slice(self, indent: str, view: _View) -> _View:
        """A slice of a slice, along rows or columns."""
        axis = self.random.randrange(2)
        extents = (view.rows, view.columns)[axis]
        name = self.name()
        size = f"{view.name}.shape[{axis * (self.rank - 1)}]"
        kind = self.random.choice(("numbers", "numbers", "half", "without last"))
        if kind == "half":
            start, stop = f"{size} // 2", size
            spans = [(extent // 2, extent) for extent in extents]
        elif kind == "without last" and min(extents) > 16:
            start, stop = "0", f"{size} - 9"
            spans = [(0, extent - 9) for extent in extents]
        else:
            spans = []
            for extent in extents:
                first = self.random.randint(0, min(extent, 24))
                spans.append((first, self.random.randint(first, extent)))
            start, stop = self.bounds(indent, spans)
        self.line(indent, f"{name} = {view.name}.slice(axis={axis * (self.rank - 1)}, start={start}, stop={stop})")
        made = tuple(stop - start for start, stop in spans)
        rows, columns = (made, view.columns) if axis == 0 else (view.rows, made)
        self.views.append(_View(name, view.array, rows, columns))
        return self.views[-1]

    def enter(self, indent: str, *arrays: str) -> tuple[str, list[_View]]:
        """Slices of arrays, "A or B" of one of both, and the indent of a statement that needs elements in all."""
        views = []
        for names in arrays:
            view = self.random.choice([view for view in self.views if view.array in names])
            views.append(self.slice(indent, view) if self.random.random() < 0.3 else view)
        empty = [(view, 0) for view in views if 0 in view.rows]
        empty += [(view, self.rank - 1) for view in views if 0 in view.columns]
        if empty:
            conditions = dict.fromkeys(f"{view.name}.shape[{axis}] > 0" for view, axis in empty)
            self.line(indent, f"if {' and '.join(conditions)}:")
            indent += "    "
        return indent, views

    # Accesses.

    def tiles_of(self, *dimensions: tuple[_View, int, int]) -> str:
        """The number of tiles that slices have in common along a dimension each, of an extent each."""
        texts = [f"ct.cdiv({view.name}.shape[{axis * (self.rank - 1)}], {size})" for view, axis, size in dimensions]
        return texts[0] if len(set(texts)) == 1 else f"min({', '.join(texts)})"

    def index(self, view: _View, shape: tuple[int, int]) -> tuple[str, str]:
        """The index of a tile that a slice has in each block in which it is not empty."""
        counts = (
            min([-(-extent // size) for extent in extents if extent], default=1)
            for extents, size in zip((view.rows, view.columns), shape, strict=True)
        )
        row, column = (str(self.random.randrange(min(count, 3))) for count in counts)
        return row, column

    def load(self, view: _View, index: tuple[str, str], shape: tuple[int, int]) -> str:
        """A load of a tile, of elements of the type of the array."""
        hints = self.random.choice(("", "", "", ", latency=2", ", latency=4", ", allow_tma=False", ", allow_tma=True"))
        padding = ", padding_mode=ct.PaddingMode.ZERO" + hints
        if self.rank == 2:
            return f"ct.load({view.name}, ({index[0]}, {index[1]}), {shape}{padding})"
        head = self.random.randrange(HEADS)
        text = f"ct.load({view.name}, ({index[0]}, {head}, {index[1]}), ({shape[0]}, 1, {shape[1]}){padding})"
        return f"{text}.reshape({shape})"

    def store(self, indent: str, view: _View, index: tuple[str, str], tile: str, shape: tuple[int, int]) -> None:
        """A store of a tile, converted to the type of the result."""
        text = f"{tile}.astype(C.dtype)"
        if self.rank == 3:
            text = f"{text}.reshape(({shape[0]}, 1, {shape[1]}))"
            index = index[0], f"{self.random.randrange(HEADS)}, {index[1]}"
        hint = self.random.choice(("", "", "", ", allow_tma=False"))
        self.line(indent, f"ct.store({view.name}, ({index[0]}, {index[1]}), {text}{hint})")

    def operand(self, view: _View, index: tuple[str, str], shape: tuple[int, int], is_transposed: bool) -> str:
        """A load of a tile of the type of operands; index and shape are those of the slice."""
        text = self.load(view, index, shape)
        text = f"ct.permute({text}, (1, 0))" if is_transposed else text
        return text if self.kind.array == self.kind.operand else f"{text}.astype(ct.{self.kind.operand})"

    def reduced(self, text: str) -> str:
        return f"small_integer({text})" if self.is_integer else f"small({text})"

    # Statements.

    def product(self, indent: str) -> None:
        """A product over the tiles of slices along K, in a loop over the rows in some kernels."""
        indent, (left, right, result) = self.enter(indent, "A", "B", "C")
        rows, columns = self.random.choice((64, 64, 128, 128, 256)), self.random.choice((16, 32, 64, 128))
        depth, acc, k, *names = self.random.choice((32, 64, 64, 128)), *(self.name() for _ in range(4))
        flips = [self.random.random() < 0.2 for _ in names]
        pairs = zip(((rows, depth), (depth, columns)), flips, strict=True)
        shapes = [shape[::-1] if flip else shape for shape, flip in pairs]
        # The dimensions of both slices along K.
        along = [1 - flips[0], int(flips[1])]
        at, column = self.index(result, (rows, columns))
        row = self.index(left, shapes[0])[1 - along[0]]
        if self.random.random() < 0.5:
            row = at = self.name()
            count = self.tiles_of((left, 1 - along[0], rows), (result, 0, rows))
            self.line(indent, f"for {row} in range({count}):")
            indent += "    "
        other = self.index(right, shapes[1])[1 - along[1]]
        self.line(indent, f"{acc} = ct.zeros(({rows}, {columns}), dtype=ct.{self.kind.accumulator})")
        self.line(indent, f"for {k} in range({self.tiles_of((left, along[0], depth), (right, along[1], depth))}):")
        for name, view, shape, flip, dimension, fixed in zip(
            names, (left, right), shapes, flips, along, (row, other), strict=True
        ):
            where = (fixed, k) if dimension == 1 else (k, fixed)
            self.line(indent + "    ", f"{name} = {self.operand(view, where, shape, flip)}")
        self.line(indent + "    ", f"{acc} = ct.mma({names[0]}, {names[1]}, {acc})")
        if self.random.random() < 0.4:
            self.line(indent, f"{acc} = {self.reduced(acc)}")
        self.store(indent, result, (at, column), acc, (rows, columns))

    def attention(self, indent: str) -> None:
        """Attention of powers of two over the keys and values of slices, with the keys after them masked."""
        if self.is_integer:
            return self.product(indent)
        indent, (queries, keys, values, result, other) = self.enter(indent, "A", "B", "AB", "C", "C")
        rows, width, step = self.random.choice((64, 128)), self.random.choice((32, 64)), self.random.choice((32, 64))
        q, acc, peak, total, j, k, v, s, p, alpha, last = (self.name() for _ in range(11))
        self.line(indent, f"{q} = {self.operand(queries, self.index(queries, (rows, width)), (rows, width), False)}")
        self.line(indent, f"{acc} = ct.zeros(({rows}, {width}), dtype=ct.float32)")
        self.line(indent, f"{total} = ct.zeros(({rows}, 1), dtype=ct.float32)")
        self.line(indent, f"{peak} = ct.full(({rows}, 1), {MASKED}, dtype=ct.float32)")
        self.line(indent, f"for {j} in range({self.tiles_of((keys, 0, step), (values, 0, step))}):")
        inside = indent + "    "
        column = self.index(keys, (step, width))[1]
        self.line(inside, f"{k} = {self.operand(keys, (j, column), (step, width), True)}")
        product = f"ct.mma({q}, {k}, ct.zeros(({rows}, {step}), dtype=ct.float32))"
        self.line(inside, f"{s} = {self.reduced(product)}")
        if self.random.random() < 0.7:
            columns = f"{j} * {step} + ct.arange({step}, dtype=ct.int32)[None, :]"
            is_key = f"ct.broadcast_to({columns}, ({rows}, {step})) < {keys.name}.shape[0]"
            masked = f"ct.full(({rows}, {step}), {MASKED}, dtype=ct.float32)"
            self.line(inside, f"{s} = ct.where({is_key}, {s}, {masked})")
        self.line(inside, f"{last} = ct.maximum({peak}, ct.max({s}, 1, keepdims=True))")
        flush = self.random.choice(("", ", flush_to_zero=True"))
        self.line(inside, f"{p} = ct.exp2({s} - {last}{flush})")
        self.line(inside, f"{alpha} = ct.exp2({peak} - {last}{flush})")
        self.line(inside, f"{total} = {total} * {alpha} + ct.sum({p}, 1, keepdims=True)")
        column = self.index(values, (step, width))[1]
        self.line(inside, f"{v} = {self.operand(values, (j, column), (step, width), False)}")
        self.line(inside, f"{acc} = ct.mma({p}.astype(ct.{self.kind.operand}), {v}, {acc} * {alpha})")
        self.line(inside, f"{peak} = {last}")
        self.store(indent, result, self.index(result, (rows, width)), acc, (rows, width))
        sums = f"ct.broadcast_to({total}, ({rows}, 16))"
        self.store(indent, other, self.index(other, (rows, 16)), sums, (rows, 16))
        return None

    def shape(self) -> tuple[int, int]:
        return self.random.choice((1, 4, 16, 64)), self.random.choice((1, 8, 16, 64))

    def elementwise(self, indent: str) -> None:
        """A result of two tiles."""
        indent, (left, right, result) = self.enter(indent, "AB", "AB", "C")
        shape, name, tiles = self.shape(), self.name(), []
        for view in (left, right):
            tiles.append(self.name())
            text = self.load(view, self.index(view, shape), shape)
            self.line(indent, f"{tiles[-1]} = {text}.astype(ct.{self.kind.accumulator})")
        first, second = tiles
        combined = (f"{first} + {second}", f"ct.maximum({first}, {second}) - 1", f"{first} * {second}")
        self.line(indent, f"{name} = {self.random.choice(combined)}")
        self.store(indent, result, self.index(result, shape), name, shape)

    def rows(self, indent: str) -> None:
        """A loop over the tiles of a slice, which are stored in another one."""
        indent, (source, result) = self.enter(indent, "AB", "C")
        shape = self.random.choice((16, 64)), self.random.choice((16, 64))
        i, j, name = self.name(), self.name(), self.name()
        for counter, axis in ((i, 0), (j, 1)):
            count = self.tiles_of((source, axis, shape[axis]), (result, axis, shape[axis]))
            self.line(indent, f"for {counter} in range({count}):")
            indent += "    "
        self.line(indent, f"{name} = {self.load(source, (i, j), shape)}.astype(ct.{self.kind.accumulator}) + 1")
        self.store(indent, result, (i, j), name, shape)

    def row_sums(self, indent: str) -> None:
        """The sums or maxima of rows of a slice, accumulated over its columns."""
        indent, (source, result) = self.enter(indent, "AB", "C")
        shape = self.random.choice((16, 64)), self.random.choice((16, 64))
        total, k, part = self.name(), self.name(), self.name()
        self.line(indent, f"{total} = ct.zeros(({shape[0]}, 1), dtype=ct.{self.kind.accumulator})")
        self.line(indent, f"for {k} in range({self.tiles_of((source, 1, shape[1]))}):")
        text = self.load(source, (self.index(source, shape)[0], k), shape)
        self.line(indent + "    ", f"{part} = {text}.astype(ct.{self.kind.accumulator})")
        added = self.random.choice(("ct.sum({}, 1, keepdims=True)", "ct.max({}, 1, keepdims=True)")).format(part)
        self.line(indent + "    ", f"{total} = {total} + {added}")
        self.store(indent, result, self.index(result, (shape[0], 1)), total, (shape[0], 1))

    def copy(self, indent: str) -> None:
        """A tile as it is, which TMA may load and store."""
        indent, (source, result) = self.enter(indent, "AB", "C")
        shape, name = self.random.choice(((16, 16), (64, 64), (128, 32))), self.name()
        self.line(indent, f"{name} = {self.load(source, self.index(source, shape), shape)}")
        self.store(indent, result, self.index(result, shape), name, shape)

    def again(self, indent: str) -> None:
        """A part of the result that is loaded and stored again, after the stores before it."""
        indent, (source, result) = self.enter(indent, "C", "C")
        shape, name = self.random.choice(((16, 16), (64, 64), (64, 1))), self.name()
        text = self.load(source, self.index(source, shape), shape)
        self.line(indent, f"{name} = {self.reduced(text)}")
        self.store(indent, result, self.index(result, shape), name, shape)
