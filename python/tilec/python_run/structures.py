"""Tuples and records whose elements are values of a kernel, changed element by element."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from types import SimpleNamespace


def changed(value: object, change: Callable[[object], object]) -> object:
    """A tuple, slice, dictionary, dataclass or namespace with each element changed; itself if no element changes."""
    if isinstance(value, slice):
        return slice(change(value.start), change(value.stop), change(value.step))
    if type(value) is dict:
        entries = {key: change(item) for key, item in value.items()}
        return entries if any(entries[key] is not value[key] for key in value) else value
    if isinstance(value, tuple):
        items = list(map(change, value))
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        # The constructor of a NamedTuple takes its fields one by one.
        return tuple(items) if type(value) is tuple else tuple.__new__(type(value), items)
    if not isinstance(value, SimpleNamespace) and (isinstance(value, type) or not dataclasses.is_dataclass(value)):
        return value
    return _with_fields(value, {name: change(field) for name, field in _fields(value).items()})


def _fields(value: object) -> dict[str, object]:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return vars(value)


def _with_fields(value: object, fields: dict[str, object]) -> object:
    if all(new is getattr(value, name) for name, new in fields.items()):
        return value
    record = copy.copy(value)
    for name, new in fields.items():
        # A frozen dataclass refuses assignments.
        object.__setattr__(record, name, new)
    return record
