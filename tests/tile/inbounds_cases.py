"""Random loops over views: their text, and every accessed index as Python integers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Environment = dict[str, int]
Value = Callable[[Environment], int]

# Loops with more iterations do not test additional cases and are skipped.
MAXIMUM_ITERATIONS = 60
# The largest signed 32-bit integer plus one.
_HALF = 1 << 31


def wrapped(number: int) -> int:
    """The number modulo 2**32, as a signed integer."""
    return (number + _HALF) % (1 << 32) - _HALF


class TooManyIterations(Exception):
    """Raised for arguments with too many iterations to enumerate."""


@dataclass
class Argument:
    """A scalar argument of the kernel: its assumptions, and numbers that satisfy them."""

    name: str
    assumptions: list[str]
    numbers: list[int]


@dataclass
class Loop:
    name: str
    lower: str
    upper: str
    step: str
    unsigned: bool


@dataclass
class Case:
    """One access of a tile inside of loops."""

    random: random.Random
    arguments: list[Argument] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    extents: list[str] = field(default_factory=list)
    index: list[str] = field(default_factory=list)
    tile: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    dim_map: list[int] = field(default_factory=list)
    view: str = ""

    def define(self, text: str, value: Value, lines: list[str] | None = None) -> str:
        """Adds an operation that defines a 32-bit value; `value` computes its number."""
        name = f"%v{len(self.values)}"
        (self.lines if lines is None else lines).append(f"{name} = {text}")
        self.values[name] = value
        return name

    def constant(self, number: int, lines: list[str] | None = None) -> str:
        return self.define(f"constant <i32: {number}> : tile<i32>", lambda _: number, lines)

    def argument(self, small: bool) -> str:
        """Adds a scalar argument, with or without assumptions."""
        least = self.random.choice([0, 0, 1, 8, 20]) if self.random.random() < 0.85 else None
        most = self.random.choice([8, 24, 40]) if self.random.random() < 0.3 else None
        divisor = self.random.choice([1, 1, 2, 4, 8])
        assumptions, name = [], f"%a{len(self.arguments)}"
        if least is not None:
            assumptions.append(f"bounded<{least}, {'?' if most is None else max(least, most)}>")
        if divisor > 1:
            assumptions.append(f"div_by<{divisor}>")
        top = 64 if small else _HALF - 1
        low, high = (-9 if least is None else least), (top if most is None else max(least or 0, most))
        numbers = [number for number in (*range(low, min(high, low + 40) + 1), high) if number % divisor == 0]
        self.random.shuffle(assumptions)
        self.arguments.append(Argument(name, assumptions, numbers or [0 if divisor > 1 and low <= 0 else -1]))
        value = name
        self.values[name] = lambda environment: environment[name]
        for assumption in assumptions:
            value = self.define(f"assume {assumption}, {value} : tile<i32>", self.values[name])
        return value

    def tensor(self, rank: int) -> None:
        """Adds a view of a tensor, of any kind, with static and dynamic extents."""
        kind = self.random.choice(["partition", "partition", "strided"])
        self.dim_map = self.random.sample(range(rank), rank)
        self.tile = [self.random.choice([1, 2, 4, 8]) for _ in range(rank)]
        self.steps = [self.random.choice([size, 1, 3, 2 * size]) for size in self.tile]
        self.steps = self.tile if kind == "partition" else self.steps
        known = [self.random.choice([None, None, 1, 7, 8, 12, 16]) for _ in range(rank)]
        shape_operands = [self.argument(small=True) if extent is None else str(extent) for extent in known]
        self.extents = [
            value if extent is None else self.constant(extent)
            for value, extent in zip(shape_operands, known, strict=True)
        ]
        strides = [64, 1][-rank:]
        shape = "x".join("?" if extent is None else str(extent) for extent in known)
        tensor = f"tensor_view<{shape}xf32, strides={strides}>"
        types = " : tile<i32> -> " if None in known else " : "
        shapes = f"shape = [{', '.join(shape_operands)}], strides = {strides}"
        self.lines.append(f"%tensor = make_tensor_view %p, {shapes}{types}{tensor}")
        traversal_strides = f"traversal_strides={self.steps}, " if kind == "strided" else ""
        size = "x".join(map(str, self.tile))
        self.view = f"{kind}_view<tile=({size}), {traversal_strides}{tensor}, dim_map={self.dim_map}>"
        self.lines.append(f"%view = make_{kind}_view %tensor : {self.view}")

    def tiles(self) -> list[str]:
        """The index space: the number of tiles that begin inside the tensor along each dimension of the view."""
        first, rank = f"%v{len(self.values)}", len(self.tile)
        results, names = (first, [first]) if rank == 1 else (f"{first}:2", [f"{first}#0", f"{first}#1"])
        for k, name in enumerate(names):
            self.values[name] = self._tiles(self.extents[self.dim_map[k]], self.steps[k])
        self.lines.append(f"{results} = get_index_space_shape %view : {self.view} -> tile<i32>")
        return names

    def _tiles(self, extent: str, step: int) -> Value:
        number = self.values[extent]
        return lambda environment: wrapped(-(-(number(environment) % (1 << 32)) // step))

    def bound(self) -> str:
        """The upper bound of a loop."""
        kind = self.random.choice([*["tiles", "quotient"] * 3, "number", "argument", "more"])
        k = self.random.randrange(len(self.tile))
        if kind == "number":
            return self.constant(self.random.choice([0, 1, 2, 3, 4]))
        if kind == "argument":
            return self.argument(small=False)
        if kind == "quotient":
            return self.quotient(self.extents[self.dim_map[k]], self.random.choice([self.steps[k], 4]))
        tiles = self.tiles()[k]
        return tiles if kind == "tiles" else self.sum(tiles, self.constant(1))

    def quotient(self, value: str, divisor: int) -> str:
        rounding = self.random.choice(["", " rounding<positive_inf>", " rounding<negative_inf>"])
        number = self.values[value]

        def divided(environment: Environment) -> int:
            dividend = number(environment)
            if "positive" in rounding:
                return -(-dividend // divisor)
            return dividend // divisor if "negative" in rounding or dividend >= 0 else -(-dividend // divisor)

        return self.define(f"divi {value}, {self.constant(divisor)} signed{rounding} : tile<i32>", divided)

    def sum(self, a: str, b: str, lines: list[str] | None = None, sign: int = 1) -> str:
        x, y = self.values[a], self.values[b]
        name = "addi" if sign > 0 else "subi"
        return self.define(f"{name} {a}, {b} : tile<i32>", lambda e: wrapped(x(e) + sign * y(e)), lines)

    def loop(self) -> None:
        is_constant = self.random.random() < 0.9
        lower = self.constant(self.random.choice([0, 0, 0, 1, -1])) if is_constant else self.argument(small=False)
        step = self.constant(self.random.choice([1, 1, 2, 5]))
        loop = Loop(f"%i{len(self.loops)}", lower, self.bound(), step, self.random.random() < 0.15)
        self.values[loop.name] = lambda environment: environment[loop.name]
        self.loops.append(loop)

    def pick_index(self) -> str:
        """An induction variable, or a value computed from one."""
        choice = self.random.random()
        value = self.random.choice(self.loops).name if self.loops and choice < 0.9 else self.argument(small=True)
        if choice > 0.55 and self.loops:
            other = self.random.choice([*(each.name for each in self.loops), self.constant(1)])
            value = self.sum(value, other, self.inner, self.random.choice([1, -1]))
        if choice > 0.75:
            factor = self.random.choice([2, 1 << 30])
            number = self.values[value]
            factor_constant = self.constant(factor, self.inner)
            value = self.define(
                f"muli {value}, {factor_constant} : tile<i32>", lambda e: wrapped(number(e) * factor), self.inner
            )
        return value

    def text(self) -> str:
        parameters = ", ".join(["%p: tile<ptr<f32>>", *(f"{each.name}: tile<i32>" for each in self.arguments)])
        loop_headers = "".join(
            f"for {'unsigned ' * each.unsigned}{each.name} in ({each.lower} to {each.upper}, step {each.step})"
            " : tile<i32> {\n"
            for each in self.loops
        )
        tile = f"tile<{'x'.join(map(str, self.tile))}xf32>"
        access = f"%x, %y = load_view_tko weak %view[{', '.join(self.index)}] : {self.view}, tile<i32> -> {tile}, token"
        body = "\n".join([*self.lines, loop_headers, *self.inner, access, "}" * len(self.loops)])
        return f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\n}} }}"

    def accesses(self, environment: Environment, depth: int = 0) -> Iterator[list[bool]]:
        """Whether the tile is inside the tensor, for every access of a run and every dimension of the view."""
        if depth == len(self.loops):
            yield [self._is_inside(environment, k) for k in range(len(self.tile))]
            return
        loop = self.loops[depth]
        lower, upper, step = (self.values[name](environment) for name in (loop.lower, loop.upper, loop.step))
        if loop.unsigned:
            lower, upper = lower % (1 << 32), upper % (1 << 32)
        iterations = range(lower, upper, step)
        if upper - lower > MAXIMUM_ITERATIONS * step:
            raise TooManyIterations
        for number in iterations:
            yield from self.accesses({**environment, loop.name: wrapped(number)}, depth + 1)

    def _is_inside(self, environment: Environment, k: int) -> bool:
        """Whether the tile is inside the tensor in a dimension; indices and extents are unsigned."""
        index = self.values[self.index[k]](environment) % (1 << 32)
        extent = self.values[self.extents[self.dim_map[k]]](environment) % (1 << 32)
        return index * self.steps[k] + self.tile[k] <= extent

    def environments(self, count: int) -> Iterator[Environment]:
        """Numbers of the arguments that satisfy all assumptions."""
        for _ in range(count):
            yield {each.name: self.random.choice(each.numbers) for each in self.arguments}


def random_case(seed: int) -> Case:
    """Zero to two loops over a view of one or two dimensions."""
    case = Case(random.Random(seed))
    rank = case.random.choice([1, 1, 2])
    case.tensor(rank)
    for _ in range(case.random.choice([0, 1, 1, 1, 2])):
        case.loop()
    case.index = [case.pick_index() for _ in range(rank)]
    return case
