"""The values of the expressions of a kernel during compilation.

Numbers, None, strings, element types, enumerations, functions, modules and tuples are represented by the Python objects
themselves: they are compile-time constants, and a Python number takes its type from the other operand. The classes
below represent all other values.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from tilec.ast_to_tile.source import Definition
from tilec.ast_to_tile.values.constant_value import stored
from tilec.dialect.mlir import ir
from tilec.errors import Note
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.kernel_function import is_kernel_function
from tilec.language.modes import PaddingMode
from tilec.language.operations.convolution_window import ConvolutionWindow
from tilec.runtime.arguments.arguments import ArrayArgument
from tilec.runtime.arguments.structured_values import fields_of

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from tilec.ast_to_tile.values.frame import Frame

Shape = tuple[int, ...]

Number = bool | int | float

# Any Python object may be a value of a kernel, so `object` is the exact type; isinstance narrows it before use.
KernelValue = object


@dataclass(frozen=True)
class Tile:
    """A run-time value; a scalar has shape ()."""

    value: ir.Value
    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        return describe_tile(self.dtype, self.shape)


@dataclass(frozen=True)
class TypedConstant:
    """A compile-time scalar of a fixed type, `ct.int16(5)`; `value` is representable in that type."""

    value: Number
    dtype: DType

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", stored(self.value, self.dtype))


# The tile shape, dimension order, padding and traversal steps of a view; the tile shape, sparse dimension and padding
# of a sparse view; the tile shape, window, mode and interleave of an im2col view; or the tile shape and bits of a
# packed view.
ViewKey = (
    tuple[Shape, tuple[int, ...], str | None, Shape]
    | tuple[Shape, int, str | None]
    | tuple[Shape, ConvolutionWindow, str | None, int | None]
    | tuple[Shape, int]
)


@dataclass(frozen=True)
class Origin:
    """The pointer of the array that slices were made of, and their first index along each axis of it."""

    pointer: ir.Value
    starts: tuple[Tile | int, ...]


@dataclass(frozen=True, eq=False)
class Array:
    """An array argument, or a slice of one, with its origin; static extents and strides are integers."""

    name: str
    dtype: DType
    pointer: ir.Value
    shape: tuple[Tile | int, ...]
    strides: tuple[Tile | int, ...]
    tensor_view: ir.Value
    views: dict[ViewKey, ir.Value] = field(default_factory=dict)
    origin: Origin | None = None

    @property
    def index_dtype(self) -> DType:
        """The type of its extents and strides: int64 if one of them needs it, else int32."""
        wide = any(needs_64_bits(item) for item in (*self.shape, *self.strides))
        return datatypes.int64 if wide else datatypes.int32

    def __str__(self) -> str:
        return f"array '{self.name}' of {self.dtype}, rank {len(self.shape)}"


@dataclass(frozen=True)
class TiledView:
    """The result of `Array.tiled_view`; the first access builds the view operation."""

    array: Array
    tile_shape: Shape
    traversal_steps: Shape
    padding_mode: PaddingMode


@dataclass(frozen=True)
class Im2colView:
    """The result of `ct.im2col_view`; the first access builds the view operation."""

    array: Array
    tile_shape: Shape
    window: ConvolutionWindow
    mode: str | None
    # The channels of a slice, if the channels of the array are in slices [N, C / c, spatial dimensions, c].
    interleave: int | None = None

    @property
    def extents(self) -> tuple[Tile | int, ...]:
        """The extents of the images and of their spatial dimensions."""
        shape = self.array.shape[:-1]
        return shape if self.interleave is None else (shape[0], *shape[2:])


@dataclass(frozen=True)
class PackedView:
    """The result of `ct.packed_view`; the first access builds the view operation."""

    array: Array
    tile_shape: Shape
    bits: int
    # The element type of tiles: a float of `bits` bits, or that of the bytes.
    dtype: DType


@dataclass(frozen=True)
class RawArrayMemory:
    """The result of `Array.get_raw_memory`."""

    array: Array


@dataclass(frozen=True, eq=False)
class ArrayList:
    """A list of arrays; the words of array i are at `table` + i * (1 + 2 * rank): address, extents, strides."""

    name: str
    element: ArrayArgument
    table: ir.Value
    length: Tile

    def __str__(self) -> str:
        return f"list '{self.name}' of arrays"


@dataclass(frozen=True)
class ForeignPointer:
    """The result of `Array.foreign_pointer`: a pointer to elements of `pointee`; `name` is that of the array."""

    value: ir.Value
    pointee: DType
    name: str


def needs_64_bits(integer: Operand) -> bool:
    """Whether the type of an integer scalar, or the value of a number, is wider than int32."""
    if isinstance(integer, Tile | TypedConstant):
        return integer.dtype.bitwidth > 32
    return not -(2**31) <= integer < 2**31


# Views are equal if they are of the same array and have equal parameters.
View = TiledView | Im2colView | PackedView | RawArrayMemory | ForeignPointer

# The operands of arithmetic: tiles and scalar constants.
Constant = TypedConstant | bool | int | float
Operand = Tile | Constant


@dataclass(frozen=True)
class Range:
    """`range(start, stop, step)`; each bound is an integer scalar, static or dynamic."""

    start: Operand
    stop: Operand
    step: Operand


@dataclass(frozen=True)
class IndexSlice:
    """`ct.Slice(start, length)`: successive elements along one dimension."""

    start: Operand
    length: int


@dataclass(frozen=True, eq=False)
class Method:
    """A bound method, `value.name`."""

    receiver: KernelValue
    function: Callable[..., object]


@dataclass(frozen=True, eq=False)
class Record:
    """An instance of a frozen dataclass; its fields are kernel values, in the order of the declaration."""

    kind: type
    fields: tuple[KernelValue, ...]

    def named(self) -> dict[str, KernelValue]:
        """The fields by name."""
        return dict(zip((each.name for each in dataclasses.fields(self.kind)), self.fields, strict=True))


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A lambda or a function defined inside a kernel; the defaults of its parameters are evaluated at its definition.

    `captured` are the values of the outer names that it reads, after the function that defines it has returned.
    """

    node: Definition
    frame: Frame
    defaults: tuple[KernelValue, ...] = ()
    captured: tuple[tuple[str, KernelValue], ...] | None = None


