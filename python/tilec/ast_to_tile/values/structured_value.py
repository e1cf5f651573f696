"""Values that consist of values: tuples, dictionaries, records, ranges, bound methods, capturing functions."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from tilec.ast_to_tile.values.values import (
    Array,
    ArrayList,
    KernelValue,
    LocalFunction,
    Method,
    Range,
    RawArrayMemory,
    Record,
    Tile,
    View,
)


def parts_of(value: KernelValue) -> tuple[KernelValue, ...] | None:
    """The elements of a structured value (tuple, dictionary, record, range, bound method, function), else None."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, dict):
        return tuple(value.values())
    if isinstance(value, SimpleNamespace):
        return tuple(vars(value).values())
    if isinstance(value, Record):
        return value.fields
    if isinstance(value, Range):
        return value.start, value.stop, value.step
    if isinstance(value, Method):
        return (value.receiver,)
    if isinstance(value, LocalFunction):
        return (*value.defaults, *(item for _, item in value.captured or ()))
    return None


def with_parts(value: KernelValue, parts: Sequence[KernelValue]) -> KernelValue:
    """A structured value of the same structure with other elements."""
    if isinstance(value, dict):
        return dict(zip(value, parts, strict=True))
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**dict(zip(vars(value), parts, strict=True)))
    if isinstance(value, Record):
        return Record(value.kind, tuple(parts))
    if isinstance(value, Range):
        return Range(*parts)  # type: ignore[arg-type]
    if isinstance(value, Method):
        return Method(parts[0], value.function)
    if isinstance(value, LocalFunction):
        count, names = len(value.defaults), [name for name, _ in value.captured or ()]
        captured = None if value.captured is None else tuple(zip(names, parts[count:], strict=True))
        return LocalFunction(value.node, value.frame, tuple(parts[:count]), captured)
    # A NamedTuple keeps its class; its constructor takes the elements one by one.
    return tuple.__new__(type(value), parts) if isinstance(value, tuple) else tuple(parts)


def structure_of(value: KernelValue) -> object:
    """A key of the structure without the elements: values with equal keys merge element by element."""
    if isinstance(value, tuple):
        return type(value), len(value)
    if isinstance(value, dict):
        return dict, tuple(value)
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace, tuple(vars(value))
    if isinstance(value, Record):
        return value.kind
    if isinstance(value, Range):
        return Range
    if isinstance(value, Method):
        return Method, value.function
    if isinstance(value, LocalFunction):
        captured = value.captured
        owner = value.frame if captured is None else tuple(name for name, _ in captured)
        return LocalFunction, value.node, owner
    return None


def is_static(value: KernelValue) -> bool:
    """Whether the value is a compile-time constant."""
    parts = parts_of(value)
    if parts is not None:
        return all(map(is_static, parts))
    return not isinstance(value, Tile | Array | ArrayList | View | RawArrayMemory)
