"""Analyses that compute a fact about a value from the facts about the operands of its definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from tilec.dialect.mlir import ir

Fact = TypeVar("Fact")

# The facts about values by rule, while they are kept.
_KEPT: ContextVar[dict[object, dict[ir.Value, Any]] | None] = ContextVar("facts about values", default=None)

_UNKNOWN: Any = object()


@contextmanager
def kept_facts() -> Iterator[None]:
    """Keeps the facts of all analyses in its body, so that a value is analyzed once, not with each that follows.

    A value that is replaced by an equal one changes no fact, but before operations are erased, forget_facts() drops
    those about their values: others may be made in the same memory.
    """
    # forget_facts() would not reach the facts of a scope around this one.
    assert _KEPT.get() is None
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def forget_facts(erased: ir.Operation | None = None) -> None:
    """Drops the facts that are kept about the values of an operation, or all of them."""
    kept = _KEPT.get()
    if kept is None:
        return
    if erased is None or erased.regions:
        kept.clear()
        return
    for known in kept.values():
        for value in erased.results:
            known.pop(value, None)


def analyze(
    value: ir.Value,
    rule: Callable[[ir.Value, Callable[[ir.Value], Fact]], Fact],
    assumed: Mapping[ir.Value, Fact] | None = None,
) -> Fact:
    """The fact that `rule` computes for a value, given a function for the facts about others; each value once.

    Facts that are `assumed` about values, and those that follow from them, are not kept.
    """
    kept = _KEPT.get()
    known: dict[ir.Value, Fact] = dict(assumed or {}) if assumed or kept is None else kept.setdefault(rule, {})

    def of(value: ir.Value) -> Fact:
        found = known.get(value, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[value] = rule(value, of)
        return found

    return of(value)