@dataclass(frozen=True, eq=False)
class ContextManager:
    """A call of a function that is decorated with `contextlib.contextmanager`, for a `with` statement."""

    function: KernelValue
    arguments: tuple[KernelValue, ...]
    keywords: dict[str, KernelValue]


@dataclass(frozen=True)
class Text:
    """An f-string with run-time values: literal text, and tiles with their format specifications."""

    pieces: tuple[str | tuple[Tile, str], ...]


@dataclass(frozen=True)
class Unusable:
    """The value of a name that has no single value at this point; `problem` is the error reported at a use."""

    problem: str
    notes: tuple[Note, ...] = ()


def is_number(value: object) -> TypeIs[Number]:
    return isinstance(value, bool | int | float)


def is_tile_like(value: object) -> TypeIs[Operand]:
    """Whether the value is a tile or can be converted to one."""
    return isinstance(value, Tile | TypedConstant) or is_number(value)


def shape_of(value: KernelValue) -> Shape:
    """The shape of a tile; constants are scalars."""
    return value.shape if isinstance(value, Tile) else ()


def describe_tile(dtype: DType, shape: Shape) -> str:
    article = "an" if dtype.name.startswith("int") else "a"
    return f"{article} {dtype} tile of shape {shape}" if shape else f"{article} {dtype} scalar"


def _describe_keys(keys: list[str]) -> str:
    """The first eight keys: dictionaries of modules have hundreds."""
    if len(keys) > 8:
        return f"a dictionary of {len(keys)} with the keys {', '.join(keys[:8])} and others"
    return f"a dictionary with the keys {', '.join(keys)}"


def describe(value: KernelValue) -> str:
    """The description of a value in error messages."""
    if isinstance(value, Tile | Array | ArrayList):
        return str(value)
    if isinstance(value, TypedConstant):
        return f"the {value.dtype} constant {value.value}"
    if isinstance(value, TiledView):
        return f"a tiled view of array '{value.array.name}'"
    if isinstance(value, Im2colView):
        return f"an im2col view of array '{value.array.name}'"
    if isinstance(value, PackedView):
        return f"a packed view of array '{value.array.name}'"
    if isinstance(value, RawArrayMemory):
        return f"the raw memory of array '{value.array.name}'"
    if isinstance(value, ForeignPointer):
        return f"a foreign pointer to array '{value.name}'"
    if isinstance(value, Text):
        return "an f-string with tiles"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, dict):
        return _describe_keys(list(map(repr, value))) if value else "an empty dictionary"
    if isinstance(value, Record):
        return f"an instance of '{value.kind.__name__}'"
    if isinstance(value, Range):
        return "a range"
    if isinstance(value, ContextManager):
        return f"the context manager '{function_name(value.function)}'"
    if isinstance(value, IndexSlice):
        return f"a slice of {value.length} elements"
    if isinstance(value, Method | LocalFunction) or callable(value) and not isinstance(value, DType | type):
        return f"the function '{function_name(value)}'"
    if isinstance(value, DType):
        return f"the element type {value}"
    if isinstance(value, SimpleNamespace) or fields_of(value) is not None:
        return f"an instance of {type(value).__name__}"
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, ModuleType):
        return f"the module '{value.__name__}'"
    if isinstance(value, list | set | frozenset | dict):
        return f"a {type(value).__name__} of {len(value)}"
    if type(value).__repr__ is object.__repr__ or _ADDRESS.search(repr(value)):
        return f"an object of class {type(value).__name__}"
    return f"the constant {value!r}" if is_number(value) or isinstance(value, str) else repr(value)


# Part of the default representation of Python objects.
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


def function_name(function: object) -> str:
    """The name of a callable in error messages; a function of the language has the prefix `ct.`."""
    if isinstance(function, Method):
        return function.function.__name__
    if isinstance(function, LocalFunction):
        return function.node.name if isinstance(function.node, ast.FunctionDef) else "lambda"
    name: str = getattr(function, "__name__", type(function).__name__)
    return f"ct.{name}" if is_kernel_function(function) else name
