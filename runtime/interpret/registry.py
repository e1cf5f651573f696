"""Interpretations of operations by name; the op groups fill this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tilec.dialect.rule_table import RuleTable

Meaning = Callable[..., object]


@dataclass(frozen=True)
class Interpretation:
    """The function of an operation; an elementwise one accepts operands of any shape, also for 0-D types."""

    meaning: Meaning
    elementwise: bool


M = TypeVar("M", bound=Meaning)

MEANINGS: RuleTable[str, Interpretation] = RuleTable("interpreted")


def interprets(*names: str, elementwise: bool = False) -> Callable[[M], M]:
    """Registers a function that interprets operations; a name without a dot belongs to `cuda_tile`.

    The function takes the `Step`, the `Machine` and one argument per operand field: the value, None for an absent
    optional, a tuple for a variadic group. It returns None, the only result, a tuple of results, or a `Leave`.
    Raises ValueError, naming both functions, for a duplicate.
    """
    full = [name if "." in name else f"cuda_tile.{name}" for name in names]
    return lambda meaning: MEANINGS.enter(full, meaning, Interpretation(meaning, elementwise))
