"""What an expression of a kernel can be while it is compiled.

Numbers, None, strings, element types, enumerations, functions, modules and tuples are the Python objects themselves:
they are known while compiling, and a Python number takes its type from what it meets. The classes below are the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tilec.ast_to_tile.constant_value import stored
from tilec.ast_to_tile.source import Definition
from tilec.dialect.mlir import ir
from tilec.errors import Note
from tilec.language.datatypes import DType, foreign_dtype
from tilec.language.modes import PaddingMode

if TYPE_CHECKING:
    from tilec.ast_to_tile.frame import Frame

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Tile:
    """A value at run time; a scalar has shape ()."""

    value: ir.Value
    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        return describe_tile(self.dtype, self.shape)


@dataclass(frozen=True)
class TypedConstant:
    """A scalar known while compiling whose type is fixed: `ct.int16(5)`; `value` is always one that the type has."""

    value: bool | int | float
    dtype: DType

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", stored(self.value, self.dtype))


@dataclass(frozen=True, eq=False)
class Array:
    """An array argument, or a slice of one; extents and strides that are known are integers."""

    name: str
    dtype: DType
    pointer: ir.Value
    shape: tuple[Tile | int, ...]
    strides: tuple[Tile | int, ...]
    tensor_view: ir.Value
    views: dict[Any, ir.Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"array '{self.name}' of {self.dtype}, rank {len(self.shape)}"


@dataclass(frozen=True, eq=False)
class TiledView:
    """`Array.tiled_view`; the view operation is made at the first access."""

    array: Array
    tile_shape: Shape
    traversal_steps: Shape
    padding_mode: PaddingMode


@dataclass(frozen=True)
class Range:
    """`range(start, stop, step)` with bounds of one integer type, known or not."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True, eq=False)
class Method:
    """`value.name`, to be called."""

    receiver: Any
    function: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A lambda or a function defined inside a kernel."""

    node: Definition
    frame: Frame


@dataclass(frozen=True)
class Text:
    """An f-string with values of run time: pieces of text, and tiles each with what follows its colon."""

    pieces: tuple[str | tuple[Tile, str], ...]


@dataclass(frozen=True)
class Unusable:
    """A name that has no single value here; `problem` is the error if it is used all the same."""

    problem: str
    notes: tuple[Note, ...] = ()


Number = bool | int | float


def plain(value: Any) -> Any:
    """A value from outside of the kernel as kernels know it: numbers and element types of numpy and torch as ours."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    return foreign_dtype(value) or value


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def is_tile_like(value: Any) -> bool:
    """Whether the value can stand where a tile is wanted."""
    return isinstance(value, Tile | TypedConstant) or is_number(value)


def describe_tile(dtype: DType, shape: Shape) -> str:
    article = "an" if dtype.name.startswith("int") else "a"
    return f"{article} {dtype} tile of shape {shape}" if shape else f"{article} {dtype} scalar"


def describe(value: Any) -> str:
    """The value as an error message calls it."""
    if isinstance(value, Tile | Array):
        return str(value)
    if isinstance(value, TypedConstant):
        return f"the {value.dtype} constant {value.value}"
    if isinstance(value, TiledView):
        return f"a tiled view of array '{value.array.name}'"
    if isinstance(value, Text):
        return "text with tiles in it"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, Range):
        return "a range"
    if isinstance(value, Method | LocalFunction) or callable(value) and not isinstance(value, DType | type):
        return f"the function '{function_name(value)}'"
    if isinstance(value, DType):
        return f"the element type {value}"
    return f"the constant {value!r}" if is_number(value) or isinstance(value, str) else repr(value)


def function_name(function: Any) -> str:
    """The name of a callable for messages."""
    if isinstance(function, Method):
        return function_name(function.function)
    if isinstance(function, LocalFunction):
        return function.node.name if isinstance(function.node, ast.FunctionDef) else "lambda"
    return getattr(function, "__name__", type(function).__name__)
