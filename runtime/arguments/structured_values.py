"""Tuples and dataclasses among the Python arguments of a launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tilec.errors import ArgumentTypeError
from tilec.runtime.arrays import is_array


def fields_of(value: Any) -> dict[str, Any] | None:
    """The values of the fields of a dataclass by name; None for other values."""
    if hasattr(type(value), "__dataclass_fields__"):
        # Imported here because most launches have no dataclass.
        import dataclasses

        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def check_plain_tuple(name: str, value: object) -> None:
    """Refuses instances of subclasses of tuple, such as NamedTuples, whose names and methods a kernel would lose."""
    if isinstance(value, tuple) and type(value) is not tuple:
        raise ArgumentTypeError(
            f"argument '{name}': expected a plain tuple or a dataclass, got {type(value).__name__}, a subclass of "
            "tuple: convert it with tuple()"
        )


def arrays_in(values: Iterable[object]) -> Iterator[Any]:
    """All arrays in arguments, also those in lists, tuples and dataclasses."""
    for value in values:
        if is_array(value):
            yield value
        elif (fields := fields_of(value)) is not None:
            yield from arrays_in(fields.values())
        elif isinstance(value, tuple | list):
            yield from arrays_in(value)
