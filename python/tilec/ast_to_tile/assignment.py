"""Binding of names by assignment."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.ast_to_tile.values.attributes import element
from tilec.ast_to_tile.values.values import KernelValue, Record, describe
from tilec.errors import TileSyntaxError, TileTypeError, TileValueError

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer


def bind(tracer: Tracer, target: ast.expr, value: KernelValue) -> None:
    """Assigns a value to a name, or the elements of a tuple to several names."""
    match target:
        case ast.Name():
            tracer.frame.assign(target.id, value, target)
        case ast.Tuple() | ast.List():
            _unpack(tracer, target.elts, value)
        case ast.Subscript():
            set_element(tracer, target, value)
        case _:
            raise TileSyntaxError("only names and tuples of names can be assigned in a kernel")


def set_element(tracer: Tracer, target: ast.Subscript, value: KernelValue) -> None:
    """`target = value`, for records that define __setitem__."""
    owner, method = _owner(tracer, target)
    tracer.emitter.call(method, [owner, tracer.evaluate(target.slice), value])


def update_element(tracer: Tracer, target: ast.Subscript, update: Callable[[KernelValue], KernelValue]) -> None:
    """`target = update(target)`; the object and the key are evaluated once."""
    owner, method = _owner(tracer, target)
    key = tracer.evaluate(target.slice)
    tracer.emitter.call(method, [owner, key, update(element(tracer.emitter, owner, key))])


def _owner(tracer: Tracer, target: ast.Subscript) -> tuple[KernelValue, Callable[..., object]]:
    """The object of a subscript and its `__setitem__`; raises TileTypeError if it has none."""
    owner = tracer.evaluate(target.value)
    method = getattr(owner.kind, "__setitem__", None) if isinstance(owner, Record) else None
    if method is None:
        raise TileTypeError("elements cannot be assigned: tiles are immutable, and arrays are written with ct.store")
    return owner, method


def _unpack(tracer: Tracer, targets: list[ast.expr], value: KernelValue) -> None:
    if not isinstance(value, tuple | list):
        raise TileTypeError(f"expected a tuple of {len(targets)} to unpack, got {describe(value)}")
    items = tuple(value)
    starred = [at for at, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if starred:
        at, after = starred[0], len(targets) - starred[0] - 1
        if len(items) < len(targets) - 1:
            raise TileValueError(f"expected at least {len(targets) - 1} values to unpack, got {len(items)}")
        items = (*items[:at], items[at : len(items) - after], *items[len(items) - after :])
    if len(items) != len(targets):
        raise TileValueError(f"expected {len(targets)} values to unpack, got {len(items)}")
    for target, item in zip(targets, items, strict=True):
        bind(tracer, target.value if isinstance(target, ast.Starred) else target, item)
