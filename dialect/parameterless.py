"""Types without parameters, of which a context has one each."""

from __future__ import annotations

from typing import TypeVar

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir

T = TypeVar("T", bound=ir.Type)


def parameterless(kind: type[T], name: str, context: ir.Context | None) -> T:
    """The type of a class in a context, the current one if it is None; `name` is its full name."""
    return _made(kind, name, ir.Context.current if context is None else context)


@cached
def _made(kind: type[T], name: str, context: ir.Context) -> T:
    return kind(ir.DynamicType.get(name, [], context))
