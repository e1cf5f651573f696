"""Analyses that compute a fact about a value from the facts about the operands of its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tilec.dialect.mlir import ir

Fact = TypeVar("Fact")


def analyze(value: ir.Value, rule: Callable[[ir.Value, Callable[[ir.Value], Fact]], Fact]) -> Fact:
    """The fact that `rule` computes for a value, given a function for the facts about others; each value once."""
    known: dict[ir.Value, Fact] = {}

    def of(value: ir.Value) -> Fact:
        if value not in known:
            known[value] = rule(value, of)
        return known[value]

    return of(value)
