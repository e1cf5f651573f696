"""Evaluates `value.name` and `value[key]`."""

from __future__ import annotations

import difflib
import enum
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.foreign_pointer import pointer_attribute
from tilec.ast_to_tile.operations.im2col import im2col_attribute
from tilec.ast_to_tile.operations.packed import packed_attribute
from tilec.ast_to_tile.operations.raw_memory import raw_memory_attribute
from tilec.ast_to_tile.operations.shape import index_with_new_axes
from tilec.ast_to_tile.operations.view import array_attribute, view_attribute
from tilec.ast_to_tile.values.array_values import list_item
from tilec.ast_to_tile.values.bound_method import bound_method
from tilec.ast_to_tile.values.python_object import plain
from tilec.ast_to_tile.values.records import record_attribute
from tilec.ast_to_tile.values.structured_value import is_static
from tilec.ast_to_tile.values.values import (
    Array,
    ArrayList,
    ForeignPointer,
    Im2colView,
    KernelValue,
    Method,
    Operand,
    PackedView,
    Range,
    RawArrayMemory,
    Record,
    Tile,
    TiledView,
    TypedConstant,
    describe,
    is_number,
)
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language.operations import view

# The classes whose attributes need no operations -> the function that reads an attribute.
_READERS: dict[type, Callable[[Any, str], KernelValue]] = {
    Array: array_attribute,
    TiledView: view_attribute,
    PackedView: packed_attribute,
    RawArrayMemory: raw_memory_attribute,
    ForeignPointer: pointer_attribute,
}


def attribute(emitter: Emitter, value: KernelValue, name: str) -> KernelValue:
    """The attribute of a kernel value or of a Python object."""
    if (read := _READERS.get(type(value))) is not None:
        return read(value, name)
    if isinstance(value, Im2colView):
        return im2col_attribute(emitter, value, name)
    if isinstance(value, Record):
        return record_attribute(emitter, value, name)
    if isinstance(value, Tile | TypedConstant) or is_number(value) and not isinstance(value, enum.Enum):
        return _tile_attribute(value, name)
    if isinstance(value, tuple) and name in getattr(value, "_fields", ()):
        return plain(getattr(value, name))
    if isinstance(value, dict) and name == "get":
        return Method(value, dict.get)
    if isinstance(value, Range | Method | tuple | ArrayList):
        raise TileTypeError(f"{describe(value)} has no attribute '{name}'")
    return _python_attribute(value, name)


def _python_attribute(value: KernelValue, name: str) -> KernelValue:
    try:
        return plain(getattr(value, name))
    except AttributeError as problem:
        owner = f"module '{value.__name__}'" if isinstance(value, ModuleType) else describe(value)
        close = difflib.get_close_matches(name, dir(value), 1)
        hint = f", did you mean '{close[0]}'?" if close else ""
        raise TileTypeError(f"{owner} has no attribute '{name}'{hint}") from problem


def _tile_attribute(value: Operand, name: str) -> KernelValue:
    extents = value.shape if isinstance(value, Tile) else ()
    if name == "shape":
        return extents
    if name == "ndim":
        return len(extents)
    if name == "dtype":
        return datatypes.of_literal(value) if is_number(value) else value.dtype
    return bound_method(value, name, view.Tile, "tiles")


def element(emitter: Emitter, value: KernelValue, key: KernelValue) -> KernelValue:
    """The element of a tuple, or a tile with new axes."""
    if isinstance(value, Tile):
        return index_with_new_axes(emitter, value, key)
    if isinstance(value, ArrayList):
        return list_item(emitter, value, key)
    if isinstance(value, Array):
        raise TileTypeError(
            f"{value} has no elements to index: load a tile with ct.load, single elements with ct.gather"
        )
    if isinstance(value, Record) and (method := getattr(value.kind, "__getitem__", None)) is not None:
        return emitter.call(method, [value, key])
    if not isinstance(value, tuple | list | dict | str):
        raise TileTypeError(f"{describe(value)} cannot be indexed")
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
    if not all(map(is_static, parts)):
        found = describe(next(part for part in parts if not is_static(part)))
        raise TileTypeError(f"expected a constant index of a tuple, got {found}")
    constant = slice(*map(known, parts)) if isinstance(key, slice) else known(key)
    try:
        return operator.getitem(value, constant)  # type: ignore[misc]
    except (IndexError, KeyError, TypeError) as problem:
        if isinstance(problem, TypeError) or not isinstance(constant, int | str):
            raise TileTypeError(f"{describe(value)} cannot be indexed by {describe(key)}") from problem
        raise TileTypeError(f"{describe(value)} has no element {constant!r}") from problem
