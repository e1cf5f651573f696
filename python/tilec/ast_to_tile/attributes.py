"""`value.name` and `value[key]`."""

from __future__ import annotations

import difflib
from types import ModuleType
from typing import Any

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.control import is_static
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.shape import index_with_new_axes
from tilec.ast_to_tile.values import Array, Method, Range, Tile, TiledView, TypedConstant, describe, is_number, plain
from tilec.ast_to_tile.view import array_attribute, view_attribute
from tilec.errors import TileTypeError
from tilec.language import datatypes, view
from tilec.language.stub import methods

_TILE_METHODS = methods(view.Tile)


def attribute(value: Any, name: str) -> Any:
    """The attribute of a value of the kernel, or of a Python object known while compiling."""
    if isinstance(value, Array):
        return array_attribute(value, name)
    if isinstance(value, TiledView):
        return view_attribute(value, name)
    if isinstance(value, Tile | TypedConstant) or is_number(value):
        return _tile_attribute(value, name)
    if isinstance(value, Range | Method | tuple):
        raise TileTypeError(f"{describe(value)} has no attribute '{name}'")
    try:
        return plain(getattr(value, name))
    except AttributeError as problem:
        owner = f"module '{value.__name__}'" if isinstance(value, ModuleType) else describe(value)
        close = difflib.get_close_matches(name, dir(value), 1)
        hint = f", did you mean '{close[0]}'?" if close else ""
        raise TileTypeError(f"{owner} has no attribute '{name}'{hint}") from problem


def _tile_attribute(value: Any, name: str) -> Any:
    extents = value.shape if isinstance(value, Tile) else ()
    if name == "shape":
        return extents
    if name == "ndim":
        return len(extents)
    if name == "dtype":
        return datatypes.of_literal(value) if is_number(value) else value.dtype
    if name in _TILE_METHODS:
        return Method(value, _TILE_METHODS[name])
    names = ", ".join(("dtype", "shape", "ndim", *_TILE_METHODS))
    raise TileTypeError(f"tiles have no attribute '{name}', they have: {names}")


def element(emitter: Emitter, value: Any, key: Any) -> Any:
    """The element of a tuple, or a tile with new axes."""
    if isinstance(value, Tile):
        return index_with_new_axes(emitter, value, key)
    if isinstance(value, Array):
        raise TileTypeError(
            f"{value} has no elements to index: load a tile with ct.load, single elements with ct.gather"
        )
    if not isinstance(value, tuple | list | dict | str):
        raise TileTypeError(f"{describe(value)} cannot be indexed")
    if isinstance(key, slice):
        key = slice(*(known(part) for part in (key.start, key.stop, key.step)))
        parts: tuple[Any, ...] = (key.start, key.stop, key.step)
    else:
        key = known(key)
        parts = (key,)
    if not all(map(is_static, parts)):
        raise TileTypeError(
            f"a tuple takes a constant index, got {describe(next(p for p in parts if not is_static(p)))}"
        )
    try:
        return value[key]
    except (IndexError, KeyError, TypeError) as problem:
        raise TileTypeError(f"{describe(value)} has no element {key!r}") from problem
