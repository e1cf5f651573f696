"""Programs as lists of steps; each step can be printed as Tile IR and executed with numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from elements import ELEMENTS

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Value:
    """An SSA value; a float with a `bound` is an integer of at most this magnitude."""

    name: str
    element: str
    shape: Shape
    bound: int | None = None

    @property
    def type(self) -> str:
        return tile_type(self.element, self.shape)


def larger_bound(left: Value, right: Value) -> int | None:
    """The bound of a value whose elements are elements of two other values."""
    return None if left.bound is None or right.bound is None else max(left.bound, right.bound)


class Environment:
    """The state of a tile block: values by name, the arrays of the parameters, and the number of the block."""

    def __init__(self, memory: dict[str, np.ndarray], block: int) -> None:
        self.values: dict[str, np.ndarray] = {}
        self.memory = memory
        self.block = block

    def __getitem__(self, value: Value) -> np.ndarray:
        return self.values[value.name]

    def __setitem__(self, value: Value, array: np.ndarray) -> None:
        dtype = ELEMENTS[value.element].dtype
        assert array.shape == value.shape and array.dtype == dtype, (value, array.shape, array.dtype)
        self.values[value.name] = array


class EarlyExit(Exception):
    """A `break`, `continue` or `return` below an `if`, with its operands."""

    def __init__(self, kind: str, arrays: list[np.ndarray]) -> None:
        super().__init__(kind)
        self.kind, self.arrays = kind, arrays


@dataclass(eq=False)
class Step:
    """An operation without regions: its text, and its effect on an environment."""

    text: str
    run: Callable[[Environment], None]
    results: Sequence[Value] = ()
    operands: Sequence[Value] = ()
    effect: bool = False

    def lines(self, indent: str) -> list[str]:
        return [f"{indent}{line}" for line in self.text.split("\n")]

    def blocks(self) -> Sequence[Block]:
        return ()


@dataclass(eq=False)
class Block:
    """The steps of a region and its terminator."""

    steps: list[Step] = field(default_factory=list)
    end: str = "yield"
    operands: list[Value] = field(default_factory=list)

    def lines(self, indent: str) -> list[str]:
        return [line for step in self.steps for line in step.lines(indent)] + [f"{indent}{self._end()}"]

    def _end(self) -> str:
        if not self.operands:
            return self.end
        names = ", ".join(value.name for value in self.operands)
        return f"{self.end} {names} : {', '.join(value.type for value in self.operands)}"

    def run(self, environment: Environment) -> list[np.ndarray]:
        for step in self.steps:
            step.run(environment)
        arrays = [environment[value] for value in self.operands]
        if self.leaves:
            raise EarlyExit(self.end, arrays)
        return arrays

    # Whether the terminator exits a loop or the entry that contains the `if` of the block.
    leaves: bool = False


class Region(Step):
    """A step with blocks; `head` and `between` are the text around the blocks."""

    def __init__(
        self,
        head: str,
        inner: Sequence[Block],
        run: Callable[[Environment], None],
        results: Sequence[Value],
        operands: Sequence[Value],
        effect: bool,
        between: str = "",
    ) -> None:
        super().__init__(head, run, results, operands, effect)
        self._inner, self._between = list(inner), between

    def lines(self, indent: str) -> list[str]:
        lines = [f"{indent}{self.text} {{"]
        for number, block in enumerate(self._inner):
            if number:
                lines.append(f"{indent}}} {self._between} {{")
            lines += block.lines(indent + "  ")
        return [*lines, f"{indent}}}"]

    def blocks(self) -> Sequence[Block]:
        return self._inner


@dataclass
class Parameter:
    """An entry parameter: a pointer to an array, or a number; the final values of outputs are compared."""

    name: str
    type: str
    value: np.ndarray | int
    output: bool = False


@dataclass
class Program:
    """An entry with its arguments and the hints of the lowering."""

    parameters: list[Parameter]
    body: Block
    grid: int
    hints: dict[str, bool | int]
    # Whether the program sums floats: the sign of a zero sum depends on the order and the identity.
    sums: bool = False
    # The passes over tile_gpu that are left out.
    without: tuple[str, ...] = ()

    def text(self) -> str:
        parameters = ", ".join(f"{parameter.name}: {parameter.type}" for parameter in self.parameters)
        lines = [f"  entry @k({parameters}) {{", *self.body.lines("    "), "  }"]
        return "\n".join(["cuda_tile.module @m {", *lines, "}", ""])

    def arguments(self) -> list[np.ndarray | int]:
        """New arguments for one run; arrays begin at multiples of 256 bytes, like arrays on a device."""
        return [p.value if isinstance(p.value, int) else aligned(p.value) for p in self.parameters]

    def outputs(self, arguments: Sequence[np.ndarray | int]) -> dict[str, np.ndarray]:
        pairs = zip(self.parameters, arguments, strict=True)
        return {p.name: value for p, value in pairs if p.output and isinstance(value, np.ndarray)}

    def expected(self) -> dict[str, np.ndarray]:
        """The outputs computed by numpy."""
        arguments = self.arguments()
        names = [parameter.name for parameter in self.parameters]
        memory = {name: np.asarray(value) for name, value in zip(names, arguments, strict=True)}
        with np.errstate(all="ignore"):
            for block in range(self.grid):
                with suppress(EarlyExit):
                    self.body.run(Environment(memory, block))
        return self.outputs(arguments)


def aligned(array: np.ndarray) -> np.ndarray:
    """A row-major copy at a multiple of 256 bytes."""
    raw = np.zeros(array.nbytes + 256, np.uint8)
    start = -raw.ctypes.data % 256
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def tile_type(element: str, shape: Shape = ()) -> str:
    return f"tile<{''.join(f'{extent}x' for extent in shape)}{element}>"


def every_block(block: Block) -> Iterator[Block]:
    """The block and all blocks inside it."""
    yield block
    for step in block.steps:
        for inner in step.blocks():
            yield from every_block(inner)
