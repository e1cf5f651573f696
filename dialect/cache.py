"""Caches of objects of an MLIR context, in one place, because a cached type keeps its context alive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tilec.dialect.mlir import ir

Function = TypeVar("Function", bound=Callable[..., Any])

_CLEAR: list[Callable[[], None]] = []


def cached(function: Function) -> Function:
    """`functools.cache` that `forget` empties."""
    remembering = functools.cache(function)
    _CLEAR.append(remembering.cache_clear)
    return remembering  # type: ignore[return-value]


def recent(limit: int) -> Callable[[Function], Function]:
    """`functools.lru_cache` that `forget` empties, for an unbounded number of arguments."""

    def bounded(function: Function) -> Function:
        remembering = functools.lru_cache(maxsize=limit)(function)
        _CLEAR.append(remembering.cache_clear)
        return remembering  # type: ignore[return-value]

    return bounded


def table() -> dict[Any, Any]:
    """A dictionary that `forget` empties."""
    made: dict[Any, Any] = {}
    _CLEAR.append(made.clear)
    return made


def forget() -> None:
    """Empties every cache, so that a context without modules can be freed."""
    for clear in _CLEAR:
        clear()


# The elements of array attributes, which are read once for all attributes that are equal.


@cached
def integers_of(array: ir.Attribute) -> tuple[int, ...]:
    """The elements of a dense array, by index: bindings end an iteration with an exception of C++, for 20,000 steps."""
    return tuple([array[number] for number in range(len(array))])


@cached
def texts_of(array: ir.ArrayAttr) -> tuple[str, ...]:
    """The values of an array of strings."""
    return tuple([entry.value for entry in array])
