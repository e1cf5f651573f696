"""Tuples, dataclasses and NamedTuples among the Python arguments of a launch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from tilec.runtime.arrays import is_array


def fields_of(value: object) -> dict[str, Any] | None:
    """The values of the fields of a dataclass or a NamedTuple by name; None for other values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def arrays_in(values: Iterable[object]) -> Iterator[Any]:
    """All arrays in arguments, also those in lists, tuples, dataclasses and NamedTuples."""
    for value in values:
        if is_array(value):
            yield value
        elif (fields := fields_of(value)) is not None:
            yield from arrays_in(fields.values())
        elif isinstance(value, tuple | list):
            yield from arrays_in(value)
