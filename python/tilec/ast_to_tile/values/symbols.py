"""Converts kernel values to Python objects for Python code that runs at compile time, and Python objects back."""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.operators import FUNCTIONS
from tilec.ast_to_tile.values.attributes import attribute
from tilec.ast_to_tile.values.python_object import as_record, is_user_dataclass, plain
from tilec.ast_to_tile.values.structured_value import is_static
from tilec.ast_to_tile.values.values import (
    Array,
    Im2colView,
    KernelValue,
    LocalFunction,
    Method,
    Number,
    PackedView,
    Range,
    RawArrayMemory,
    Record,
    Tile,
    TiledView,
    TypedConstant,
    describe,
)
from tilec.errors import TileStaticEvalError, TileTypeError
from tilec.language.datatypes import DType
from tilec.language.operations import im2col, packed, raw_memory, view

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer

# The class that `isinstance` sees, for each class of run-time values.
_CLASSES: dict[type, type] = {
    Tile: view.Tile,
    Array: view.Array,
    TiledView: view.TiledView,
    Im2colView: im2col.Im2colView,
    PackedView: packed.PackedView,
    RawArrayMemory: raw_memory.RawArrayMemory,
}
# The classes of the Python objects that are values of kernels without conversion.
_CONSTANTS = (
    *(bool, int, float, str, type(None), enum.Enum, DType, slice, EllipsisType),
    *(ModuleType, FunctionType, BuiltinFunctionType, type, TypedConstant, Range),
)


class Symbol:
    """A value in Python code that runs at compile time: it has attributes and operators.

    A run-time value has no number. A typed constant of the kernel is a Python number; one that the code makes itself,
    as in `ct.int8(3)`, is a symbol.
    """

    def __init__(self, tracer: Tracer, value: KernelValue) -> None:
        self._tracer, self._value = tracer, value

    @property
    def __class__(self) -> type:
        return _CLASSES.get(type(self._value), Symbol)

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise AttributeError("the class of a run-time value cannot be changed")

    def __getattr__(self, name: str) -> object:
        try:
            return to_python(self._tracer, attribute(self._tracer.emitter, self._value, name))
        except TileTypeError as problem:
            raise AttributeError(problem.message) from problem

    def __call__(self, *_arguments: object, **_keywords: object) -> object:
        raise TileStaticEvalError(
            f"{describe(self._value)} cannot be called at compile time: call it in the kernel, and use its result"
        )

    def _number(self) -> Number:
        if isinstance(self._value, TypedConstant):
            return self._value.value
        raise ValueError(f"{describe(self._value)} has no value at compile time")

    def __bool__(self) -> bool:
        return bool(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __index__(self) -> int:
        return operator.index(self._number())  # type: ignore[arg-type]

    def __repr__(self) -> str:
        """The text in messages of `ct.static_assert`, like that of cuTile."""
        match self._value:
            case TypedConstant():
                return repr(self._value.value)
            case Tile():
                return f"<tile[{self._value.dtype}, {self._value.shape}]>"
            case Array():
                extents = ", ".join(str(extent) if isinstance(extent, int) else "?" for extent in self._value.shape)
                return f"<array[{self._value.dtype}, ({extents})]>"
        return f"<{describe(self._value)}>"

    def __hash__(self) -> int:
        return id(self)


def _operator(function: Callable[..., object], *, reflected: bool = False) -> Callable[..., object]:
    def apply(self: Symbol, *operands: object) -> object:
        if not isinstance(self._value, Tile | TypedConstant):
            return NotImplemented
        values = (*operands, self) if reflected else (self, *operands)
        return call_at_compile_time(self._tracer, function, values)

    return apply


_REFLECTED = "add sub mul matmul truediv floordiv mod pow lshift rshift and xor or".split()
for _function in FUNCTIONS:
    _name = _function.__name__.strip("_")
    if _name not in ("is", "is_not", "not", "getitem"):
        setattr(Symbol, f"__{_name}__", _operator(_function))
    if _name in _REFLECTED:
        setattr(Symbol, f"__r{_name}__", _operator(_function, reflected=True))


def call_at_compile_time(tracer: Tracer, function: Callable[..., object], arguments: tuple[object, ...]) -> object:
    """The result of a function of the language on Python objects."""
    result = tracer.emitter.call(function, [from_python(item) for item in arguments])
    return Symbol(tracer, result) if isinstance(result, TypedConstant) else to_python(tracer, result)


def to_python(tracer: Tracer, value: KernelValue) -> object:
    """The Python object that represents a kernel value."""
    if isinstance(value, tuple):
        return tuple.__new__(type(value), [to_python(tracer, item) for item in value])
    if isinstance(value, dict):
        return {key: to_python(tracer, item) for key, item in value.items()}
    if isinstance(value, Record):
        return _instance(value.kind, [to_python(tracer, item) for item in value.fields])
    if isinstance(value, Range):
        bounds = [known(bound) for bound in (value.start, value.stop, value.step)]
        constants = [bound for bound in bounds if isinstance(bound, int)]
        return range(*constants) if len(constants) == len(bounds) else Symbol(tracer, value)
    if isinstance(value, Method) and not isinstance(value.receiver, Tile | Array) and is_static(value.receiver):
        return MethodType(value.function, to_python(tracer, value.receiver))
    if isinstance(value, LocalFunction | Method) or not is_static(value):
        return Symbol(tracer, value)
    return known(value)


def _instance(kind: type, fields: list[object]) -> object:
    """An instance with these fields; the constructor does not run again."""
    instance: object = object.__new__(kind)
    for each, value in zip(dataclasses.fields(kind), fields, strict=True):
        object.__setattr__(instance, each.name, value)
    return instance


def from_python(value: object) -> KernelValue:
    """The kernel value of a Python object; raises TileTypeError for objects that kernels cannot have."""
    kind = type(value)
    if kind is Symbol:
        return value._value  # type: ignore[attr-defined]
    if isinstance(value, tuple):
        return tuple.__new__(type(value), map(from_python, value))
    if kind is dict:
        return {key: from_python(item) for key, item in value.items()}  # type: ignore[attr-defined]
    if is_user_dataclass(kind):
        return as_record(value, from_python)
    if isinstance(value, MethodType):
        return Method(from_python(value.__self__), value.__func__)
    return _constant(plain(value))


def _constant(value: KernelValue) -> KernelValue:
    if isinstance(value, _CONSTANTS):
        return value
    kinds = "numbers, text, tuples, dataclasses, enumerations and functions"
    raise TileTypeError(f"expected a value of a kernel ({kinds}), got {type(value).__name__}")
