"""Instances of the dataclasses of a program: their construction, attributes and `dataclasses.replace`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING

from tilec.ast_to_tile.values.python_object import check_dataclass, plain
from tilec.ast_to_tile.values.values import KernelValue, Method, Record, describe
from tilec.errors import TileTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilec.ast_to_tile.emitter import Emitter


def construct_record(
    emitter: Emitter, kind: type, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> Record:
    """`kind(...)`: the record, after its `__post_init__`; raises TileTypeError for unsupported classes."""
    check_dataclass(kind)
    if not _has_generated_init(kind):
        raise TileTypeError(
            f"the dataclass '{kind.__name__}' defines its own __init__: use __post_init__, or a function"
        )
    try:
        bound = _parameters(kind).bind(*arguments, **keywords)
    except TypeError as problem:
        raise TileTypeError(f"'{kind.__name__}': {problem}") from problem
    fields = dataclasses.fields(kind)
    record = Record(kind, tuple(bound.arguments.get(each.name, plain(each.default)) for each in fields))
    if hasattr(kind, "__post_init__"):
        emitter.call(kind.__post_init__, [record])
    return record


def _has_generated_init(kind: type) -> bool:
    """Whether `dataclass` made the constructor, which Python compiles from text without a file."""
    return is_generated(_init(kind))


def _init(kind: type) -> Callable[..., None]:
    return inspect.getattr_static(kind, "__init__")


@functools.cache
def _parameters(kind: type) -> inspect.Signature:
    """The parameters of the constructor, without the instance, whose name may be that of a field."""
    signature = inspect.signature(_init(kind))
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def replaced(emitter: Emitter, record: KernelValue, changes: dict[str, KernelValue]) -> Record:
    """`dataclasses.replace(record, name=value)`."""
    if not isinstance(record, Record):
        raise TileTypeError(f"'dataclasses.replace' takes an instance of a dataclass, got {describe(record)}")
    fields = record.named()
    for name in changes:
        if name not in fields:
            known = ", ".join(fields)
            raise TileTypeError(f"the dataclass '{record.kind.__name__}' has no field '{name}', it has: {known}")
    return construct_record(emitter, record.kind, (), {**fields, **changes})


def record_attribute(emitter: Emitter, record: Record, name: str) -> KernelValue:
    """`record.name`: a field, a method, the value of a property, or an attribute of the class."""
    fields = record.named()
    if name in fields:
        return fields[name]
    found = inspect.getattr_static(record.kind, name, _MISSING)
    if found is _MISSING:
        known = ", ".join(fields)
        raise TileTypeError(f"'{record.kind.__name__}' has no attribute '{name}', its fields are: {known}")
    if isinstance(found, property) and found.fget is not None:
        return emitter.call(found.fget, [record])
    if isinstance(found, classmethod):
        return Method(record.kind, found.__func__)
    if isinstance(found, staticmethod):
        return found.__func__
    return Method(record, found) if inspect.isfunction(found) else plain(found)


_MISSING = object()


def special_method(value: Record, name: str) -> Callable[..., object] | None:
    """A special method that the class of a record defines; None for those of `object`."""
    found = getattr(value.kind, name, None)
    return None if found is getattr(object, name, None) else found


def is_generated(function: Callable[..., object]) -> bool:
    """Whether `dataclass` made the method, which has no source."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<string>"
