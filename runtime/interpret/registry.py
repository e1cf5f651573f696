"""What each operation means: a table from names to functions, filled by the op groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilec.dialect.rule_table import RuleTable

Meaning = Callable[..., Any]


@dataclass(frozen=True)
class Interpretation:
    """The meaning of an operation; an elementwise one works on operands of any shape, also where the types say 0-D."""

    meaning: Meaning
    elementwise: bool


MEANINGS: RuleTable[str, Interpretation] = RuleTable("interpreted")


def interprets(*names: str, elementwise: bool = False) -> Callable[[Meaning], Meaning]:
    """Makes a function the meaning of operations; a name without a dot is of `cuda_tile`.

    The function takes the `Step`, the `Machine` and one argument for each operand field: the value, None for an absent
    optional, a tuple for a variadic group. It gives None, the only result, a tuple of results, or a `Leave`.
    Raises ValueError, naming both functions, for a second entry.
    """

    full = [name if "." in name else f"cuda_tile.{name}" for name in names]
    return lambda meaning: MEANINGS.enter(full, meaning, Interpretation(meaning, elementwise))
